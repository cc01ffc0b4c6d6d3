"""What the memories of MEM tiles hold, as a part of the program that has them: to be kept while another one runs, and put back.

    kept = saved(device, program)          program, with all that memories hold as its contents
    ...                                    another program has the machine, and its memories
    run(device, kept, transactions)        restored, in this machine or another region of its width
    held(device, (3, 1))                   the words of one, also in the middle of a run whose columns stand still

Configuration leaves memories as they are, so nothing is to be saved where the next program needs what the one before left, or
none.

On a machine with `Glb.kept_bytes` hardware saves words in banks that no program uses, one memory of every GLB tile at once, two
words a cycle, and configuration DMAs stream them from there to where they were. Those of tiles that a program uses stay there
while other programs run (`saves`, `restores`): all 16 of a column of `onyx` would take a whole bank of 128 KB. For `saved` the
host reads all memories there, in as many rounds as have room. Else it reads them over configuration, two words a read.

Input:   Device, in which nothing runs; Program.
Output:  Program; commands.
Errors:  UserError for a machine whose memories cannot be read or have no room in its banks, a program of another machine, and a
         memory that a run may use.
Cost:    a memory of `onyx` is saved in 1,030 cycles and restored in 1,024; read by the host, in 1,024 reads of configuration.
Source:  Amber JSSC IV-B (data in memory tiles are saved to the global buffer and restored later).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest

import numpy as np

from ..compiler.backend.encode import address
from ..compiler.ir.program import Program, Site
from ..hw.arch.cgra import Arch
from ..hw.arch.config import MEMORY_REGISTER
from ..hw.arch.errors import UserError
from ..hw.arch.glb import LINE_BYTES
from ..hw.arch.soc import BUSY, SAVE_PATIENCE, glb_registers, named
from . import host
from .commands import Command, Start, Wait, WriteRegister
from .data import images
from .device import Device
from .plan import prepare
from .registers import interrupts
from .streamed import Streamed, streaming


@dataclass(frozen=True)
class Kept:
    """Where the words of a memory are kept.

    Parameters
    ----------
    site : (x, y)       Its tile.
    glb_tile : int      That of its column.
    first : int         Its first byte there, of 8 for two 16-bit words.
    pairs : int         How many of two words.
    """

    site: Site
    glb_tile: int
    first: int
    pairs: int


@dataclass(frozen=True, eq=False)
class InBanks:
    """A program whose memories are kept in the banks of its columns, from a byte of the room for it on."""

    program: Program
    at: int

    def end(self, arch: Arch) -> int:
        """The byte behind the last one."""
        return self.at + size(self.program, arch)

    def loads(self, arch: Arch) -> Iterator[Command]:
        """The commands that configure a machine for it, and put back what its memories held."""
        yield from prepare(replace(self.program, contents={}), arch)
        yield from restores(self.program, arch, self.at)


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
    return _read(device, site, spec.buffer_words)


def saved(device: Device, program: Program, at: int = 0, does: Callable[[Iterable[Command]], object] | None = None) -> Program:
    """The program that a device is configured for, with all words that its memories hold as contents.

    With power domains those of the program's tiles: what is off holds nothing. at: byte of what is kept from which on there is
    room, as of `places`. does: the commands; None: `host.execute`.
    """
    arch = device.arch
    check(program, arch)
    if not arch.glb.kept_bytes:
        return _holding(program, {site: _read(device, site, words) for site, words in memories(arch, program).items()})
    does = does or partial(host.execute, device)
    found: dict[Site, np.ndarray] = {}
    for some in _rounds(memories(arch, program), arch, at):
        does(_saving(some, arch))
        found |= {each.site: device.read_memory(each.glb_tile * arch.glb.tile_bytes + each.first, 4 * each.pairs)
                  for each in some}
    return holding(program, found)


def check(program: Program, arch: Arch) -> None:
    """UserError for a machine whose memories cannot be saved under a program."""
    _readable(arch)
    if arch.power_domains and not arch.glb.configuration_dma:
        raise UserError("memories of tiles that are switched on by the host show nothing before a run",
                        f"machine '{arch.name}'", "describe it with `glb.configuration_dma`")
    if program.fingerprint != arch.fingerprint:
        raise UserError(f"the program is for machine {program.fingerprint:016x}, not {arch.fingerprint:016x}",
                        f"machine '{arch.name}'", "give the program that it is configured for")


def size(program: Program, arch: Arch) -> int:
    """The bytes of a GLB tile that the memories which a program uses take, where that is most."""
    taken: dict[int, int] = defaultdict(int)
    for (x, _), words in used(arch, program).items():
        taken[x // arch.glb.columns_per_tile] += LINE_BYTES * (words // 2)
    return max(taken.values(), default=0)


def places(program: Program, arch: Arch, at: int = 0) -> list[Kept]:
    """Where is kept what the memories hold that a program uses, from so many bytes on of those for it in each GLB tile.

    Raises UserError where they have no room.
    """
    _fits(size(program, arch), at, arch)
    return [each for some in _rounds(used(arch, program), arch, at) for each in some]


def _rounds(sites: Mapping[Site, int], arch: Arch, at: int) -> Iterator[list[Kept]]:
    """Where memories are kept, as many at once as have room from a byte on; UserError where one has none."""
    some: list[Kept] = []
    free: dict[int, int] = {}
    left: dict[Site, int] = {}      # what has no room yet
    for site, words in sites.items():
        tile, bytes_ = site[0] // arch.glb.columns_per_tile, LINE_BYTES * (words // 2)
        _fits(bytes_, at, arch)
        first = free.setdefault(tile, arch.glb.program_bytes + at)
        if first + bytes_ > arch.glb.tile_bytes:
            left[site] = words
        else:
            some.append(Kept(site, tile, first, words // 2))
            free[tile] += bytes_
    if some:
        yield some
    if left:
        yield from _rounds(left, arch, at)


def _fits(needed: int, at: int, arch: Arch) -> None:
    if at + needed > arch.glb.kept_bytes:
        taken = f", where {at} are taken" if at else ""
        raise UserError(f"what memories hold takes {needed} bytes of a GLB tile, which keeps {arch.glb.kept_bytes}{taken}",
                        f"machine '{arch.name}'", f"describe it with glb.kept_bytes of {at + needed} or more")


def holding(program: Program, lines: Mapping[Site, np.ndarray]) -> Program:
    """A program with what was kept as its contents: uint16[4 * pairs] of each tile, as it lies in the global buffer."""
    return _holding(program, {site: words.reshape(-1, 4)[:, :2].reshape(-1) for site, words in lines.items()})


def saves(program: Program, arch: Arch, at: int = 0) -> Iterator[Command]:
    """The commands that keep in the global buffer what the memories hold that a program uses: of every GLB tile one after the
    other, of all tiles at once."""
    check(program, arch)
    yield from _saving(places(program, arch, at), arch)


def _saving(places: Iterable[Kept], arch: Arch) -> Iterator[Command]:
    """The commands that save memories."""
    tiles: dict[int, list[Kept]] = defaultdict(list)
    for each in places:
        tiles[each.glb_tile].append(each)
    for some in zip_longest(*tiles.values()):
        yield from _saves([each for each in some if each is not None], arch)


def _saves(memories: Sequence[Kept], arch: Arch) -> Iterator[Command]:
    """Keep some memories, one of a GLB tile."""
    control = named(glb_registers(arch.glb))["config_control"]
    of = {each.glb_tile: each for each in memories}
    for tile in range(arch.glb_tiles):
        yield WriteRegister("config_control", control.word(enable=1, saves=1) if tile in of else 0, tile)
    for tile, each in of.items():
        _, meant = images.address(_first(each.site), arch)
        yield WriteRegister("config_start", each.first, tile)
        yield WriteRegister("config_words", each.pairs, tile)
        yield WriteRegister("config_save", meant, tile)
    yield from interrupts()
    yield Start(configure=True)
    yield Wait(max(each.pairs for each in memories) + 2 * SAVE_PATIENCE, configure=True)


def restores(program: Program, arch: Arch, at: int = 0) -> Iterator[Command]:
    """The commands that put back what those of `saves` have kept, on a machine that is configured for the program."""
    tiles: dict[int, list[Kept]] = defaultdict(list)
    for each in places(program, arch, at):
        tiles[each.glb_tile].append(each)
    if tiles:
        there = {tile: Streamed(some[0].first, sum(each.pairs for each in some)) for tile, some in tiles.items()}
        yield from streaming(there, arch)


def memories(arch: Arch, program: Program) -> Mapping[Site, int]:
    """The tiles whose memories hold something under a program, with their 16-bit words."""
    return {site: spec.buffer_words for site, spec in arch.tiles.items()
            if spec.has_memory and (not arch.power_domains or site in program.config)}


def used(arch: Arch, program: Program) -> Mapping[Site, int]:
    """Those of them that a program uses: it is configured for them, or fills them."""
    return {site: words for site, words in memories(arch, program).items()
            if site in program.config or site in program.contents}


def _readable(arch: Arch) -> None:
    if not arch.memory_readback:
        raise UserError("what memories hold cannot be read", f"machine '{arch.name}'",
                        "describe it with `memory_readback`, or begin anew with the program as it was compiled")


def _read(device: Device, site: Site, words: int) -> np.ndarray:
    """The words of a memory, over configuration."""
    first = _first(site)
    pairs = [device.read_configuration(first + number) for number in range(words // 2)]
    return np.array([pair >> shift & 0xFFFF for pair in pairs for shift in (0, 16)], np.uint16)


def _holding(program: Program, words: Mapping[Site, np.ndarray]) -> Program:
    """A program with these words of memories as its contents."""
    contents = {site: tuple(map(int, each)) for site, each in words.items()}
    sizes = {f"{x},{y}": len(each) for (x, y), each in contents.items()}
    return replace(program, contents=contents, source={**program.source, "contents": sizes})


def _first(site: Site) -> int:
    """The configuration address of the first two words of a tile's memory."""
    return address(*site, MEMORY_REGISTER)
