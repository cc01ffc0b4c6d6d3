"""Operations of the sparse graph that fit streams of nested loops to each other: repeaters, joiners and droppers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ...hw.arch.primitive import DROPPER, JOINER, REPEATER, Primitive
from .sam_ops import CRD, REF, VAL, Operation, Ports, Settings, Space, need


@dataclass(frozen=True)
class Repeater(Operation):
    """Repeats a reference (the root reference, if `root`) for every coordinate."""

    slot: str
    index: str
    root: bool = False
    primitive: ClassVar[Primitive] = REPEATER
    signal: ClassVar[str] = "crd"

    @property
    def inputs(self) -> Ports:
        return {"crd": CRD} if self.root else {"ref": REF, "crd": CRD}

    @property
    def outputs(self) -> Ports:
        return {"ref_o": REF}

    @property
    def settings(self) -> Settings:
        return {"root": self.root}

    def spaces(self, name: str, given: Mapping[str, Space]) -> dict[str, Space]:
        need(bool(given["crd"]) and given["crd"][-1][0] == self.index, f"the coordinates are not those of {self.index}")
        need(given.get("ref", ()) == given["crd"][:-1], "references and coordinates are not of the same loops")
        return {"ref_o": given["crd"]}

    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        return {"type": "repeat", "index": self.index, "tensor": self.slot, "root": str(self.root).lower()}


@dataclass(frozen=True)
class Joiner(Operation):
    """Intersects or unites two coordinate streams; `refs` says which sides bring references along."""

    op: str
    index: str
    refs: tuple[bool, bool] = (True, True)
    primitive: ClassVar[Primitive] = JOINER

    @property
    def inputs(self) -> Ports:
        return {name: kind for name, kind, used in (("crd0", CRD, True), ("ref0", REF, self.refs[0]),
                                                    ("crd1", CRD, True), ("ref1", REF, self.refs[1])) if used}

    @property
    def outputs(self) -> Ports:
        return {name: kind for name, kind, used in (("crd", CRD, True), ("ref0_o", REF, self.refs[0]),
                                                    ("ref1_o", REF, self.refs[1])) if used}

    @property
    def settings(self) -> Settings:
        return {"op": self.op, "use_ref0": self.refs[0], "use_ref1": self.refs[1]}

    def spaces(self, name: str, given: Mapping[str, Space]) -> dict[str, Space]:
        need(self.op in ("intersect", "union"), f"{self.op} is no way to join")
        left, right = given["crd0"], given["crd1"]
        need(left[:-1] == right[:-1], "the two sides are not of the same loops")
        need(left[-1][0] == right[-1][0] == self.index, f"the coordinates are not those of {self.index}")
        for side, space in (("ref0", left), ("ref1", right)):
            need(given.get(side, space) == space, f"{side} does not belong to its coordinates")
        return dict.fromkeys(self.outputs, (*left[:-1], (self.index, (self.op, left[-1][1], right[-1][1]))))

    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        return {"type": self.op, "index": self.index}

    def role(self, port: str) -> str:
        return f"in{port[-1]}"


@dataclass(frozen=True)
class Dropper(Operation):
    """Removes coordinates of level `outer` with an empty fiber (form ``coordinate``) or a zero value
    (``value``)."""

    form: str
    outer: str
    inner: str = ""
    primitive: ClassVar[Primitive] = DROPPER

    @property
    def inputs(self) -> Ports:
        return {"outer": CRD, "inner": VAL if self.form == "value" else CRD}

    @property
    def outputs(self) -> Ports:
        return {"outer_o": CRD, "inner_o": self.inputs["inner"]}

    @property
    def settings(self) -> Settings:
        return {"form": self.form}

    def spaces(self, name: str, given: Mapping[str, Space]) -> dict[str, Space]:
        outer, inner = given["outer"], given["inner"]
        need(self.form in ("coordinate", "value"), f"{self.form} is no form of dropping")
        need(bool(outer) and outer[-1][0] == self.outer, f"the coordinates are not those of {self.outer}")
        if self.form == "value":
            need(inner == outer, "coordinates and values are not of the same loops")
            return dict.fromkeys(self.outputs, (*outer[:-1], (self.outer, ("drop", name))))
        need(inner[:-1] == outer and inner[-1][0] == self.inner,
             f"the inner stream is not level {self.inner} below {self.outer}")
        # Of the same streams, all droppers leave the same.
        thinned = (*outer[:-1], (self.outer, ("drop", outer[-1][1], inner[-1][1])))
        return {"outer_o": thinned, "inner_o": (*thinned, inner[-1])}

    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        return {"type": "crddrop", "outer": self.outer, "inner": self.inner or VAL, "mode": int(self.form == "coordinate")}

    def role(self, port: str) -> str:
        return f"{port}-{self.outer if port == 'outer' else self.inner or VAL}"
