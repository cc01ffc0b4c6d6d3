"""From a program and its data to commands: which words go where, which registers say so, what is read back.

A transaction is one unit of work: words for every load stream in, words from every store stream out. They are laid one behind
the other in their banks and computed in one launch, as many as fit ("tile pipelining", IEEE Micro). Those of an elastic program
say their lengths themselves and are one run. A static program knows the cycles of one transaction: each is a run, for which
every DMA takes an iteration of its outermost loop, and the controller starts one behind the other by itself, with a flush
between them so that every schedule begins anew.

    prepare                  WriteRegister load_control 0, store_control 0, ...; WriteMemory, WriteRegister config_start ... for
                             the words of every configuration DMA; Start(configure), Wait; without such DMAs Configure
    launches, each           loads    WriteMemory for every load
                             starts   WriteRegister ... for every load and store; WriteRegister runs, watchdog_limit ...; Start
                             ends     Wait; Count for every elastic store
                             reads    Read for every store

Work of more than one launch takes the halves of the banks in turn, so that the words of the next launch are written, and those
of the one before are read, while one computes.

Transactions are in a launch by the room of words that are arranged, one behind the other. Where a stream is of windows of an
image, what comes is the box of them, as it lies there, unless that costs more or is no loops (`data/window.py`). Tiles of two
rows are not: a launch ends with the last row of tiles that it has whole, if that is most of it or takes some time. What tiles
give of an image is stored as it lies there, too, where it is a box (`data/result.py`).

Needs:   Program, Arch, transactions; nothing is asked of a device.
Gives:   commands, launch by launch, as transactions come: only those of one launch are held.
Errors:  UserError for a stream that does not fit its place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, islice

import numpy as np

from ..compiler.backend.encode import contents
from ..compiler.backend.image import image
from ..compiler.dense.map.affine import recurrence
from ..compiler.ir.program import STATIC, Program
from ..compiler.ir.transfer import WORD_BYTES, Transfer, check_room, placed
from ..hw.arch.cgra import Arch
from ..hw.arch.errors import UserError
from ..hw.arch.glb import LANES, Glb
from ..hw.arch.mask import Mask
from ..hw.arch.soc import LOAD_ENDED, MOVED_WINDOW, STORE_ENDED, Register, glb_registers, named
from .commands import Command, Configure, Count, Landing, Read, Start, Wait, WriteMemory, WriteRegister
from .data.images import images
from .data.load_loops import Loop, Reads, in_order
from .data.result import Part, Writes, beside, landed
from .data.stack import Stack, stacked
from .data.tile import Source, Tile
from .data.window import Window, boxed, in_step

# Without any movement for so long a run is stuck: the longest wait of a correct program is that for a level to be
# filled by the load DMA of a busy GLB tile, far below it.
WATCHDOG_CYCLES = 20_000
# No launch is allowed more cycles, whatever was estimated: hours of simulation.
LAUNCH_LIMIT = 50_000 * MOVED_WINDOW
# Cycles that a word of an operand may take in every combination with words of the others: a token passes in one, and a
# combination shows as a few tokens at each level.
CYCLES_PER_WORD = 16
# A launch of so many cycles is worth it if nobody arranges words for it: between two pass some hundred (docs/soc.md).
LONG = 4096
# Cycles that a configuration may take besides those of its words and of a column's channel.
CONFIG_CYCLES = 100

# Words of every load stream: of an elastic program as they are, of a static one with the loops that read them, or in an image.
# A `Tile` says of store streams, too, where they belong.
Transaction = Mapping[str, np.ndarray | Source]


@dataclass(frozen=True, eq=False)
class Launch:
    """One start of the machine.

    Parameters
    ----------
    loads, starts, ends, reads : tuple      Commands, see above.
    transactions : int     How many it computes.
    loaded : int           16-bit words that its load streams bring.
    lying, arranged : int  16-bit words that come into the global buffer: as they lie in images, and in an order that was made.
    landed : mapping       Of store streams whose words are read as parts of an image: those of every transaction.
    placed, tiled : int    16-bit words of a static program that are read: as they lie in images, and tile by tile.
    apart : bool           Its words have other places than those of the launch before: `loads` may be done while that computes.
    """

    loads: tuple[Command, ...]
    starts: tuple[Command, ...]
    ends: tuple[Command, ...]
    reads: tuple[Command, ...]
    transactions: int
    loaded: int
    lying: int
    arranged: int
    landed: Mapping[str, tuple[np.ndarray, ...]]
    placed: int
    tiled: int
    apart: bool

    @property
    def commands(self) -> tuple[Command, ...]:
        """All, from the first word written to the last word read."""
        return self.loads + self.starts + self.ends + self.reads



@dataclass(frozen=True)
class _Work:
    """A transaction: what its load streams read, the room that each stream takes, the most cycles it may take, and of which
    parts of images its store streams are."""

    reads: Mapping[str, Source]
    room: Mapping[str, int]
    most: int
    parts: Mapping[str, Part]


@dataclass(frozen=True)
class _Batch:
    """What a launch computes, and where: the whole banks (None), or one of their halves."""

    works: tuple[_Work, ...]
    half: int | None


def prepare(program: Program, arch: Arch, configurable: bool = True) -> Iterator[Command]:
    """Configure a machine, and disable every stream and chain that an earlier run may have left on.

    configurable: the machine has its configuration network; a folded one needs only the contents of its memories.

    Raises UserError for a program that uses what the machine's description says to avoid, as it was compiled for another one,
    and for streams that are not where the machine has them, whose loads would count on other chains of GLB tiles than it has.
    """
    check_avoided(program, arch)
    if not placed(program.transfers, arch):
        raise UserError("a stream of the program has another place in the global buffer than there is for it",
                        f"machine '{arch.name}'", "compile the program for this description")
    for tile in range(arch.glb_tiles):
        for name in ("load_control", "store_control"):
            yield WriteRegister(name, 0, tile)
    if arch.glb.ring > 1:
        yield from _chains(program, arch)
    writes = image(program, arch) if configurable else contents(program)
    if not arch.glb.configuration_dma:
        yield Configure(tuple(writes))
        return
    for each in images(writes, arch):
        yield from streamed(each, arch)


def avoided(program: Program, arch: Arch) -> Mask:
    """What a program uses of that which a machine's description says to avoid."""
    banks = {each.column // arch.glb.columns_per_tile + tile for each in program.transfers for tile in range(each.tiles)}
    return Mask(tuple(program.config.keys() & set(arch.avoid.tiles)), tuple(banks & set(arch.avoid.glb)))


def check_avoided(program: Program, arch: Arch) -> None:
    """UserError for a program in tiles that are to be avoided."""
    if taken := avoided(program, arch):
        raise UserError(f"the program uses {taken.text()}, to be avoided there", f"machine '{arch.name}'",
                        "compile it for this description, with its `avoid`")


def _chains(program: Program, arch: Arch) -> Iterator[Command]:
    """The chains of GLB tiles in which a program has its streams."""
    control, found = named(glb_registers(arch.glb))["ring_control"], dict.fromkeys(range(arch.glb_tiles), 0)
    for each in program.transfers:
        first, *others = (each.column // arch.glb.columns_per_tile + tile for tile in range(each.tiles))
        found |= {first: control.word(hops=each.tiles - 1), **dict.fromkeys(others, control.word(connected=1))}
    yield from (WriteRegister("ring_control", word, tile) for tile, word in found.items())


def streamed(given: Mapping[int, np.ndarray], arch: Arch) -> Iterator[Command]:
    """A round of configuration words (`images`) into memory, from where the configuration DMAs stream them."""
    return streaming({tile: (len(lines), [WriteMemory(tile * arch.glb.tile_bytes, lines.view("<u2"))])
                      for tile, lines in given.items()}, arch)


def streaming(given: Mapping[int, tuple[int, Sequence[Command]]], arch: Arch) -> Iterator[Command]:
    """A round of configuration words: of each GLB tile how many, and the commands that bring them to its first byte."""
    control = named(glb_registers(arch.glb))["config_control"]
    for tile in range(arch.glb_tiles):
        yield WriteRegister("config_control", control.word(enable=int(tile in given)), tile)
    for tile, (count, brings) in given.items():
        yield from brings
        yield WriteRegister("config_start", 0, tile)
        yield WriteRegister("config_words", count, tile)
    yield from _interrupts()
    yield Start(configure=True)
    yield Wait(max(count for count, _ in given.values()) + arch.rows + CONFIG_CYCLES, configure=True)


def launches(program: Program, arch: Arch, transactions: Iterable[Transaction],
             bounds: Mapping[str, int] | None = None, single: bool = False) -> Iterator[Launch]:
    """The launches that compute transactions, in order.

    bounds: most 16-bit words that a transaction of an elastic store stream can give, by name; default: what level buffers hold.
    single: each transaction is a launch of its own.
    """
    most = {each.name: (bounds or {}).get(each.name, each.sections * (arch.mem.level_words + 1)) for each in program.stores}
    static = program.mode == STATIC
    works = (_static(program, each) if static else _elastic(program, each, most) for each in transactions)
    before: int | None = None
    pictures: dict[str, np.ndarray] = {}      # what store streams give
    batches = (_Batch((work,), None) for work in works) if single else _batches(program, arch.glb, works)
    for batch in batches:
        place = _Place(arch.glb, batch.half)
        reads = {each.name: _in_turn([work.reads[each.name] for work in batch.works], arch.glb, static, place.room(each))
                 for each in program.loads}
        count, cycles = len(batch.works), sum(work.most for work in batch.works)
        sliced = static and count > 1
        writes = {each.name: _stored(each, batch.works, place, sliced) for each in program.stores if static}
        starts = chain(_load_registers(program, place, reads, sliced), _store_registers(program, place, writes, count, sliced),
                       _run(count if static else 1, cycles))
        loads = tuple(chain.from_iterable(_brought(place.address(each), reads[each.name]) for each in program.loads))
        lying = sum(each.words.size for each in loads if each.box is not None)
        for name, each in writes.items():
            if each.box is not None:
                pictures.setdefault(name, np.zeros(each.box.whole, np.uint16))
        gives = tuple(_reads(program, place, writes, pictures, count))
        placed = sum(each.words or 0 for each in gives if each.landing)
        yield Launch(loads, tuple(starts), tuple(_ends(program, place, cycles)), gives, count,
                     # Loops may read a word that is held once several times.
                     sum(each.count for each in reads.values()), lying, sum(each.words.size for each in loads) - lying,
                     {each.stream: tuple(work.parts[each.stream].of(pictures[each.stream]) for work in batch.works)
                      for each in gives if each.landing},
                     placed, sum(each.words or 0 for each in gives) - placed,
                     None not in (before, batch.half) and before != batch.half)
        before = batch.half


def _batches(program: Program, glb: Glb, works: Iterator[_Work]) -> Iterator[_Batch]:
    """As many transactions at once as have room: all in whole banks, or as many as fit in the halves of the banks in turn."""
    whole = {each.name: each.room for each in program.transfers}
    halves = {each.name: _Place(glb, 0).room(each) for each in program.transfers}
    ahead: deque[_Work] = deque()
    taken = _taken(program, glb, ahead, works, whole)
    if not ahead and (not taken or _in_step(taken, whole, glb.store_loops) == len(taken)):
        yield from [_Batch(taken, None)] * bool(taken)
        return
    ahead.extendleft(reversed(taken))
    half = 0
    while ahead:
        if taken := _taken(program, glb, ahead, works, halves):
            count = _in_step(taken, halves, glb.store_loops)
            ahead.extendleft(reversed(taken[count:]))
            yield _Batch(taken[:count], half)
            half = 1 - half
        else:
            yield _Batch(_taken(program, glb, ahead, works, whole), None)


def _taken(program: Program, glb: Glb, ahead: deque[_Work], works: Iterator[_Work],
           room: Mapping[str, int]) -> tuple[_Work, ...]:
    """The first transactions, as many as have room together; then the next one is `ahead`, unless there is none."""
    taken: list[_Work] = []
    used = dict.fromkeys(room, 0)
    while True:
        if not ahead:
            ahead.extend(islice(works, 1))
        if not ahead:
            break
        used = {name: words + ahead[0].room[name] for name, words in used.items()}
        if any(used[name] > room[name] for name in room) or (taken and not _follows(program, glb, taken, ahead[0])):
            break
        taken.append(ahead.popleft())
    return tuple(taken)


def _in_step(taken: Sequence[_Work], room: Mapping[str, int], loops: int) -> int:
    """How many of the first transactions are a launch of their own, so that they come and go as boxes: all of a row of tiles,
    if that is most of them or takes long. Else as many as there are. loops: those of the store DMA."""
    cycles = max(each.count for each in taken[0].reads.values())
    least = min(len(taken) // 2 + 1, -(-LONG // cycles))
    most = [next((count for count in range(_longest(streams), least - 1, -1) if _box(streams[:count], room[name])), None)
            for name, streams in ((name, [each.reads[name] for each in taken]) for name in taken[0].reads)]
    most += [next((count for count in range(beside(parts), least - 1, -1)
                   if landed(parts[:count], loops - (count > 1), room[name])), None)
             for name, parts in ((name, [each.parts[name] for each in taken]) for name in taken[0].parts)]
    # Streams that never come so, as patterns are, have no say.
    return min((count for count in most if count), default=len(taken))


def _longest(streams: Sequence[Source]) -> int:
    """The most streams, from the first one on, that may come as a box."""
    windows, stacks = _alike(streams)
    return in_step(windows) if windows else len(stacks)


def _box(streams: Sequence[Source], room: int) -> tuple[Reads, int] | None:
    """What reads the first of some streams out of the box of all, and words to the next; None unless it comes as it lies."""
    windows, stacks = _alike(streams)
    return boxed(windows, room) if windows else stacked(stacks, room) if stacks else None


def _alike(streams: Sequence[Source]) -> tuple[list[Window], list[Stack]]:
    """Streams, where all are windows or all are stacks."""
    windows = [each for each in streams if isinstance(each, Window)]
    stacks = [each for each in streams if isinstance(each, Stack)]
    whole = len(streams)
    return windows if len(windows) == whole else [], stacks if len(stacks) == whole else []


def _brought(address: int, reads: Reads) -> Iterator[WriteMemory]:
    """The words of a stream, from a byte address on."""
    for words, box in reads.pieces:
        yield WriteMemory(address, words, box)
        address += WORD_BYTES * words.size


def _follows(program: Program, glb: Glb, taken: Sequence[_Work], work: _Work) -> bool:
    """Whether a transaction may be in a launch with others: those of a static program are walked by one more loop, and end well
    before the limit of a launch, also where few words are read often."""
    if program.mode != STATIC:
        return True
    first = taken[0]
    cycles = max([each.count for each in first.reads.values()] + [each.count for each in program.stores])
    if (len(taken) + 1) * (cycles + WATCHDOG_CYCLES) > LAUNCH_LIMIT:
        return False
    loads = all(one.size == other.size and one.loops == other.loops and len(one.loops) < glb.load_loops
                for one, other in zip(first.reads.values(), work.reads.values(), strict=True))
    return loads and all(len(each.loops) < glb.store_loops for each in program.stores)


def _elastic(program: Program, transaction: Transaction, most: Mapping[str, int]) -> _Work:
    """A transaction of an elastic program; UserError for a stream that does not fit."""
    room = {each.name: len(_block(transaction, each.name)) for each in program.loads} | dict(most)
    for each in program.transfers:
        check_room(f"a block of stream {each.name} takes {room[each.name]} words", room[each.name], each)
    reads = {each.name: in_order(_block(transaction, each.name)) for each in program.loads}
    return _Work(reads, room, most_cycles(program, transaction), {})


def most_cycles(program: Program, transaction: Transaction) -> int:
    """A bound of the cycles that a transaction of an elastic program may take, far above those of any correct one.

    What happens for an element of the iteration space is bounded by a constant, and that space is no larger than the product
    of the operands' words: every index belongs to some operand, and a dense level has as many values as it counts.
    """
    operands = sum(each.sections == 1 for each in program.loads)
    return CYCLES_PER_WORD * sum(1 + len(_block(transaction, each.name)) for each in program.loads) ** operands


def _block(transaction: Transaction, name: str) -> np.ndarray:
    found = transaction[name]
    assert isinstance(found, np.ndarray), "blocks are read as they are"
    return found


def loops_of_transactions(glb: Glb) -> int:
    """Loops that a transaction of a static program may take: the outermost one is for those of a launch."""
    return max(1, glb.load_loops - 1)


def _static(program: Program, transaction: Transaction) -> _Work:
    """A transaction of a static program; UserError for a stream that does not fit."""
    reads: dict[str, Source] = {}
    for each in program.loads:
        found = transaction[each.name]
        assert not isinstance(found, np.ndarray), "a static stream comes with the loops that read it"
        assert found.count == each.count, f"stream {each.name} reads {found.count} words, the program takes {each.count}"
        check_room(f"stream {each.name} takes {found.size} words a tile", found.size, each)
        reads[each.name] = found
    for each in program.stores:
        check_room(f"stream {each.name} takes {each.count} words a tile", each.count, each)
    room = {name: each.size for name, each in reads.items()} | {each.name: each.count for each in program.stores}
    # Its loops end, and the watchdog sees when nothing comes any more.
    return _Work(reads, room, LAUNCH_LIMIT, transaction.results if isinstance(transaction, Tile) else {})


def _in_turn(streams: Sequence[Source], glb: Glb, static: bool, room: int) -> Reads:
    """The words of several transactions: the box of their windows, or one behind the other; static ones are walked by one more
    loop, the outermost one."""
    if found := _box(streams, room):
        first, step = found
    else:
        reads = [each.apart for each in streams]
        held = np.concatenate([words for each in reads for words, _ in each.pieces])
        if not static:
            return in_order(held)
        first, step = Reads(held, reads[0].loops), reads[0].size
    return first if len(streams) == 1 else replace(first, loops=_outermost(first.loops, glb.load_loops, len(streams), step))


def _stored(each: Transfer, works: Sequence[_Work], place: _Place, sliced: bool) -> Writes:
    """How a static stream of several transactions is stored: as it lies in its image, or one behind the other."""
    parts = [work.parts[each.name] for work in works if each.name in work.parts]
    found = landed(parts, place.glb.store_loops - sliced, place.room(each)) if parts else None
    return found or Writes(each.loops, each.count)


def _outermost(loops: Sequence[Loop], levels: int, count: int, stride: int) -> tuple[Loop, ...]:
    """Loops with one more in the outermost one of `levels`; those that are left over turn once."""
    return (*loops, *[(1, 0)] * (levels - 1 - len(loops)), (count, stride))


@dataclass(frozen=True)
class _Place:
    """Where the streams of a launch are: in whole banks (None), or in one of their halves."""

    glb: Glb
    half: int | None

    def room(self, each: Transfer) -> int:
        """16-bit words that a stream may take; a half begins at a line, as all that the host writes does."""
        return each.room if self.half is None else each.room // 2 // LANES * LANES

    def start(self, each: Transfer) -> int:
        """The first byte of a stream in its GLB tile."""
        return each.bank * self.glb.bank_bytes + each.address + (WORD_BYTES * self.room(each) if self.half else 0)

    def tile(self, each: Transfer) -> int:
        """Its GLB tile."""
        return each.column // self.glb.columns_per_tile

    def column(self, each: Transfer) -> int:
        """Which of the columns of its GLB tile."""
        return each.column % self.glb.columns_per_tile

    def address(self, each: Transfer) -> int:
        """The first byte of a stream in the global buffer."""
        return self.tile(each) * self.glb.tile_bytes + self.start(each)


@cache
def _control(glb: Glb, name: str) -> Register:
    """A register of the GLB tiles; kept, as making and checking them all took most of the time of a plan."""
    return named(glb_registers(glb))[name]


def _load_registers(program: Program, place: _Place, reads: Mapping[str, Reads], sliced: bool) -> Iterator[Command]:
    """The registers of the load streams."""
    control = _control(place.glb, "load_control")
    for each in program.loads:
        tile = place.tile(each)
        yield WriteRegister("load_control", control.word(enable=1, sliced=int(sliced), column=place.column(each)), tile)
        yield WriteRegister("load_start", place.start(each) + WORD_BYTES * reads[each.name].first, tile)
        yield from _loops("load", reads[each.name].loops, place.glb.load_loops, tile)


def _store_registers(program: Program, place: _Place, writes: Mapping[str, Writes], transactions: int,
                     sliced: bool) -> Iterator[Command]:
    """The registers of the store streams."""
    control = _control(place.glb, "store_control")
    for each in program.stores:
        tile, static = place.tile(each), int(bool(each.loops))
        yield WriteRegister("store_control",
                            control.word(enable=1, static=static, sliced=int(sliced), column=place.column(each)), tile)
        first = writes[each.name].first if static else 0
        yield WriteRegister("store_start", place.start(each) + WORD_BYTES * first, tile)
        if each.loops:
            levels, how = place.glb.store_loops, writes[each.name]
            loops = _outermost(how.loops, levels, transactions, how.step) if sliced else how.loops
            yield WriteRegister("store_limit", each.count * transactions, tile)
            yield from _loops("store", loops, levels, tile)
        else:
            yield WriteRegister("store_limit", place.room(each), tile)
            yield WriteRegister("store_sections", each.sections * transactions, tile)


def _loops(unit: str, loops: Sequence[Loop], levels: int, tile: int) -> Iterator[Command]:
    """The loop registers of a DMA; loops that are left over turn once."""
    extents, strides = zip(*loops, strict=True)
    for level, (extent, delta) in enumerate(zip(extents, recurrence(extents, strides), strict=True)):
        yield WriteRegister(f"{unit}_extent{level}", extent - 1, tile)
        yield WriteRegister(f"{unit}_stride{level}", WORD_BYTES * delta, tile)
    for level in range(len(extents), levels):
        yield WriteRegister(f"{unit}_extent{level}", 0, tile)


def _run(runs: int, most: int) -> Iterator[Command]:
    """Start all runs; most: cycles after which they are stopped, beside those of filling and draining."""
    yield WriteRegister("runs", runs - 1)
    yield WriteRegister("cycle_limit", _limit(most))
    yield WriteRegister("watchdog_limit", WATCHDOG_CYCLES)
    yield from _interrupts()
    yield Start()


def _limit(most: int) -> int:
    """The limit of cycles of work that takes at most so many, beside filling and draining."""
    return min(LAUNCH_LIMIT, -(-(most + WATCHDOG_CYCLES) // MOVED_WINDOW) * MOVED_WINDOW)


def _interrupts() -> Iterator[Command]:
    """Forget the events of before, and enable all but those of single loads and stores."""
    yield WriteRegister("irq_status", 0xFFFFFFFF)
    yield WriteRegister("irq_enable", 0xFFFFFFFF & ~(1 << LOAD_ENDED | 1 << STORE_ENDED))


def _ends(program: Program, place: _Place, most: int) -> Iterator[Command]:
    """Wait for the end, and ask what was stored."""
    yield Wait(_limit(most) + WATCHDOG_CYCLES)
    yield from (Count(each.name, place.tile(each)) for each in program.stores if not each.loops)


def _reads(program: Program, place: _Place, writes: Mapping[str, Writes], pictures: Mapping[str, np.ndarray],
           transactions: int) -> Iterator[Read]:
    """What the store streams gave."""
    for each in program.stores:
        how = writes.get(each.name)
        landing = Landing(pictures[each.name], how.box.corner, how.box.shape, how.pitch) if how and how.box else None
        words = landing.words if landing is not None else each.count * transactions if each.loops else None
        yield Read(each.name, place.address(each), words, landing)
