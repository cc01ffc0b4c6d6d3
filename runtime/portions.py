"""A launch that begins with the first portion of its words: the others come while it computes, and are queued behind them.

A stream is one of words, whatever descriptors read them, so that a block may be in two of them (`Glb.queue`):

    x of 8 lines, which is looked up, A of 40        loads      WriteMemory x; the first 24 lines of A
                                                     starts     registers of these, hold 1, Start
                                                     follows    WriteMemory the other 16; registers of these, queued; hold 0

The second portion is queued when all its words are in the global buffer, and an empty queue holds it, so nothing waits for
anything in a circle: the array has all words in the end, however it takes them.

What is looked up at the coordinates of others is of no use before it is whole, so it is in the first portion. Of the others so
much is in it as the array takes while the rest comes, a line a cycle, and what comes while the machine is configured. Where one
stream is taken sooner than others the array stands until all have come, so no more is left than comes in half the time of the
watchdog.

Needs:   a launch that is a run of its own, of an elastic program.
Gives:   the launch without those words, and the commands that follow its start; none where nothing is gained.
Source:  ours; Onyx JSSC V-C for what queues descriptors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..compiler.ir.program import STATIC, Program
from ..compiler.ir.transfer import WORD_BYTES
from ..hw.arch.cgra import Arch
from ..hw.arch.glb import LANES, LINE_BYTES
from .batches import WATCHDOG_CYCLES
from .commands import Command, WriteMemory, WriteRegister
from .plan import Launch
from .registers import LISTED, queued

# A descriptor that is queued is so many registers.
REGISTERS = 3


@dataclass(frozen=True)
class _Stream:
    """What a GLB tile loads: where its words come to, the registers of its descriptor, and whether it has to be whole."""

    write: WriteMemory
    registers: Mapping[str, int]
    whole: bool

    @property
    def words(self) -> int:
        return int(self.write.words.size)

    @property
    def lines(self) -> int:
        return -(-self.words // LANES)


def in_two(launch: Launch, program: Program, arch: Arch, whole: Collection[str], meanwhile: int = 0
           ) -> tuple[Launch, tuple[Command, ...]]:
    """A launch that begins with a portion of its words, and what follows its start. whole: load streams that have to be in it.
    meanwhile: lines that come before the machine can begin."""
    if not arch.glb.queue or program.mode == STATIC or launch.joins or launch.goes_on:
        return launch, ()
    streams = _streams(launch, program, arch, whole)
    share = _share([*streams.values()], meanwhile) if streams else 1.0
    counts = {tile: each.words if each.whole else min(each.words, max(1, round(each.lines * share)) * LANES)
              for tile, each in streams.items()}
    rest = {tile: each for tile, each in streams.items() if counts[tile] < each.words}
    # What is queued takes its registers, which come in the cycles that lines come in.
    if sum(each.lines - counts[tile] // LANES for tile, each in rest.items()) <= REGISTERS * len(rest):
        return launch, ()
    first = sorted(streams, key=lambda tile: not streams[tile].whole)
    loads = tuple(_part(streams[tile].write, 0, counts[tile]) for tile in first)
    starts = tuple(_begun(launch.starts, {tile: counts[tile] for tile in rest}))
    follows = (*(_part(each.write, counts[tile], each.words) for tile, each in rest.items()),
               *queued([again for tile, each in rest.items() for again in _second(tile, each, counts[tile])]),
               WriteRegister("hold", 0))
    return replace(launch, loads=loads, starts=starts), follows


def configuring(prepares: Iterable[Command], arch: Arch) -> int:
    """Cycles, at most, in which configuration words stream that are in the global buffer: a packed line takes one for each of
    its bytes and one for itself."""
    lines = max((each.words.size // LANES for each in prepares if isinstance(each, WriteMemory)), default=0)
    return lines * (LINE_BYTES + 1 if arch.glb.packed else 1)


def _streams(launch: Launch, program: Program, arch: Arch, whole: Collection[str]) -> dict[int, _Stream]:
    """The streams of a launch, by GLB tile; nothing where words of one come as more than that."""
    tiles = {each.column // arch.glb.columns_per_tile: each.name for each in program.loads}
    registers: dict[int, dict[str, int]] = {tile: {} for tile in tiles}
    for each in launch.starts:
        if isinstance(each, WriteRegister) and each.glb_tile in registers and each.name.startswith("load_"):
            registers[each.glb_tile][each.name] = each.value
    found: dict[int, _Stream] = {}
    for each in launch.loads:
        tile = each.address // arch.glb.tile_bytes if isinstance(each, WriteMemory) else None
        if not isinstance(each, WriteMemory) or tile is None or tile in found or tile not in tiles:
            return {}
        found[tile] = _Stream(each, registers[tile], tiles[tile] in whole or not _in_order(each, registers[tile], arch))
    return found


def _in_order(write: WriteMemory, registers: Mapping[str, int], arch: Arch) -> bool:
    """Whether a descriptor reads words as they are written, each once; words of a list say where others are."""
    if registers["load_control"] & LISTED:
        return False
    once = (write.words.size - 1, WORD_BYTES, write.address % arch.glb.tile_bytes)
    return (registers["load_extent0"], registers["load_stride0"], registers["load_start"]) == once and not \
        any(registers.get(f"load_extent{level}", 0) for level in range(1, arch.glb.load_loops))


def _share(streams: Sequence[_Stream], meanwhile: int) -> float:
    """Of the words that need not be whole, how many are in the first portion: the rest, and its registers, come in as many
    cycles as the array takes for what has to be whole, and then for these, a word of each stream a cycle."""
    whole, others = [each for each in streams if each.whole], [each for each in streams if not each.whole]
    lines = sum(each.lines for each in others)
    if not lines:
        return 1.0
    lead, longest = max((each.words for each in whole), default=0), max(each.words for each in others)
    come = (meanwhile - sum(each.lines for each in whole)) / lines
    least = 1 - WATCHDOG_CYCLES / 2 / lines
    return min(1.0, max(0.0, come, least, (lines + REGISTERS * len(others) - lead) / (lines + longest)))


def _part(write: WriteMemory, first: int, last: int) -> WriteMemory:
    """Some words of those that are written."""
    return WriteMemory(write.address + WORD_BYTES * first, write.words.reshape(-1)[first:last])


def _begun(starts: Iterable[Command], counts: Mapping[int, int]) -> Iterator[Command]:
    """The registers of a launch whose streams end with so many words, where they are not all."""
    for each in starts:
        match each:
            case WriteRegister("load_extent0", _, int(tile)) if tile in counts:
                yield replace(each, value=counts[tile] - 1)
            case WriteRegister("hold"):
                yield replace(each, value=1)
            case _:
                yield each


def _second(tile: int, each: _Stream, first: int) -> Iterator[WriteRegister]:
    """The registers of the other words; those of loops stay."""
    yield WriteRegister("load_control", each.registers["load_control"], tile)
    yield WriteRegister("load_start", each.registers["load_start"] + WORD_BYTES * first, tile)
    yield WriteRegister("load_extent0", each.words - first - 1, tile)
