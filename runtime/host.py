"""Host side of a run: the commands of a plan on a device, launch by launch."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from ..compiler.ir.program import Program
from ..hw.arch.soc import ASTRAY, CONFIGURED, CONTROLLER, FINISHED, named
from .commands import Command, Configure, Count, Read, Start, Wait, WaitTaken, WriteMemory, WriteRegister
from .data.blocks import Blocks, out_of_slots, split_blocks
from .device import Device, fingerprint
from .faults import explain
from .held import Held
from .order import Phase, beside, ordered
from .plan import Launch, launches, prepare
from .portions import configuring, in_two
from .registers import QUEUED
from .works import Transaction

# Between two looks at what has ended.
POLL_CYCLES = 64


@dataclass(frozen=True)
class Outcome:
    """What a launch gave.

    Parameters
    ----------
    stored : tuple        Per transaction the words of every store stream.
    cycles : int          From start to done.
    loaded : int          16-bit words that the load streams brought.
    lying, arranged       16-bit words written for them, see `Launch`.
    placed, tiled      16-bit words that were read, see `Launch`.
    seconds : float       Spent with the device since the launch before.
    """

    stored: tuple[Blocks, ...]
    cycles: int
    loaded: int
    lying: int
    arranged: int
    placed: int
    tiled: int
    seconds: float


def run(device: Device, program: Program, transactions: Iterable[Transaction], bounds: Mapping[str, int] | None = None,
        configurable: bool = True, overlapped: bool = True, prepared: bool = False,
        single: bool = False, chained: bool = False, held: Held | None = None, early: Collection[str] | None = None
        ) -> Iterator[Outcome]:
    """Configure a device for a program, and run transactions on it in order, launch by launch.

    While a launch computes, the words of the next one are written and those of the one before are read, where they have places
    of their own; words of the first one are written while configuration streams.

    bounds, single, chained: see `launches`. configurable: the device has its configuration network; then tiles can be asked
    where tokens wait. overlapped: else nothing is written or read while a launch computes. prepared: the device is configured
    for the program. held: what its registers hold, those of its tiles too, for who has written them before, or has reset it;
    what is written here is noted there, and forgotten where the run does not come to its end. Default: nobody knows.
    early: the first launch begins with a portion of its words, where the machine has queues, transfers are overlapped, and it
    gains (`portions.py`); the load streams that have to be whole for that. For hosts that bring the others within
    WATCHDOG_CYCLES.

    Raises UserError when a stream or a level does not fit, AssertionError with the waiting tiles when nothing moves any more.
    """
    found = launches(program, device.arch, transactions, bounds, single, chained)
    return run_launches(device, program, found, configurable, overlapped, prepared, held, early)


def run_launches(device: Device, program: Program, asked: Iterable[Launch], configurable: bool = True, overlapped: bool = True,
                 prepared: bool = False, held: Held | None = None, early: Collection[str] | None = None) -> Iterator[Outcome]:
    """Configure a device for a program, and do its launches, or some that follow each other; see `run`."""
    prints = fingerprint(device)
    assert prints == program.fingerprint, f"the machine is {prints:016x}, not {program.fingerprint:016x}"
    known = held or Held(device.arch)
    done = False
    try:
        yield from _launched(device, program, asked, configurable, overlapped, prepared, known, early)
        done = True
    finally:
        if not done:
            # What was noted may never have been written, and words of a configuration may still have been on their way.
            known.forget()


def _launched(device: Device, program: Program, asked: Iterable[Launch], configurable: bool, overlapped: bool, prepared: bool,
              known: Held, early: Collection[str] | None) -> Iterator[Outcome]:
    """What `run_launches` does, and gives."""
    seconds = 0.0

    def do(commands: Iterable[Command], counts: dict[str, int] | None = None) -> dict[str, np.ndarray]:
        nonlocal seconds
        began = time.perf_counter()
        found = execute(device, known.changes(commands), program, configurable, counts)
        seconds += time.perf_counter() - began
        return found

    waits: list[Command] = []     # for the configuration, which streams meanwhile
    prepares: list[Command] = []
    if not prepared:
        prepares = list(prepare(program, device.arch, configurable, known.configuration(program) if configurable else None))
        begins = next((at for at, each in enumerate(prepares) if isinstance(each, Start)), len(prepares)) + 1
        do(prepares[:begins])
        waits = prepares[begins:]
    ended: dict[Launch, tuple[int, dict[str, int]]] = {}      # whose words have not been read: cycles, counts
    before = 0      # cycles of the run when the launch before had ended
    follows: tuple[Command, ...] = ()      # the start of the first launch
    if early is not None and overlapped:
        coming = iter(asked)
        begun = [in_two(each, program, device.arch, early, configuring(prepares, device.arch)) for each in islice(coming, 1)]
        asked, follows = chain((each for each, _ in begun), coming), tuple(chain.from_iterable(more for _, more in begun))
    for phase, launch in ordered(asked, overlapped):
        starts = launch.starts
        if waits and not (overlapped and phase is Phase.LOADS and beside(prepares, launch)):
            if overlapped and phase is Phase.STARTS:
                # Of loads and stores, which nothing reads before the start; events of the configuration stay.
                streams = [each for each in starts if isinstance(each, WriteRegister) and each.glb_tile is not None]
                do(streams)
                starts = tuple(each for each in starts if each not in streams)
            do(waits)
            waits = []
        match phase:
            case Phase.LOADS:
                do(launch.loads)
            case Phase.STARTS:
                do(starts)
                do(follows)
                follows = ()
            case Phase.ENDS:
                counts: dict[str, int] = {}
                do(launch.ends, counts)
                now = device.read_register("cycles")
                ended[launch] = now - before * launch.joins, counts
                before = now
            case Phase.READS:
                cycles, counts = ended.pop(launch)
                stored = by_transaction(program, launch, do(launch.reads, counts))
                spent, seconds = seconds, 0.0
                yield Outcome(stored, cycles, launch.loaded, launch.lying, launch.arranged, launch.placed, launch.tiled,
                              spent)
    do(waits)


def execute(device: Device, commands: Iterable[Command], program: Program | None = None,
            configurable: bool = True, counts: dict[str, int] | None = None) -> dict[str, np.ndarray]:
    """Do what commands say, in order; the words of every stream that was read.

    program: whose tiles are named if a run is stopped, by the errors of `run`. counts: words that streams have stored, by name,
    as commands found before; those that are found now are added.
    """
    found: dict[str, np.ndarray] = {}
    stored = {} if counts is None else counts
    for command in commands:
        match command:
            case Configure(words):
                device.configure(words)
            case WriteRegister(name, value, glb_tile):
                device.write_register(name, value, glb_tile)
            case WriteMemory():
                for address, words in command.pieces:
                    device.write_memory(address, words)
            case Start():
                device.write_register("control", named(CONTROLLER)["control"].word(**command.commands))
            case Wait(limit, configure):
                assert device.wait(limit), "no interrupt: neither what was started nor its limit of cycles ended"
                status = device.read_register("status")
                if configure:
                    whole = status >> CONFIGURED & 1 and not status >> ASTRAY & 1
                    assert whole, f"the configuration ended with status {status:#x}"
                elif not status >> FINISHED & 1:
                    assert program is not None, f"the run ended with status {status:#x}"
                    explain(device, program, status, configurable)
            case WaitTaken():
                _await(device, command, program, configurable)
            case Count(stream, glb_tile, before):
                stored[stream] = device.read_register("store_words_before" if before else "store_words", glb_tile)
            case Read(stream, address, words, landing):
                found[stream] = device.read_memory(address, stored[stream] if words is None else words)
                if landing is not None:
                    landing.put(found[stream])
    return found


def _await(device: Device, waits: WaitTaken, program: Program | None, configurable: bool) -> None:
    """Wait for descriptors of a run that goes on, or has come to its end meanwhile; raises why, if it was stopped."""
    for _ in range(0, waits.limit, POLL_CYCLES):
        if not any(device.read_register(f"{unit}_control", tile) & QUEUED
                   for unit, tiles in (("load", waits.loads), ("store", waits.stores)) for tile in tiles):
            return
        if device.wait(POLL_CYCLES):
            status = device.read_register("status")
            if status >> FINISHED & 1:
                # The last launch may be shorter than a look at the registers.
                return
            assert program is not None, f"the run ended with status {status:#x}"
            explain(device, program, status, configurable)
    raise AssertionError(f"a descriptor still waits after {waits.limit} cycles")


def by_transaction(program: Program, launch: Launch, found: Mapping[str, np.ndarray]) -> tuple[Blocks, ...]:
    """What every transaction of a launch stored; what is part of an image is so here, too, and was put there before."""
    results: tuple[Blocks, ...] = tuple({} for _ in range(launch.transactions))
    for each in program.stores:
        blocks: Sequence[np.ndarray]
        if each.name in launch.landed:
            blocks = launch.landed[each.name]
        elif each.blocks:
            blocks = [out_of_slots(words, each.sections, each.blocks)
                      for words in np.split(found[each.name], launch.transactions)]
        elif each.sections:
            blocks = split_blocks(found[each.name], each.name, each.sections, launch.transactions)
        else:
            blocks = np.split(found[each.name], launch.transactions)
        for result, block in zip(results, blocks, strict=True):
            result[each.name] = block
    return results
