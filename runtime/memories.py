"""What the memories of MEM tiles hold, as a part of the program that has them: to be kept while another one runs, and put back.

    kept = saved(device, program)          program, with all that memories hold as its contents
    ...                                    another program has the machine, and its memories
    run(device, kept, transactions)        restored, in this machine or another region of its width
    held(device, (3, 1))                   the words of one, also in the middle of a run whose columns stand still

Configuration leaves memories as they are, so nothing is to be saved where the next program needs what the one before left, or
none. Words are read over configuration, two a read. They are put back as any contents of a program are: with its configuration
words, from the global buffer, by the configuration DMAs.

Input:   Device, in which nothing runs; Program.
Output:  Program.
Errors:  UserError for a machine whose memories cannot be read, a program of another machine, and a memory that a run may use.
Cost:    of the host, 1,024 reads of configuration a tile of `onyx`; no cycle of a program.
Source:  Amber JSSC IV-B (data in memory tiles are saved and restored later).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..compiler.backend.encode import address
from ..compiler.ir.program import Program, Site
from ..hw.arch.cgra import Arch
from ..hw.arch.config import MEMORY_REGISTER
from ..hw.arch.errors import UserError
from ..hw.arch.soc import BUSY
from . import host
from .commands import Command, Restore, Save
from .data import images
from .device import Device
from .plan import streaming


def held(device: Device, site: Site) -> np.ndarray:
    """What the memory of a tile holds: uint16[words], in the order of their addresses.

    Nothing runs, or the column of the tile is stalled (`runtime.stall`): the run goes on as if nothing had been read.
    """
    arch = device.arch
    _readable(arch)
    spec = arch.tiles.get(site)
    if spec is None or not spec.has_memory:
        raise UserError(f"tile {site} has no memory", f"machine '{arch.name}'", "name a MEM tile, as (column, row)")
    stalls = arch.column_stall and device.read_register("stalled") >> site[0] & 1
    if not stalls and device.read_register("status") >> BUSY & 1:
        raise UserError(f"column {site[0]} is in the middle of a run", f"machine '{arch.name}'",
                        "stall it first" if arch.column_stall else "wait for the end of the run")
    first = _first(site)
    pairs = [device.read_configuration(first + number) for number in range(spec.buffer_words // 2)]
    return np.array([pair >> shift & 0xFFFF for pair in pairs for shift in (0, 16)], np.uint16)


def saved(device: Device, program: Program) -> Program:
    """The program that a device is configured for, with all words that its memories hold as contents.

    With power domains those of the program's tiles: what is off holds nothing.
    """
    check(program, device.arch)
    found: dict[int, list[int]] = {}
    host.execute(device, saves(program, device.arch), saved=found)
    return holding(program, device.arch, found)


def check(program: Program, arch: Arch) -> None:
    """UserError for a machine whose memories cannot be saved under a program."""
    _readable(arch)
    if arch.power_domains and not arch.glb.configuration_dma:
        raise UserError("memories of tiles that are switched on by the host show nothing before a run",
                        f"machine '{arch.name}'", "describe it with `glb.configuration_dma`")
    if program.fingerprint != arch.fingerprint:
        raise UserError(f"the program is for machine {program.fingerprint:016x}, not {arch.fingerprint:016x}",
                        f"machine '{arch.name}'", "give the program that it is configured for")


def holding(program: Program, arch: Arch, found: Mapping[int, Sequence[int]]) -> Program:
    """A program with what was saved, by the addresses of `saves`, as its contents."""
    contents = {site: tuple(word >> shift & 0xFFFF for word in found[_first(site)] for shift in (0, 16))
                for site in memories(arch, program)}
    sizes = {f"{x},{y}": len(words) for (x, y), words in contents.items()}
    return replace(program, contents=contents, source={**program.source, "contents": sizes})


def saves(program: Program, arch: Arch) -> Iterator[Save]:
    """The commands that save what memories hold under a program."""
    return (Save(_first(site), words // 2) for site, words in memories(arch, program).items())


def restores(program: Program, arch: Arch) -> Iterator[Command]:
    """The commands that put back what those of `saves` have saved, on a machine that is configured for the program: in rounds
    of as much as the GLB tiles hold, streamed by their configuration DMAs."""
    parts: dict[int, list[list[Restore]]] = defaultdict(list)   # of a tile, round by round
    room = arch.glb.tile_bytes // 8
    for site, words in memories(arch, program).items():
        tile, _ = images.address(_first(site), arch)
        first, left = 0, words // 2
        while left:
            if not parts[tile] or not (free := room - sum(each.pairs for each in parts[tile][-1])):
                parts[tile].append([])
                free = room
            now = parts[tile][-1]
            at = tile * arch.glb.tile_bytes + 8 * sum(each.pairs for each in now)
            now.append(Restore(at, _first(site), first, min(free, left)))
            first, left = first + now[-1].pairs, left - now[-1].pairs
    for number in range(max(map(len, parts.values()), default=0)):
        yield from streaming({tile: (0, sum(each.pairs for each in rounds[number]), rounds[number])
                              for tile, rounds in sorted(parts.items()) if len(rounds) > number}, arch)


def memories(arch: Arch, program: Program) -> Mapping[Site, int]:
    """The tiles whose memories hold something under a program, with their 16-bit words."""
    return {site: spec.buffer_words for site, spec in arch.tiles.items()
            if spec.has_memory and (not arch.power_domains or site in program.config)}


def _readable(arch: Arch) -> None:
    if not arch.memory_readback:
        raise UserError("what memories hold cannot be read", f"machine '{arch.name}'",
                        "describe it with `memory_readback`, or begin anew with the program as it was compiled")


def _first(site: Site) -> int:
    """The configuration address of the first two words of a tile's memory."""
    return address(*site, MEMORY_REGISTER)
