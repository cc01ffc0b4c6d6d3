"""Operations of graphs that others drew: sums behind a dropper that takes values.

A coordinate dropper merges the stops of its inner stream, so that no fiber of it is empty. If that stream is values, they are
summed with no guide: every stop closes a fiber that has values.

    outer    0 1 2 S0 D          outer_o  0 2 S0 D
    inner    5 S0 S0 3 4 S1 D    inner_o  5 S0 3 4 S1 D    sums  5 7 S0 D

Source: Onyx's graphs of products, whose droppers stand between the multiplication and the sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .sam_ops import CRD, VAL, Ports, Space, need
from .sam_reduce import Reducer
from .sam_streams import Dropper
from .sam_tags import parts


@dataclass(frozen=True)
class FiberDropper(Dropper):
    """Removes coordinates of level `outer` whose fiber of values is empty."""

    @property
    def inputs(self) -> Ports:
        return {"outer": CRD, "inner": VAL}


@dataclass(frozen=True)
class MergedReducer(Reducer):
    """Sums the innermost fibers, of which none is empty."""

    guided: bool = False

    def spaces(self, name: str, given: Mapping[str, Space]) -> dict[str, Space]:
        need(merged(given["val"]), "only the outermost level, or behind a dropper, can be summed without a guide")
        return {"val_o": given["val"][:-1]}


def merged(space: Space) -> bool:
    """Whether a stream of this space is the inner one of a coordinate dropper."""
    return len(space) > 1 and bool(dropped(space[-2][1])) and dropped(space[-2][1])[1] == space[-1][1]


def dropped(tag: object) -> tuple[object, ...]:
    """Of coordinates of which a dropper left those of fibers that are not empty: the tags of all, and of the fibers."""
    found = parts(tag)
    return found[1:] if isinstance(found, tuple) and len(found) == 3 and found[0] == "drop" else ()
