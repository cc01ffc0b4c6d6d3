"""Program: a placed and routed application; the only input of `encode`, the only output of `decode`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Site = tuple[int, int]
Config = Mapping[str, Mapping[str, "int | str"]]


@dataclass(frozen=True)
class Binding:
    """A block stream bound to a column: which level of which tensor travels there, and in which direction.

    level : int    In storage order; -1 for the values.
    """

    tensor: str
    level: int
    direction: str
    column: int

    @property
    def sections(self) -> int:
        """Length-prefixed sections of a block of this stream."""
        return 1 if self.level < 0 else 2

    @property
    def name(self) -> str:
        """For people: ``B0``, ``C_vals``."""
        return f"{self.tensor}_vals" if self.level < 0 else f"{self.tensor}{self.level}"


@dataclass(frozen=True)
class Program:
    """What a bitstream says.

    Parameters
    ----------
    fingerprint : int      Of the machine it is for.
    source : mapping       The program's text: ``expression``, ``order``, ``formats`` (plain data).
    config : mapping       (x, y) -> set -> field -> value, every field of every used tile.
    bindings : tuple       The block streams, loads first.
    contents : mapping     (x, y) of a MEM tile -> 16-bit words that stand in its SRAM from address 0 on.
    """

    fingerprint: int
    source: Mapping[str, Any]
    config: Mapping[Site, Config]
    bindings: tuple[Binding, ...]
    contents: Mapping[Site, tuple[int, ...]] = field(default_factory=dict)

    @property
    def loads(self) -> tuple[Binding, ...]:
        return tuple(binding for binding in self.bindings if binding.direction == "load")

    @property
    def stores(self) -> tuple[Binding, ...]:
        return tuple(binding for binding in self.bindings if binding.direction == "store")
