"""Operations of the sparse graph that sum values over an index, or take their maxima: reducers and accumulators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ...hw.arch.primitive import ACCUMULATOR, MAXIMUM, MOST_ACCUMULATED, REDUCER, Primitive
from .sam_ops import CRD, VAL, Operation, Ports, Settings, Space, need


@dataclass(frozen=True)
class Reducer(Operation):
    """Sums the innermost fibers, one for every coordinate of the level above if `guided`."""

    index: str
    guided: bool
    primitive: ClassVar[Primitive] = REDUCER

    @property
    def inputs(self) -> Ports:
        return {"val": VAL, "crd": CRD} if self.guided else {"val": VAL}

    @property
    def outputs(self) -> Ports:
        return {"val_o": VAL}

    @property
    def settings(self) -> Settings:
        return {"guided": self.guided}

    def spaces(self, name: str, given: Mapping[str, Space]) -> dict[str, Space]:
        space = given["val"]
        need(bool(space) and space[-1][0] == self.index, f"the innermost level is not {self.index}")
        need(given.get("crd", ()) == space[:-1], "the guide is not the level above" if self.guided
             else "only the outermost level can be summed without a guide")
        return {"val_o": space[:-1]}

    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        return {"type": "reduce", "index": self.index}

    def role(self, port: str) -> str:
        return "guide" if port == "crd" else port


@dataclass(frozen=True)
class MaxReducer(Reducer):
    """Takes the maxima of the innermost fibers.

    extent: so many coordinates has a fiber in which no zero is left out; 0: there is none.
    """

    extent: int

    @property
    def settings(self) -> Settings:
        return {"guided": self.guided, "op": MAXIMUM, "extent": self.extent}

    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        return {"type": "max_reduce", "index": self.index, "extent": self.extent}


@dataclass(frozen=True)
class Accumulator(Operation):
    """Sums over `index`, whose loop is around those of `inner`, one or two indices of the result: one sum for each coordinate,
    or pair of them, that is not 0."""

    index: str
    inner: tuple[str, ...]
    primitive: ClassVar[Primitive] = ACCUMULATOR

    @property
    def inputs(self) -> Ports:
        return {"outer": CRD, "crd": CRD, "val": VAL} if self.inner[1:] else {"crd": CRD, "val": VAL}

    @property
    def outputs(self) -> Ports:
        return {f"{port}_o": kind for port, kind in self.inputs.items()}

    @property
    def settings(self) -> Settings:
        return {"use_outer": len(self.inner) > 1}

    def spaces(self, name: str, given: Mapping[str, Space]) -> dict[str, Space]:
        space, depth = given["crd"], len(self.inner)
        need(1 <= depth <= MOST_ACCUMULATED, f"sums over {depth} coordinates are not kept")
        need(given["val"] == space, "coordinates and values are not of the same loops")
        need(given.get("outer", space[:-1]) == space[:-1], "the outer coordinates are not of the level above")
        need(tuple(index for index, _ in space[-1 - depth:]) == (self.index, *self.inner),
             f"the innermost levels are not {self.index} and inside it {' and '.join(self.inner)}")
        summed = (*space[:-1 - depth], *((index, ("sum", name)) for index in self.inner))
        return {port: summed[:-1] if port == "outer_o" else summed for port in self.outputs}

    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        indices = {f"in{at}": index for at, index in enumerate(reversed(self.inner))}
        return {"type": "spaccumulator", "order": len(self.inner), **indices, "index": self.index}

    def role(self, port: str) -> str:
        return port if port == VAL else f"in-{self.inner[0 if port == 'outer' else -1]}"
