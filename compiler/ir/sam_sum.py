"""Sums of the public dialect over the innermost loop of values: reducers, whose guide is said or found."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...hw.arch.errors import UserError, shown
from ...hw.arch.primitive import EXTENT_BITS
from .dialect import PublicNode
from .sam import Pin
from .sam_build import Builder
from .sam_merged import MergedReducer, merged
from .sam_ops import CRD
from .sam_reduce import MaxReducer, Reducer


def reducer_of(build: Builder, node: PublicNode, val: Pin, guide: Pin | None) -> tuple[Reducer, Mapping[str, Pin]]:
    """The reducer of a node of type reduce or max_reduce, and which stream goes where; guide: what the node says of it."""
    space = build.spaces[val]
    if not space:
        raise UserError("it sums a number, which is no fiber", node.where, "sum values of a loop")
    index, inputs = space[-1][0], {"val": val}
    if guide is not None:
        inputs["crd"] = guide
    elif len(space) > 1 and not merged(space):
        inputs["crd"] = _guide(build, node, val)
    extent = node.attributes.get("extent", "0")
    if not re.fullmatch(f"[0-9]{{1,{len(str(1 << EXTENT_BITS))}}}", extent) or int(extent) >> EXTENT_BITS:
        raise UserError(f"attribute extent is '{shown(extent)}'", node.where,
                        f"write how many coordinates its index has, up to {(1 << EXTENT_BITS) - 1}, or 0")
    if node.type == "max_reduce":
        return MaxReducer(index, "crd" in inputs, int(extent)), inputs
    if merged(space) and guide is None:
        return MergedReducer(index), inputs
    return Reducer(index, guided="crd" in inputs), inputs


def _guide(build: Builder, node: PublicNode, val: Pin) -> Pin:
    """Coordinates of the level above values."""
    wanted = build.spaces[val][:-1]
    found = [pin for pin, space in build.spaces.items() if space == wanted and build.kind(pin) == CRD]
    if not found:
        raise UserError(f"there are no coordinates of {wanted[-1][0]}, the level above its values", node.where,
                        "sum values of loops whose coordinates the graph has")
    return found[0]
