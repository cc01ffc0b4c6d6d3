"""What executes the commands of a plan: a simulated machine, a board, firmware.

A device has the buses of a machine (`docs/registers.md`) and nothing else; it knows no programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Protocol, runtime_checkable

import numpy as np

from ..hw.arch.cgra import Arch
from ..hw.arch.errors import UserError
from ..hw.arch.glb import Glb
from ..hw.arch.soc import CONFIG_BUSY, CONTROLLER, GLB_REGISTER_STRIDE, GLB_REGISTERS, glb_registers, offsets

_CONTROLLER = offsets(CONTROLLER)
# An answer takes some cycles, less than a read of the status.
MOST_POLLS = 1000


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


def register_address(arch: Arch, name: str, glb_tile: int | None = None) -> int:
    """The byte address of a controller register, or of one of a GLB tile."""
    if glb_tile is None:
        return _CONTROLLER[name]
    return GLB_REGISTERS + GLB_REGISTER_STRIDE * glb_tile + _glb_offsets(arch.glb)[name]


@cache
def _glb_offsets(glb: Glb) -> Mapping[str, int]:
    return offsets(glb_registers(glb))


def read_back(device: Device, address: int) -> int:
    """Read a configuration word over the controller's registers; UserError from a machine that stays busy with it."""
    device.write_register("config_address", address)
    device.write_register("config_read", 1)
    for _ in range(MOST_POLLS):
        if not device.read_register("status") >> CONFIG_BUSY & 1:
            return device.read_register("config_data")
    raise UserError("the machine does not answer a read of its configuration", f"address {address:#010x}",
                    "reset it, or program the board again")


def whole_lines(words: np.ndarray) -> bytes:
    """The bytes of 16-bit words, the last 64-bit line filled up with zeros."""
    lines = np.zeros(-(-len(words) // 4) * 4, "<u2")
    lines[:len(words)] = np.asarray(words, np.uint16)
    return lines.tobytes()
