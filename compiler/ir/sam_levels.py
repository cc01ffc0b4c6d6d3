"""Operations of the sparse graph on levels and values of tensors: those of operands are read, those of the result stored.

A scanner gives all coordinates of a level; a locator gives, in a dense one, the references of coordinates that others say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ...hw.arch.primitive import LEVEL, LOCATE, PASS_THROUGH, Primitive
from .mapped import LOAD, STORE, VALUES
from .sam_ops import CRD, REF, VAL, Moved, Operation, Ports, Settings, Space, need


@dataclass(frozen=True)
class Scanner(Operation):
    """Reads a level of an operand: the fibers its references name, or the root fiber."""

    slot: str
    level: int
    index: str
    dense: bool = False
    root: bool = False
    primitive: ClassVar[Primitive] = LEVEL

    @property
    def inputs(self) -> Ports:
        return {} if self.root else {"ref": REF}

    @property
    def outputs(self) -> Ports:
        return {"crd": CRD, "ref_o": REF}

    @property
    def settings(self) -> Settings:
        return {"input": "block", "output": "scan", "dense": self.dense, "root": self.root}

    @property
    def moved(self) -> Moved | None:
        return Moved(LOAD, self.slot, self.level)

    def spaces(self, name: str, given: Mapping[str, Space]) -> dict[str, Space]:
        return dict.fromkeys(self.outputs, (*given.get("ref", ()), (self.index, ("scan", name))))

    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        return {"type": "fiberlookup", "index": self.index, "tensor": self.slot, "mode": _mode(formats[self.slot], self.level),
                "format": "dense" if self.dense else "compressed", "src": "true", "root": str(self.root).lower()}


@dataclass(frozen=True)
class Locator(Operation):
    """Gives the references of coordinates in a dense level of an operand, one for each reference of a fiber."""

    slot: str
    level: int
    index: str
    primitive: ClassVar[Primitive] = LEVEL

    @property
    def inputs(self) -> Ports:
        return {"ref": REF, "crd": CRD}

    @property
    def outputs(self) -> Ports:
        return {"ref_o": REF}

    @property
    def renamed(self) -> Ports:
        # Coordinates enter a MEM where they are written otherwise.
        return {"crd": "wr"}

    @property
    def settings(self) -> Settings:
        return {"input": "block", "output": LOCATE, "dense": True}

    @property
    def moved(self) -> Moved:
        return Moved(LOAD, self.slot, self.level)

    def spaces(self, name: str, given: Mapping[str, Space]) -> dict[str, Space]:
        need(bool(given["crd"]) and given["crd"][-1][0] == self.index, f"the coordinates are not those of {self.index}")
        need(given["ref"] == given["crd"], "references and coordinates are not of the same loops")
        return {"ref_o": given["crd"]}

    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        return {"type": "locator", "index": self.index, "tensor": self.slot, "mode": _mode(formats[self.slot], self.level),
                "src": "true", "root": "false"}


@dataclass(frozen=True)
class RootLocator(Operation):
    """The same in the outermost level: the coordinates themselves, so that no tile has it (`map_graph`)."""

    slot: str
    index: str
    primitive: ClassVar[Primitive] = PASS_THROUGH

    @property
    def inputs(self) -> Ports:
        return {"i": CRD}

    @property
    def outputs(self) -> Ports:
        return {"o": REF}

    @property
    def settings(self) -> Settings:
        return {}

    def spaces(self, name: str, given: Mapping[str, Space]) -> dict[str, Space]:
        need(bool(given["i"]) and given["i"][-1][0] == self.index, f"the coordinates are not those of {self.index}")
        return {"o": given["i"]}

    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        return {"type": "locator", "index": self.index, "tensor": self.slot, "mode": _mode(formats[self.slot], 0),
                "src": "false", "root": "true"}


@dataclass(frozen=True)
class Values(Operation):
    """Looks up values of an operand; of the root reference, if `root` (a scalar outside all loops)."""

    slot: str
    root: bool = False
    primitive: ClassVar[Primitive] = LEVEL

    @property
    def inputs(self) -> Ports:
        return {} if self.root else {"ref": REF}

    @property
    def outputs(self) -> Ports:
        return {"val": VAL}

    @property
    def renamed(self) -> Ports:
        # Looked-up values leave a MEM where scanned coordinates do.
        return {"val": "crd"}

    @property
    def settings(self) -> Settings:
        return {"input": "block", "output": "lookup", "values": True, "root": self.root}

    @property
    def moved(self) -> Moved | None:
        return Moved(LOAD, self.slot, VALUES)

    def spaces(self, name: str, given: Mapping[str, Space]) -> dict[str, Space]:
        return {"val": given.get("ref", ())}

    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        return {"type": "arrayvals", "tensor": self.slot}


@dataclass(frozen=True)
class LevelWriter(Operation):
    """Stores coordinates as a level of the result."""

    slot: str
    level: int
    index: str
    primitive: ClassVar[Primitive] = LEVEL

    @property
    def inputs(self) -> Ports:
        return {"wr": CRD}

    @property
    def settings(self) -> Settings:
        # The outermost level has one fiber: it is stored as an array of values is, without segments.
        return {"input": "stream", "output": "block", **({} if self.level else {"values": True})}

    @property
    def moved(self) -> Moved:
        return Moved(STORE, self.slot, self.level)

    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        return {"type": "fiberwrite", "index": self.index, "tensor": self.slot, "mode": _mode(formats[self.slot], self.level),
                "format": "compressed", "sink": "true"}


@dataclass(frozen=True)
class ValuesWriter(Operation):
    """Stores the values of the result."""

    slot: str
    primitive: ClassVar[Primitive] = LEVEL

    @property
    def inputs(self) -> Ports:
        return {"wr": VAL}

    @property
    def settings(self) -> Settings:
        return {"input": "stream", "output": "block", "values": True}

    @property
    def moved(self) -> Moved:
        return Moved(STORE, self.slot, VALUES)

    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        return {"type": "fiberwrite", "tensor": self.slot, "mode": "vals", "sink": "true"}


def _mode(form: str, level: int) -> str:
    return form[len(form) // 2 + level]
