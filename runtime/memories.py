"""What the memories of MEM tiles hold, as a part of the program that has them: to be kept while another one runs, and put back.

    kept = saved(device, program)          program, with all that memories hold as its contents
    ...                                    another program has the machine, and its memories
    run(device, kept, transactions)        restored, in this machine or another region of its width

Configuration leaves memories as they are, so nothing is to be saved where the next program needs what the one before left, or
none. Words are read over configuration, two a read. They are put back as any contents of a program are: with its configuration
words, from the global buffer, by the configuration DMAs.

Input:   Device, in which nothing runs; Program.
Output:  Program.
Errors:  UserError for a machine whose memories cannot be read, and a program of another machine.
Cost:    of the host, 1,024 reads of configuration a tile of `onyx`; no cycle of a program.
Source:  Amber JSSC IV-B (data in memory tiles are saved and restored later).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..compiler.backend.encode import address
from ..compiler.ir.program import Program, Site
from ..hw.arch.cgra import Arch
from ..hw.arch.config import MEMORY_REGISTER
from ..hw.arch.errors import UserError
from .device import Device


def saved(device: Device, program: Program) -> Program:
    """The program that a device is configured for, with all words that its memories hold as contents.

    With power domains those of the program's tiles: what is off holds nothing.
    """
    arch = device.arch
    if not arch.memory_readback:
        raise UserError("what memories hold cannot be read", f"machine '{arch.name}'",
                        "describe it with `memory_readback`, or begin anew with the program as it was compiled")
    if arch.power_domains and not arch.glb.configuration_dma:
        raise UserError("memories of tiles that are switched on by the host show nothing before a run",
                        f"machine '{arch.name}'", "describe it with `glb.configuration_dma`")
    if program.fingerprint != arch.fingerprint:
        raise UserError(f"the program is for machine {program.fingerprint:016x}, not {arch.fingerprint:016x}",
                        f"machine '{arch.name}'", "give the program that it is configured for")
    contents = {site: _held(device, site) for site in memories(arch, program)}
    sizes = {f"{x},{y}": len(words) for (x, y), words in contents.items()}
    return replace(program, contents=contents, source={**program.source, "contents": sizes})


def memories(arch: Arch, program: Program) -> Mapping[Site, int]:
    """The tiles whose memories hold something under a program, with their 16-bit words."""
    return {site: spec.buffer_words for site, spec in arch.tiles.items()
            if spec.has_memory and (not arch.power_domains or site in program.config)}


def _held(device: Device, site: Site) -> tuple[int, ...]:
    """The 16-bit words of a tile's memory."""
    pairs = (device.read_configuration(address(*site, MEMORY_REGISTER + n))
             for n in range(device.arch.tiles[site].buffer_words // 2))
    return tuple(word >> shift & 0xFFFF for word in pairs for shift in (0, 16))
