"""Which registers say what a launch does, how one starts or joins the run of another one, and what waits for its end.

Needs:   a program, places of its streams, how they are read and written.
Gives:   commands, in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from ..compiler.dense.map.affine import Loop, recurrence
from ..compiler.ir.program import Program
from ..compiler.ir.transfer import WORD_BYTES
from ..hw.arch.glb import Glb
from ..hw.arch.soc import CONFIGURED, LOAD_ENDED, STORE_ENDED, Register, glb_registers, named
from .batches import WATCHDOG_CYCLES
from .commands import Command, Count, Start, Wait, WaitTaken, WriteRegister
from .data.load_loops import Reads
from .data.lying import Listed
from .data.result import Writes
from .place import Place

# Bits of the register `cycle_limit`.
CYCLE_BITS = 32
# The bit of both control registers.
QUEUED = named(glb_registers(Glb(queue=True)))["load_control"].word(queued=1)
# That of a load of blocks that a list names.
LISTED = named(glb_registers(Glb(listed=True)))["load_control"].word(listed=1)


class Numbered(NamedTuple):
    """Of a store stream whose blocks have numbers: 16-bit words that each may have, and the number of the first of a launch."""

    room: int
    number: int


def outermost(loops: Sequence[Loop], levels: int, count: int, stride: int) -> tuple[Loop, ...]:
    """Loops with one more in the outermost one of `levels`; those that are left over turn once."""
    return (*loops, *[(1, 0)] * (levels - 1 - len(loops)), (count, stride))


@cache
def _control(glb: Glb, name: str) -> Register:
    """A register of the GLB tiles; kept, as making and checking them all took most of the time of a plan."""
    return named(glb_registers(glb))[name]


def load_registers(program: Program, place: Place, reads: Mapping[str, Reads], sliced: bool) -> Iterator[Command]:
    """The registers of the load streams."""
    control = _control(place.glb, "load_control")
    for each in program.loads:
        tile = place.tile(each)
        how = {"listed": 1} if isinstance(reads[each.name], Listed) else {"sliced": int(sliced)}
        yield WriteRegister("load_control", control.word(enable=1, column=place.column(each), **how), tile)
        yield WriteRegister("load_start", place.start(each) + WORD_BYTES * reads[each.name].first, tile)
        yield from _loops("load", reads[each.name].loops, place.glb.load_loops, tile)


def store_registers(program: Program, place: Place, writes: Mapping[str, Writes], transactions: int, sliced: bool,
                    numbered: Mapping[str, Numbered]) -> Iterator[Command]:
    """The registers of the store streams. numbered: of those whose blocks have numbers."""
    control = _control(place.glb, "store_control")
    for each in program.stores:
        tile, static = place.tile(each), int(bool(each.loops))
        yield WriteRegister("store_control",
                            control.word(enable=1, static=static, sliced=int(sliced), column=place.column(each),
                                         **({"numbered": 1} if each.blocks else {})), tile)
        first = writes[each.name].first if static else 0
        yield WriteRegister("store_start", place.start(each) + WORD_BYTES * first, tile)
        if each.loops:
            levels, how = place.glb.store_loops, writes[each.name]
            loops = outermost(how.loops, levels, transactions, how.step) if sliced else how.loops
            yield WriteRegister("store_limit", each.count * transactions, tile)
            yield from _loops("store", loops, levels, tile)
        elif each.blocks:
            yield WriteRegister("store_limit", numbered[each.name].room, tile)
            yield WriteRegister("store_sections", each.sections, tile)
            yield WriteRegister("store_blocks", each.blocks * transactions, tile)
            yield WriteRegister("store_number", numbered[each.name].number, tile)
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


def queued(registers: Iterable[Command]) -> Iterator[Command]:
    """Registers as those of the descriptors that are to be next: control with `queued`, and behind the others."""
    controls = []
    for each in registers:
        assert isinstance(each, WriteRegister)
        if each.name in ("load_control", "store_control"):
            controls.append(replace(each, value=each.value | QUEUED))
        else:
            yield each
    # A block of the next launch may come as soon as its words do: what stores it is there before.
    yield from sorted(controls, key=lambda each: each.name != "store_control")


def queues(command: Command) -> bool:
    """Whether a command queues a descriptor, which may begin at once."""
    return (isinstance(command, WriteRegister) and command.name in ("load_control", "store_control")
            and bool(command.value & QUEUED))


def going_on(registers: Iterable[Command], runs: int, most: int, held: bool) -> Iterator[Command]:
    """Let the run have these as the next descriptors, more runs and cycles, and end if nothing more is to be queued.

    What is queued comes late, with nothing behind it but what says that it may begin: it waits for words.
    """
    # Raised seldom: to the next power of two.
    yield WriteRegister("cycle_limit", min(1 << (most - 1).bit_length(), (1 << CYCLE_BITS) - 1))
    yield from queued(registers)
    yield WriteRegister("runs", runs - 1)
    if not held:
        yield WriteRegister("hold", 0)


def started(runs: int, most: int, held: bool | None = None) -> Iterator[Command]:
    """Start all runs; most: cycles after which they are stopped. held: whether the machine
    holds the run open, None if it cannot."""
    if held is not None:
        yield WriteRegister("hold", int(held))
    yield WriteRegister("runs", runs - 1)
    yield WriteRegister("cycle_limit", most)
    yield WriteRegister("watchdog_limit", WATCHDOG_CYCLES)
    yield from interrupts()
    yield Start()


def interrupts() -> Iterator[Command]:
    """Forget the events of before, and enable all but those of single loads and stores."""
    yield WriteRegister("irq_status", 0xFFFFFFFF)
    yield WriteRegister("irq_enable", 0xFFFFFFFF & ~(1 << LOAD_ENDED | 1 << STORE_ENDED))


def configured_seen() -> Command:
    """Forget that a configuration has ended, and nothing of the run that has begun behind it."""
    return WriteRegister("irq_status", 1 << CONFIGURED)


def run_ended(program: Program, place: Place, most: int) -> Iterator[Command]:
    """Wait for the end, and ask what was stored."""
    yield Wait(most + WATCHDOG_CYCLES)
    yield from (Count(each.name, place.tile(each)) for each in program.stores if not each.loops and not each.blocks)


def launch_ended(program: Program, place: Place, most: int) -> Iterator[Command]:
    """Wait for the end of a launch in a run that goes on, and ask what was stored."""
    loads, stores = ([place.tile(each) for each in streams] for streams in (program.loads, program.stores))
    yield WaitTaken(most + WATCHDOG_CYCLES, tuple(loads), tuple(stores))
    yield from (Count(each.name, place.tile(each), before=True) for each in program.stores
                if not each.loops and not each.blocks)
