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

Work of more than one launch takes halves of the banks in turn, a stream that is alone in its GLB tile those of two banks, so
that the words of the next launch are written, and those of the one before are read, while one computes.

With `Glb.queue` a host that is quick may have launches in one run (`chained`): the array sees no end between them, and the
first tile of a launch follows the last one of another as tiles of a launch do. The registers of the next launch are written
while one computes, and its descriptors are queued; a register holds the run open till the last one. Then launches are as small
as it takes the host to queue one, the first ones smaller, for their words move alone.

    starts    WriteRegister ... for every load and store, their control with `queued` last; runs of static ones; hold 0 with the
              last one
    ends      WaitTaken, Count before ...; of the last one Wait, Count

Transactions are in a launch by the room of words that are arranged, one behind the other. Where a stream is of windows of an
image, what comes is the box of them, as it lies there, unless that has no room or is no loops (`data/window.py`). Tiles of two
rows are not: a launch ends with its row, or column, of tiles (`data/frames.py`). What tiles give of an image is stored as it
lies there, too, where it is a box (`data/result.py`).

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
from ..compiler.ir.mapped import LOAD, STORE
from ..compiler.ir.program import STATIC, Program
from ..compiler.ir.transfer import held_words, placed
from ..hw.arch.cgra import Arch
from ..hw.arch.errors import UserError
from ..hw.arch.glb import Glb
from ..hw.arch.mask import Mask
from ..hw.arch.soc import glb_registers, named
from .batches import (
    Batch,
    Runs,
    batches,
    chained_batches,
    chains,
    pairs,
)
from .commands import Command, Configure, WriteMemory, WriteRegister
from .data.blocks import Bounded
from .data.images import images
from .joined import alike_together, brought, in_turn, numbered_slots, stored
from .pieces import reads as read_back
from .place import Place, everywhere, lone
from .registers import (
    going_on,
    launch_ended,
    load_registers,
    run_ended,
    started,
    store_registers,
)
from .streamed import streamed
from .works import Transaction, elastic_work, kept, static_work


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
    joins : bool           It is in the run of the launch before: `starts` are done while that computes.
    goes_on : bool         The next one is in its run.
    stays : tuple          Commands of launches before it whose words it reads, too.
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
    joins: bool = False
    goes_on: bool = False
    stays: tuple[Command, ...] = ()

    @property
    def commands(self) -> tuple[Command, ...]:
        """All, from the first word written to the last word read."""
        return self.loads + self.starts + self.ends + self.reads


