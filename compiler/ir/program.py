"""Program: a placed and routed application; the only input of `encode`, the only output of `decode`.

It says all that a host needs to run it: what every tile is configured to, and where its streams begin and end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .mapped import LOAD, STORE
from .transfer import Transfer

Site = tuple[int, int]
Config = Mapping[str, Mapping[str, "int | str"]]

# What a program's streams are: tokens that wait for each other, or words whose cycles are known.
ELASTIC, STATIC = "elastic", "static"
MODES = (ELASTIC, STATIC)


@dataclass(frozen=True)
class Program:
    """What a bitstream says.

    Parameters
    ----------
    fingerprint : int      Of the machine it is for.
    mode : str             `ELASTIC` or `STATIC`.
    source : mapping       The program's text: ``expression``, ``order``, ``formats`` (plain data).
    config : mapping       (x, y) -> set -> field -> value, every field of every used tile.
    transfers : tuple      The streams between the global buffer and the array, loads first.
    contents : mapping     (x, y) of a MEM tile -> 16-bit words that stand in its SRAM from address 0 on.
    """

    fingerprint: int
    mode: str
    source: Mapping[str, Any]
    config: Mapping[Site, Config]
    transfers: tuple[Transfer, ...]
    contents: Mapping[Site, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert self.mode in MODES, f"a program is elastic or static, not {self.mode}"

    @property
    def loads(self) -> tuple[Transfer, ...]:
        return tuple(each for each in self.transfers if each.direction == LOAD)

    @property
    def stores(self) -> tuple[Transfer, ...]:
        return tuple(each for each in self.transfers if each.direction == STORE)
