"""Operations of the sparse graph: what the fabric does (Onyx JSSC III) before it is known which tile does it.

An operation says everything about itself: its streams, the primitive that computes it and the settings of that, the level that
it moves, the rule of what its streams run over, and its form in the public dialect. The verifier, the mapper and the writers
of text read it here; a class below `Operation` is known by its name.

Streams carry coordinates (crd), references (ref) or values (val). Port names are those of the primitives' descriptions, except
that the lookup of values gives `val`. The *space* of a stream is, for each nested fiber level, the index variable and a tag of
the coordinate set that it runs over; two streams may meet token by token only in the same space.

Source: the Sparse Abstract Machine, which Onyx JSSC II-B builds on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ...hw.arch.op import BY_NAME
from ...hw.arch.primitive import (
    ACCUMULATOR,
    ALU,
    DROPPER,
    JOINER,
    LEVEL,
    LOCATE,
    MAXIMUM,
    MOST_ACCUMULATED,
    PASS_THROUGH,
    REDUCER,
    REPEATER,
    Primitive,
)
from .mapped import LOAD, STORE, VALUES

Ports = dict[str, str]
Settings = dict[str, "int | str | bool"]
Space = tuple[tuple[str, object], ...]
CRD, REF, VAL = "crd", "ref", "val"


class SpaceError(Exception):
    """A node whose input streams do not fit together."""


class Moved(NamedTuple):
    """A level that a tile takes from the global buffer or gives to it; `VALUES`: the values."""

    direction: str
    slot: str
    level: int

    @property
    def sections(self) -> int:
        """Of its blocks: segments and coordinates, or one array; segments of the outermost level of a result are not stored."""
        return 1 if self.level == VALUES or (self.direction, self.level) == (STORE, 0) else 2


# Every operation by name.
OPS: dict[str, type[Any]] = {}


class Operation(ABC):
    """What all operations have; `OPS` has them by name."""

    # What computes it.
    primitive: ClassVar[Primitive]
    # The port that the public dialect feeds through a node of its own.
    signal: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        OPS[cls.__name__] = cls

    @property
    @abstractmethod
    def inputs(self) -> Ports:
        """Port -> what it takes."""

    @property
    def outputs(self) -> Ports:
        """Port -> what it gives."""
        return {}

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """The configuration of the primitive."""

    @property
    def renamed(self) -> Ports:
        """Its ports that have another name at the primitive."""
        return {}

    @property
    def moved(self) -> Moved | None:
        """The level that it moves, if it does."""
        return None

    def spaces(self, name: str, given: Mapping[str, Space]) -> dict[str, Space]:
        """The spaces of the outputs of a node from those of its inputs; SpaceError where these do not fit together."""
        return {}

    @abstractmethod
    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        """The attributes of a node in the public dialect."""

    def role(self, port: str) -> str:
        """What an input is to its node in the public dialect."""
        return port if self.inputs[port] == VAL else ""


def need(condition: bool, complaint: str) -> None:
    """SpaceError with a complaint, unless a condition of a rule holds."""
    if not condition:
        raise SpaceError(complaint)


def in_step(given: Mapping[str, Space]) -> Space:
    """The space of operands that meet token by token."""
    need(bool(given), "an operand must be a stream")
    need(len(set(given.values())) == 1, "the operands are not of the same loops")
    return next(iter(given.values()))


def _mode(form: str, level: int) -> str:
    return form[len(form) // 2 + level]


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


class Computed(NamedTuple):
    """How the ALU computes an operation of an `Alu`: the operation of the table, its operand that is the second one, if
    there is one, and constants of others."""

    op: str
    second: str = ""
    constants: tuple[tuple[str, int], ...] = ()
    signed: bool = False

    @property
    def operands(self) -> tuple[str, ...]:
        """The operands as ports of an `Alu`."""
        return ("a", "b") if self.second else ("a",)


# `crop` is max(min(a, b), c).
LARGEST, LEAST = 0x7fff, 0x8000
ALU_OPS = {
    "add": Computed("adc", "b"),
    "sub": Computed("sbc", "b", (("d", 1),)),
    "mul": Computed("mult0", "b"),
    "max": Computed("crop", "c", (("b", LARGEST),), signed=True),
    "min": Computed("crop", "b", (("c", LEAST),), signed=True),
    "abs": Computed("abs"),
    "sign": Computed("crop", "", (("b", 1), ("c", 0xffff)), signed=True),
    "nonzero": Computed("crop", "", (("b", 1), ("c", 0)))}


@dataclass(frozen=True)
class Alu(Operation):
    """`a op b`, or `op a`; an operand that is a constant here has no port."""

    op: str
    a: int | None = None
    b: int | None = None
    primitive: ClassVar[Primitive] = ALU

    @property
    def inputs(self) -> Ports:
        constants = {"a": self.a, "b": self.b}
        return {name: VAL for name in ALU_OPS[self.op].operands if constants[name] is None}

    @property
    def outputs(self) -> Ports:
        return {"res": VAL}

    @property
    def settings(self) -> Settings:
        computed = ALU_OPS[self.op]
        constants = {"d": 0, "a": self.a or 0, computed.second: self.b or 0, **dict(computed.constants)}
        streams = [self.renamed.get(port, port) for port in self.inputs]
        config: Settings = {"op": BY_NAME[computed.op].code, "const_d": constants["d"]}
        if computed.signed:
            config["signed"] = True
        for operand in ("a", "b", "c") if computed.op == "crop" else ("a", "b"):
            config |= {f"stream_{operand}": operand in streams, f"const_{operand}": constants.get(operand, 0) % (1 << 16)}
        return config

    @property
    def renamed(self) -> Ports:
        second = ALU_OPS[self.op].second
        return {"b": second} if second not in ("", "b") else {}

    def spaces(self, name: str, given: Mapping[str, Space]) -> dict[str, Space]:
        return {"res": in_step(given)}

    def dialect(self, formats: Mapping[str, str]) -> dict[str, object]:
        constant = self.b if self.a is None else self.a
        shown: dict[str, object] = {"type": self.op}
        if self.op in ("add", "sub"):
            shown = {"type": "add", "sub": int(self.op == "sub")}
        return shown if constant is None else {**shown, "const": constant}


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