def prepare(program: Program, arch: Arch, configurable: bool = True,
            writes: Sequence[tuple[int, int]] | None = None) -> Iterator[Command]:
    """Configure a machine, and disable every stream and chain that an earlier run may have left on, but for those whose
    registers the launches of the program write anyway.

    configurable: the machine has its configuration network; a folded one needs only the contents of its memories. writes: what
    configures it (`Held.configuration`), where somebody knows what it holds; by default all that decides.

    Raises UserError for a program that uses what the machine's description says to avoid, as it was compiled for another one,
    and for streams that are not where the machine has them, whose loads would count on other chains of GLB tiles than it has.
    """
    check_avoided(program, arch)
    if not placed(program.transfers, arch):
        raise UserError("a stream of the program has another place in the global buffer than there is for it",
                        f"machine '{arch.name}'", "compile the program for this description")
    written = {(each.direction, each.column // arch.glb.columns_per_tile) for each in program.transfers}
    for tile in range(arch.glb_tiles):
        for direction in (LOAD, STORE):
            if (direction, tile) not in written:
                yield WriteRegister(f"{direction}_control", 0, tile)
    if arch.glb.ring > 1:
        yield from _chains(program, arch)
    if not configurable:
        writes = contents(program)
    elif writes is None:
        writes = image(program, arch)
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


def launches(program: Program, arch: Arch, transactions: Iterable[Transaction],
             bounds: Mapping[str, int] | None = None, single: bool = False, chained: bool = False) -> Iterator[Launch]:
    """The launches that compute transactions, in order.

    bounds: most 16-bit words that a transaction of an elastic store stream can give, by name; of blocks with numbers the most
    that one can have, as many times as there are blocks; default: what level buffers hold.
    single: each transaction is a launch of its own. chained: launches are in one run, where that is worth it
    (`batches.chains`): who does their commands needs less time between two than WATCHDOG_CYCLES.
    """
    most = {each.name: (bounds or {}).get(each.name, held_words(each, arch))
            for each in program.stores}
    static = program.mode == STATIC
    chained &= chains(program, arch.glb) and not single
    alone, whole = lone(program, arch.glb), everywhere(program, arch.glb)
    works, lies = kept(static_work(program, each) if static
                       else elastic_work(program, whole, each,
                                         most | dict(each.bounds()) if chained and isinstance(each, Bounded) else most)
                       for each in transactions)
    stays = {name: each.size for name, each in lies.items()}
    there = tuple(WriteMemory(whole.address(each, stays=True), lies[each.name].image, lies[each.name].box)
                  for each in program.loads if each.name in lies)
    before: int | None = None
    pictures: dict[str, np.ndarray] = {}      # what store streams give
    found = ((Batch((work,), None) for work in works) if single else
             chained_batches(program, arch.glb, works, arch.system.processor and arch.system.own_clock, stays) if chained
             else batches(program, arch.glb, works, stays))
    runs, tiles = Runs(chained), 0      # of the run, up to the launch at hand
    begun = False
    for batch, after in pairs(found) if chained else ((each, None) for each in found):
        place = Place(arch.glb, batch.part, batch.parts, alone, stays)
        reads = {each.name: in_turn([work.reads[each.name] for work in batch.works], arch.glb, static, place.room(each),
                                    place.base(each)) for each in program.loads}
        count, cycles = len(batch.works), sum(work.most for work in batch.works)
        joins, goes_on = runs.next(batch, after, cycles)
        # What is queued begins with a run of its own, and so does all that it follows.
        sliced = static and (count > 1 or joins or goes_on)
        tiles = count + tiles * joins
        assert count > 1 or not sliced or all(len(each.loops) < arch.glb.load_loops for each in reads.values()), \
            "the outermost loop is for tiles"
        writes = {each.name: stored(each, batch.works, place, sliced) for each in program.stores if static}
        numbered = {each.name: numbered_slots(each, batch.works) for each in program.stores if each.blocks}
        streams = chain(load_registers(program, place, reads, sliced),
                        store_registers(program, place, writes, count, sliced, numbered))
        starts = (going_on(streams, tiles if static else 1, runs.cycles, goes_on) if joins
                  else chain(streams, started(count if static else 1, runs.cycles, goes_on if arch.glb.queue else None)))
        loads = alike_together(chain.from_iterable(brought(place.address(each), reads[each.name]) for each in program.loads))
        loads, left = (loads, there) if begun else (there + loads, ())
        begun = True
        lying = sum(each.words.size for each in loads if each.box is not None)
        for name, each in writes.items():
            if each.box is not None and (image := each.box.image or name) not in pictures:
                pictures[image] = np.zeros(each.box.whole, np.uint16)
        gives = tuple(read_back(program, place, writes, pictures, count, {name: room for name, (room, _) in numbered.items()}))
        placed = sum(each.words or 0 for each in gives if each.landing)
        ends = (launch_ended if goes_on else run_ended)(program, place, runs.cycles)
        yield Launch(loads, tuple(starts), tuple(ends), gives, count,
                     # Loops may read a word that is held once several times.
                     sum(each.count for each in reads.values()), lying, sum(each.words.size for each in loads) - lying,
                     {each.stream: tuple(work.parts[each.stream].of(each.landing.image) for work in batch.works)
                      for each in gives if each.landing},
                     placed, sum(each.words or 0 for each in gives) - placed,
                     None not in (before, batch.part) and before != batch.part, joins, goes_on, left)
        before = batch.part


def loops_of_transactions(glb: Glb) -> int:
    """Loops that a transaction of a static program may take: the outermost one is for those of a launch."""
    return max(1, glb.load_loops - 1)
