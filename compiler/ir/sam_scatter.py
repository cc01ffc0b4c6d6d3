"""Values of dense levels of a result that are written at their coordinates, in the sparse graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ...hw.arch.op import BY_NAME
from ...hw.arch.primitive import ALU, SCATTER, Primitive
from .mapped import STORE, VALUES
from .sam_ops import CRD, REF, VAL, Moved, Operation, Ports, Settings, Space, in_step


@dataclass(frozen=True)
class Position(Operation):
    """Adds a coordinate to the position in the levels outside, one of them times an extent: that position, or, if `inner`, the
    coordinate.

    index, extent: of the level that is not multiplied; 0 where the extent is not known yet. last: of dense levels below a
    compressed one, which are as one level whose coordinates these positions are.
    """

    index: str
    extent: int
    inner: bool = False
    last: bool = False
    primitive: ClassVar[Primitive] = ALU

    @property
    def inputs(self) -> Ports:
        return {"a": CRD, "c": REF} if self.inner else {"a": REF, "c": CRD}

    @property
    def outputs(self) -> Ports:
        return {"res": CRD if self.last else REF}

    @property
    def settings(self) -> Settings:
        return {"op": BY_NAME["muladd"].code, "stream_a": True, "const_b": self.extent, "stream_c": True}

    def spaces(self, name: str, given: Mapping[str, Space]) -> dict[str, Space]:
        return {"res": in_step(given)}

    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        return {"type": "position", "index": self.index, "extent": self.extent}

    def role(self, port: str) -> str:
        return port


@dataclass(frozen=True)
class ScatterWriter(Operation):
    """Stores values at their places in the innermost levels of the result, which are dense.

    extent: words of a fiber of these levels; 0 where it is not known yet. whole: all levels are dense, there is one fiber.
    crd: places are coordinates, else computed of several. below: dense levels above the last one, if not all are dense.
    """

    slot: str
    extent: int
    whole: bool
    crd: bool = True
    below: int = 0
    primitive: ClassVar[Primitive] = SCATTER

    @property
    def inputs(self) -> Ports:
        return {"at": CRD if self.crd else REF, "val": VAL}

    @property
    def settings(self) -> Settings:
        return {"extent": self.extent, "whole": self.whole, "below": self.below}

    @property
    def moved(self) -> Moved:
        return Moved(STORE, self.slot, VALUES)

    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        return {"type": "fiberwrite", "tensor": self.slot, "mode": "vals", "format": "dense", "sink": "true"}
