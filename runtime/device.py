"""What executes the commands of a plan: a simulated machine, a board, firmware.

A device has the buses of a machine (`docs/registers.md`) and nothing else; it knows no programs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

import numpy as np

from ..hw.arch.cgra import Arch


@runtime_checkable
class Device(Protocol):
    """A machine behind its registers, its memory, its configuration network and its interrupt."""

    @property
    def arch(self) -> Arch: ...

    def write_register(self, name: str, value: int, glb_tile: int | None = None) -> None:
        """Write a controller register, or one of a GLB tile."""

    def read_register(self, name: str, glb_tile: int | None = None) -> int:
        """Read a controller register, or one of a GLB tile."""

    def configure(self, words: Iterable[tuple[int, int]]) -> None:
        """Write configuration words (address, data)."""

    def read_configuration(self, address: int) -> int:
        """Read a configuration word back; 0 where no tile has such a register."""

    def write_memory(self, address: int, words: np.ndarray) -> None:
        """Write 16-bit words to the global buffer from a byte address (a multiple of 8) on."""

    def read_memory(self, address: int, count: int) -> np.ndarray:
        """Read `count` 16-bit words from a byte address (a multiple of 8) on."""

    def wait(self, limit: int) -> bool:
        """Run until the interrupt, at most `limit` cycles; whether it came."""
