"""From a program and its data to commands: which words go where, which registers say so, what is read back.

A transaction is one unit of work: words for every load stream in, words from every store stream out. They are laid one behind
the other in their banks and computed in one launch, as many as fit ("tile pipelining", IEEE Micro). Those of an elastic program
say their lengths themselves and are one run. A static program knows the cycles of one transaction: each is a run, for which
every DMA takes an iteration of its outermost loop, and the controller starts one behind the other by itself, with a flush
between them so that every schedule begins anew.

    prepare                  WriteRegister load_control 0, store_control 0, ...; WriteMemory, WriteRegister config_start ... for
                             the words of every configuration DMA; Start(configure), Wait; without such DMAs Configure
    launches, each           WriteMemory, WriteRegister ... for every load; WriteRegister ... for every store;
                             WriteRegister runs, watchdog_limit ...; Start; Wait; Read for every store

Needs:   Program, Arch, transactions; nothing is asked of a device.
Gives:   commands, launch by launch, as transactions come: only those of one launch are held.
Errors:  UserError for a stream that does not fit its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ..compiler.backend.encode import contents
from ..compiler.backend.image import image
from ..compiler.dense.map.affine import recurrence
from ..compiler.ir.program import STATIC, Program
from ..compiler.ir.transfer import WORD_BYTES, Transfer
from ..hw.arch.cgra import Arch
from ..hw.arch.errors import UserError
from ..hw.arch.glb import Glb
from ..hw.arch.soc import MOVED_WINDOW, glb_registers, named
from .commands import Command, Configure, Read, Start, Wait, WriteMemory, WriteRegister
from .data.images import images
from .data.load_loops import Loop, Reads, in_order

# Without any movement for so long a run is stuck: the longest wait of a correct program is that for a level to be
# filled by the load DMA of a busy GLB tile, far below it.
WATCHDOG_CYCLES = 20_000
# No launch is allowed more cycles, whatever was estimated: hours of simulation.
LAUNCH_LIMIT = 50_000 * MOVED_WINDOW
# Cycles that a word of an operand may take in every combination with words of the others: a token passes in one, and a
# combination shows as a few tokens at each level.
CYCLES_PER_WORD = 16
# Cycles that a configuration may take besides those of its words and of a column's channel.
CONFIG_CYCLES = 100

# Words of every load stream: of an elastic program as they are, of a static one with the loops that read them.
Transaction = Mapping[str, np.ndarray | Reads]


@dataclass(frozen=True)
class Launch:
    """One run of the machine.

    Parameters
    ----------
    commands : tuple       From the first word written to the last word read.
    transactions : int     How many it computes.
    loaded : int           16-bit words that its load streams bring.
    """

    commands: tuple[Command, ...]
    transactions: int
    loaded: int


@dataclass(frozen=True)
class _Batch:
    """What the load streams of a launch read, how many transactions that is, and the most cycles they may take."""

    reads: Mapping[str, Reads]
    transactions: int
    most: int


def prepare(program: Program, arch: Arch, configurable: bool = True) -> Iterator[Command]:
    """Configure a machine, and disable every stream that an earlier run may have left on.

    configurable: the machine has its configuration network; a folded one needs only the contents of its memories.
    """
    for tile in range(arch.glb_tiles):
        for name in ("load_control", "store_control"):
            yield WriteRegister(name, 0, tile)
    writes = image(program, arch) if configurable else contents(program)
    if not arch.glb.configuration_dma:
        yield Configure(tuple(writes))
        return
    for each in images(writes, arch):
        yield from streamed(each, arch)


def streamed(given: Mapping[int, np.ndarray], arch: Arch) -> Iterator[Command]:
    """A round of configuration words (`images`) into memory, from where the configuration DMAs stream them."""
    control = named(glb_registers(arch.glb))["config_control"]
    for tile in range(arch.glb_tiles):
        yield WriteRegister("config_control", control.word(enable=int(tile in given)), tile)
    for tile, lines in given.items():
        yield WriteMemory(tile * arch.glb.tile_bytes, lines.view("<u2"))
        yield WriteRegister("config_start", 0, tile)
        yield WriteRegister("config_words", len(lines), tile)
    yield from _interrupts()
    yield Start(configure=True)
    yield Wait(max(map(len, given.values())) + arch.rows + CONFIG_CYCLES, configure=True)


def launches(program: Program, arch: Arch, transactions: Iterable[Transaction],
             bounds: Mapping[str, int] | None = None) -> Iterator[Launch]:
    """The launches that compute transactions, in order.

    bounds: most 16-bit words that a transaction of an elastic store stream can give, by name; default: what level buffers hold.
    """
    batches: Iterator[_Batch]
    if program.mode == STATIC:
        batches = _chained(program, arch.glb, transactions)
    else:
        half = arch.mem.level_words
        most = {each.name: (bounds or {}).get(each.name, each.sections * (half + 1)) for each in program.stores}
        batches = _together(program, transactions, most)
    for batch in batches:
        commands = chain(_loads(program, arch, batch), _stores(program, arch, batch.transactions),
                         _run(batch.transactions if program.mode == STATIC else 1, batch.most),
                         _reads(program, arch, batch.transactions))
        # Loops may read a word that is held once several times.
        loaded = sum(each.count for each in batch.reads.values())
        yield Launch(tuple(commands), batch.transactions, loaded)


def _together(program: Program, transactions: Iterable[Transaction], most: Mapping[str, int]) -> Iterator[_Batch]:
    """As many transactions at once as every stream has room for."""
    room = {each.name: each.room for each in program.transfers}
    batch: list[Transaction] = []
    used = dict.fromkeys(room, 0)

    def joined() -> _Batch:
        return _Batch({each.name: in_order(np.concatenate([_block(blocks, each.name) for blocks in batch]))
                       for each in program.loads}, len(batch), most_cycles(program, batch))

    for blocks in transactions:
        need = {each.name: len(_block(blocks, each.name)) for each in program.loads} | dict(most)
        for name, count in need.items():
            _check(f"a block of stream {name} takes {count} words", count, room[name])
        if batch and any(used[name] + count > room[name] for name, count in need.items()):
            yield joined()
            batch, used = [], dict.fromkeys(room, 0)
        batch.append(blocks)
        for name, count in need.items():
            used[name] += count
    if batch:
        yield joined()


def most_cycles(program: Program, batch: Sequence[Transaction]) -> int:
    """A bound of the cycles that transactions of an elastic program may take, far above those of any correct one.

    What happens for an element of the iteration space is bounded by a constant, and that space is no larger than the product
    of the operands' words: every index belongs to some operand, and a dense level has as many values as it counts.
    """
    operands = sum(each.sections == 1 for each in program.loads)
    return sum(CYCLES_PER_WORD * sum(1 + len(_block(blocks, each.name)) for each in program.loads) ** operands
               for blocks in batch)


def _block(transaction: Transaction, name: str) -> np.ndarray:
    found = transaction[name]
    assert not isinstance(found, Reads), "blocks are read as they are"
    return found


def loops_of_transactions(glb: Glb) -> int:
    """Loops that a transaction of a static program may take: the outermost one is for those of a launch."""
    return max(1, glb.load_loops - 1)


def _chained(program: Program, glb: Glb, transactions: Iterable[Transaction]) -> Iterator[_Batch]:
    """Transactions of a static program: as many at once as every stream has room for, if the same loops walk their words."""
    room = {each.name: each.room for each in program.transfers}
    batch: list[dict[str, Reads]] = []

    def fits(found: Mapping[str, Reads]) -> bool:
        """Whether one more is walked by the outermost loop."""
        count = len(batch) + 1
        loads = all(len(one.held) == len(other.held) and one.loops == other.loops and len(one.loops) < glb.load_loops
                    and count * len(one.held) <= room[name] for (name, one), other in zip(found.items(), batch[0].values()))
        return loads and all(len(each.loops) < glb.store_loops and count * each.count <= each.room for each in program.stores)

    def joined() -> _Batch:
        # Its loops end, and the watchdog sees when nothing comes any more.
        return _Batch({name: _in_turn([each[name] for each in batch], glb.load_loops) for name in batch[0]}, len(batch),
                      LAUNCH_LIMIT)

    for transaction in transactions:
        found = _checked(program, transaction)
        if batch and not fits(found):
            yield joined()
            batch = []
        batch.append(found)
    if batch:
        yield joined()


def _in_turn(reads: Sequence[Reads], levels: int) -> Reads:
    """Streams that the same loops walk, one behind the other, by one more loop, which is the outermost one."""
    first = reads[0]
    if len(reads) == 1:
        return first
    return Reads(np.concatenate([each.held for each in reads]), _outermost(first.loops, levels, len(reads), len(first.held)))


def _outermost(loops: Sequence[Loop], levels: int, count: int, stride: int) -> tuple[Loop, ...]:
    """Loops with one more in the outermost one of `levels`; those that are left over turn once."""
    return (*loops, *[(1, 0)] * (levels - 1 - len(loops)), (count, stride))


def _checked(program: Program, transaction: Transaction) -> dict[str, Reads]:
    """The load streams of a transaction of a static program; UserError for one that does not fit."""
    reads: dict[str, Reads] = {}
    for each in program.loads:
        found = transaction[each.name]
        assert isinstance(found, Reads), "a static stream comes with the loops that read it"
        assert found.count == each.count, f"stream {each.name} reads {found.count} words, the program takes {each.count}"
        _check(f"stream {each.name} takes {len(found.held)} words a tile", len(found.held), each.room)
        reads[each.name] = found
    for each in program.stores:
        _check(f"stream {each.name} takes {each.count} words a tile", each.count, each.room)
    return reads


def _check(what: str, words: int, room: int) -> None:
    if words > room:
        raise UserError(f"{what} but a bank of the global buffer holds {room}", fix="use a smaller tile (--tile or tile=)")


def _loads(program: Program, arch: Arch, batch: _Batch) -> Iterator[Command]:
    """Words into memory, and the registers of the load streams."""
    control = named(glb_registers(arch.glb))["load_control"]
    sliced = int(program.mode == STATIC and batch.transactions > 1)
    for each in program.loads:
        tile, reads = _tile(each, arch.glb), batch.reads[each.name]
        yield WriteMemory(_address(each, arch.glb), reads.held)
        yield WriteRegister("load_control", control.word(enable=1, sliced=sliced, column=_column(each, arch.glb)), tile)
        yield WriteRegister("load_start", _start(each, arch.glb), tile)
        yield from _loops("load", reads.loops, arch.glb.load_loops, tile)


def _stores(program: Program, arch: Arch, transactions: int) -> Iterator[Command]:
    """The registers of the store streams."""
    control = named(glb_registers(arch.glb))["store_control"]
    for each in program.stores:
        tile, static = _tile(each, arch.glb), int(bool(each.loops))
        sliced = int(static and transactions > 1)
        yield WriteRegister("store_control",
                            control.word(enable=1, static=static, sliced=sliced, column=_column(each, arch.glb)), tile)
        if each.loops:
            levels = arch.glb.store_loops
            loops = _outermost(each.loops, levels, transactions, each.count) if sliced else each.loops
            yield WriteRegister("store_start", _start(each, arch.glb), tile)
            yield WriteRegister("store_limit", each.count * transactions, tile)
            yield from _loops("store", loops, levels, tile)
        else:
            yield WriteRegister("store_start", _start(each, arch.glb), tile)
            yield WriteRegister("store_limit", each.room, tile)
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
    """Start, and wait for the end of all runs.

    most: cycles after which they are stopped, beside those of filling and draining.
    """
    limit = min(LAUNCH_LIMIT, -(-(most + WATCHDOG_CYCLES) // MOVED_WINDOW) * MOVED_WINDOW)
    yield WriteRegister("runs", runs - 1)
    yield WriteRegister("cycle_limit", limit)
    yield WriteRegister("watchdog_limit", WATCHDOG_CYCLES)
    yield from _interrupts()
    yield Start()
    yield Wait(limit + WATCHDOG_CYCLES)


def _interrupts() -> Iterator[Command]:
    """Forget the events of before, and enable all."""
    yield WriteRegister("irq_status", 0xFFFFFFFF)
    yield WriteRegister("irq_enable", 0xFFFFFFFF)


def _reads(program: Program, arch: Arch, transactions: int) -> Iterator[Command]:
    """What the store streams gave."""
    for each in program.stores:
        words = each.count * transactions if each.loops else None
        yield Read(each.name, _tile(each, arch.glb), _address(each, arch.glb), words)


def _tile(each: Transfer, glb: Glb) -> int:
    return each.column // glb.columns_per_tile


def _column(each: Transfer, glb: Glb) -> int:
    """Which of the columns of its GLB tile."""
    return each.column % glb.columns_per_tile


def _start(each: Transfer, glb: Glb) -> int:
    """The first byte of a stream in its GLB tile."""
    return each.bank * glb.bank_bytes + each.address


def _address(each: Transfer, glb: Glb) -> int:
    """The first byte of a stream in the global buffer."""
    return _tile(each, glb) * glb.tile_bytes + _start(each, glb)
