"""What an operation of the sparse graph is: what the fabric does (Onyx JSSC III) before it is known which tile does it.

An operation says everything about itself: its streams, the primitive that computes it and the settings of that, the level that
it moves, the rule of what its streams run over, and its form in the public dialect. The verifier, the mapper and the writers
of text read it there; a class below `Operation` is known by its name.

    sam_levels     levels and values of tensors: scanner, locators, values, writers; of those kept in MEM tiles: sam_kept
    sam_streams    streams of nested loops: repeater, joiner, dropper
    sam_alu        values token by token; quotients: sam_divide
    sam_reduce     sums and maxima over an index: reducers, accumulator; behind a dropper: sam_merged

Streams carry coordinates (crd), references (ref) or values (val). Port names are those of the primitives' descriptions, except
that the lookup of values gives `val`. The *space* of a stream is, for each nested fiber level, the index variable and a tag of
the coordinate set that it runs over; two streams may meet token by token only in the same space.

Source: the Sparse Abstract Machine, which Onyx JSSC II-B builds on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from ...hw.arch.primitive import Primitive
from .mapped import STORE, VALUES

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


# Every operation of the modules that are imported, by name.
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
