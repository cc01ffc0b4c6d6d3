"""What executes the commands of a plan: a simulated machine, a board, firmware.

A device has the buses of a machine (`docs/registers.md`) and nothing else; it knows no programs.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Protocol, runtime_checkable

import numpy as np

from ..hw.arch.cgra import Arch
from ..hw.arch.errors import UserError, shown
from ..hw.arch.glb import Glb
from ..hw.arch.soc import (
    CONFIG_BUSY,
    GLB_REGISTER_STRIDE,
    GLB_REGISTERS,
    GROUP,
    GROUP_REGISTERS,
    REGION_STRIDE,
    Register,
    controller_registers,
    glb_registers,
    offsets,
)

# An answer takes some cycles, less than a read of the status.
MOST_POLLS = 1000


@runtime_checkable
class Device(Protocol):
    """A machine behind its registers, its memory, its configuration network and its interrupt."""

    @property
    def arch(self) -> Arch: ...

    def write_register(self, name: str, value: int, glb_tile: int | None = None, region: int = 0) -> None:
        """Write a register of the controller of a region, or one of a GLB tile."""

    def read_register(self, name: str, glb_tile: int | None = None, region: int = 0) -> int:
        """Read a register of the controller of a region, or one of a GLB tile."""

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


def fingerprint(device: Device) -> int:
    """Of the machine that a device is."""
    return device.read_register("fingerprint_high") << 32 | device.read_register("fingerprint_low")


def check_fingerprint(device: Device, what: str, where: str, fix: str) -> None:
    """UserError if a device is another machine than its description says; what: holds the machine, for the error."""
    found, arch = fingerprint(device), device.arch
    if found != arch.fingerprint:
        raise UserError(f"{what} has machine {found:016x}, not '{arch.name}', which is {arch.fingerprint:016x}", where, fix)


def register_address(arch: Arch, name: str, glb_tile: int | None = None, region: int = 0) -> int:
    """The byte address of a register of the controller of a region, of all regions, or of a GLB tile; UserError without one."""
    known = _offsets(controller_registers(arch)) if glb_tile is None else _glb_offsets(arch.glb)
    if glb_tile is None and arch.regions > 1 and name in _offsets(GROUP):
        return GROUP_REGISTERS + _offsets(GROUP)[name]
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        raise UserError(f"there is no register '{shown(name)}'" + (f", do you mean '{near[0]}'?" if near else ""),
                        "controller" if glb_tile is None else f"GLB tile {glb_tile}", f"choose one of {', '.join(known)}")
    if region not in range(arch.regions):
        raise UserError(f"there is no region {region}", f"machine '{arch.name}'", f"choose one of 0..{arch.regions - 1}")
    if glb_tile is None:
        return REGION_STRIDE * region + known[name]
    if glb_tile not in range(arch.glb_tiles):
        raise UserError(f"there is no GLB tile {glb_tile}", f"machine '{arch.name}'", f"choose one of 0..{arch.glb_tiles - 1}")
    return GLB_REGISTERS + GLB_REGISTER_STRIDE * glb_tile + known[name]


@cache
def _offsets(registers: tuple[Register, ...]) -> Mapping[str, int]:
    return offsets(registers)


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
