"""Columns that stand still in the middle of a run, so that the host may look at or change what they are configured for.

    stall(device)                       every column of a machine, or of a region
    device.read_configuration(at)       as ever; the status registers of tiles say where tokens are
    resume(device)                      the run goes on, with the words that it has without this

A frozen column neither offers nor takes words, so an elastic program may also be stalled in some columns: the others go on till
they wait for these. A static program knows the cycle of every word, so it stands still as a whole or not at all.

Input:   Device, with `Arch.column_stall`; a region counts its columns from its first one.
Errors:  UserError for a machine whose columns cannot be stalled, columns that it has not, and some columns of a static program.
Timing:  as the register `stalled` says; a run that begins meanwhile is frozen with the first words of its loads.
Source:  the register `cgra_stall` of the public Garnet, a bit a column.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..compiler.ir.program import STATIC, Program
from ..hw.arch.cgra import Arch
from ..hw.arch.errors import UserError
from ..hw.arch.soc import CONFIGURING, glb_registers, named
from .device import MOST_POLLS, Device


def stall(device: Device, columns: Iterable[int] | None = None, program: Program | None = None) -> None:
    """Freeze columns until `resume`, and return when they are; those that were frozen and are not named go on.

    columns: None for all. program: what the device is configured for; without it its stores are asked whether that is static.
    """
    wanted = _mask(device, columns, program)
    if device.read_register("status") >> CONFIGURING & 1:
        raise UserError("columns are not stalled while the machine is configured", f"machine '{device.arch.name}'",
                        "wait for the end of the configuration")
    device.write_register("stall", wanted)
    for _ in range(MOST_POLLS):
        if device.read_register("stalled") == wanted:
            return
    raise UserError("the machine does not stall its columns", f"machine '{device.arch.name}'",
                    "reset it, or program the board again")


def resume(device: Device) -> None:
    """Let all columns go on."""
    _check(device.arch)
    device.write_register("stall", 0)


def stalled(device: Device) -> tuple[int, ...]:
    """The columns that are frozen."""
    _check(device.arch)
    found = device.read_register("stalled")
    return tuple(x for x in range(device.arch.columns) if found >> x & 1)


def _mask(device: Device, columns: Iterable[int] | None, program: Program | None) -> int:
    """What the register `stall` is told; UserError for what cannot be."""
    arch = device.arch
    _check(arch)
    if isinstance(columns, int):
        raise UserError(f"{columns} is no list of columns", f"machine '{arch.name}'", f"write [{columns}]")
    chosen = set(range(arch.columns) if columns is None else columns)
    if wrong := sorted(x for x in chosen if x not in range(arch.columns)):
        raise UserError(f"there is no column {wrong[0]}", f"machine '{arch.name}'", f"choose some of 0..{arch.columns - 1}")
    some = len(chosen) not in (0, arch.columns)
    if some and (program.mode == STATIC if program is not None else _is_static(device)):
        raise UserError(f"{len(chosen)} of {arch.columns} columns of a static program are to be stalled",
                        f"machine '{arch.name}'", "stall all of them: every column knows the cycle of each word")
    return sum(1 << x for x in chosen)


def _is_static(device: Device) -> bool:
    """Whether a store of a device takes words by their cycles, as those of static programs do."""
    static = named(glb_registers(device.arch.glb))["store_control"].word(static=1)
    return any(device.read_register("store_control", tile) & static for tile in range(device.arch.glb_tiles))


def _check(arch: Arch) -> None:
    if not arch.column_stall:
        raise UserError("columns cannot be stalled", f"machine '{arch.name}'", "describe it with `column_stall`")
