"""Operations of a sparse graph whose rows are dealt to lanes or parts of it: these have the same rows, or each part counts its
own, and their sums are merged.

    part 0   rows 0 1 S0 D    coordinates * 2        0 2 S0 D,  sums  5 7 S0 D  -+-> 0 1 2 3 S0 D,  5 N 7 N S0 D
    part 1   rows 0 1 S0 D    coordinates * 2 + 1    1 3 S0 D,  sums  6 8 S0 D  -+                  N 6 N 8 S0 D

Source: ours; the primitives are those of SAM, a joiner that unites and an ALU (Onyx JSSC III-C).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ...hw.arch.op import BY_NAME
from ...hw.arch.primitive import ALU, JOINER, Primitive
from .sam_levels import Scanner
from .sam_ops import CRD, VAL, Operation, Ports, Settings, Space, need


@dataclass(frozen=True)
class RowScanner(Scanner):
    """Counts the rows of an operand once more, for who does not wait for them together with the operand's next level.

    of: the scanner that gives the same coordinates.
    """

    of: str = ""

    def spaces(self, name: str, given: Mapping[str, Space]) -> dict[str, Space]:
        return super().spaces(self.of, given)


@dataclass(frozen=True)
class PartRows(Operation):
    """The rows of a part among all: each coordinate times the number of parts, and the number of the part."""

    index: str
    parts: int
    part: int
    primitive: ClassVar[Primitive] = ALU

    @property
    def inputs(self) -> Ports:
        return {"rows": CRD}

    @property
    def outputs(self) -> Ports:
        return {"crd": CRD}

    @property
    def renamed(self) -> Ports:
        return {"rows": "a", "crd": "res"}

    @property
    def settings(self) -> Settings:
        return {"op": BY_NAME["muladd"].code, "stream_a": True, "const_b": self.parts, "const_c": self.part}

    def spaces(self, name: str, given: Mapping[str, Space]) -> dict[str, Space]:
        need(bool(given["rows"]) and given["rows"][-1][0] == self.index, f"the coordinates are not those of {self.index}")
        # One of its own for each row still, so that sums of the rows of a part go with its coordinates.
        return {"crd": given["rows"]}

    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        return {"type": "partrows", "index": self.index, "parts": self.parts, "part": self.part}


@dataclass(frozen=True)
class PartMerger(Operation):
    """Merges the rows of two parts, which have none in common: their coordinates, and the values of each, N at rows of the
    other."""

    index: str
    primitive: ClassVar[Primitive] = JOINER

    @property
    def inputs(self) -> Ports:
        return {"crd0": CRD, "val0": VAL, "crd1": CRD, "val1": VAL}

    @property
    def outputs(self) -> Ports:
        return {"crd": CRD, "val0_o": VAL, "val1_o": VAL}

    @property
    def renamed(self) -> Ports:
        return {"val0": "ref0", "val1": "ref1", "val0_o": "ref0_o", "val1_o": "ref1_o"}

    @property
    def settings(self) -> Settings:
        return {"op": "union", "use_ref0": True, "use_ref1": True}

    def spaces(self, name: str, given: Mapping[str, Space]) -> dict[str, Space]:
        left, right = given["crd0"], given["crd1"]
        need(left[:-1] == right[:-1], "the two parts are not of the same loops")
        need(left[-1][0] == right[-1][0] == self.index, f"the coordinates are not those of {self.index}")
        for side, space in (("val0", left), ("val1", right)):
            need(given[side] == space, f"{side} does not belong to its coordinates")
        return dict.fromkeys(self.outputs, (*left[:-1], (self.index, ("merged", left[-1][1], right[-1][1]))))

    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        return {"type": "partmerge", "index": self.index}

    def role(self, port: str) -> str:
        return f"in{port[-1]}"
