"""Host side of a run: the commands of a plan on a device, launch by launch."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ..compiler.ir.program import Program
from ..hw.arch.soc import ASTRAY, CONFIGURED, CONTROLLER, FINISHED, named
from .commands import Command, Configure, Count, Read, Start, Wait, WriteMemory, WriteRegister
from .data.blocks import Blocks, split_blocks
from .device import Device, fingerprint
from .faults import explain
from .order import Phase, ordered
from .plan import Launch, Transaction, launches, prepare

NO_INTERRUPT = "no interrupt: neither what was started nor its limit of cycles ended"

# Commands that are done: waits, and then the words of every stream that was read.
_Steps = Generator[Wait, None, dict[str, np.ndarray]]


@dataclass(frozen=True)
class Outcome:
    """What a launch gave.

    Parameters
    ----------
    stored : tuple        Per transaction the words of every store stream.
    cycles : int          From start to done.
    loaded : int          16-bit words that the load streams brought.
    seconds : float       Spent with the device since the launch before.
    """

    stored: tuple[Blocks, ...]
    cycles: int
    loaded: int
    seconds: float


def run(device: Device, program: Program, transactions: Iterable[Transaction], bounds: Mapping[str, int] | None = None,
        configurable: bool = True, overlapped: bool = True) -> Iterator[Outcome]:
    """Configure a device for a program, and run transactions on it in order, launch by launch.

    While a launch computes, the words of the next one are written and those of the one before are read, where they have places
    of their own.

    bounds: see `launches`. configurable: the device has its configuration network; then tiles can be asked where tokens wait.
    overlapped: else nothing is written or read while a launch computes.

    Raises UserError when a stream or a level does not fit, AssertionError with the waiting tiles when nothing moves any more.
    """
    yield from _outcomes(device, steps(device, program, transactions, bounds, configurable, overlapped))


def steps(device: Device, program: Program, transactions: Iterable[Transaction], bounds: Mapping[str, int] | None = None,
          configurable: bool = True, overlapped: bool = True, prepared: bool = False) -> Iterator[Wait | Outcome]:
    """What `run` does, for one who waits himself: where it gives a `Wait`, it goes on when the interrupt has come.

    prepared: the device has been configured for the program (`prepare`).
    """
    prints = fingerprint(device)
    assert prints == program.fingerprint, f"the machine is {prints:016x}, not {program.fingerprint:016x}"
    seconds = 0.0

    def do(commands: Iterable[Command], counts: dict[str, int] | None = None) -> _Steps:
        nonlocal seconds
        began = time.perf_counter()
        found = yield from stepwise(device, commands, program, configurable, counts)
        seconds += time.perf_counter() - began
        return found

    if not prepared:
        yield from do(prepare(program, device.arch, configurable))
    ended: dict[Launch, tuple[int, dict[str, int]]] = {}      # whose words have not been read: cycles, counts
    for phase, launch in ordered(launches(program, device.arch, transactions, bounds), overlapped):
        match phase:
            case Phase.LOADS:
                yield from do(launch.loads)
            case Phase.STARTS:
                yield from do(launch.starts)
            case Phase.ENDS:
                counts: dict[str, int] = {}
                yield from do(launch.ends, counts)
                ended[launch] = device.read_register("cycles"), counts
            case Phase.READS:
                cycles, counts = ended.pop(launch)
                stored = by_transaction(program, launch, (yield from do(launch.reads, counts)))
                spent, seconds = seconds, 0.0
                yield Outcome(stored, cycles, launch.loaded, spent)


def _outcomes(device: Device, doing: Iterable[Wait | Outcome]) -> Iterator[Outcome]:
    """What steps give, waiting for the device where they do."""
    for each in doing:
        if isinstance(each, Outcome):
            yield each
        else:
            await_interrupt(device, each)


def await_interrupt(device: Device, wait: Wait) -> None:
    """Wait for the interrupt of a device."""
    assert device.wait(wait.limit), NO_INTERRUPT


def execute(device: Device, commands: Iterable[Command], program: Program | None = None,
            configurable: bool = True, counts: dict[str, int] | None = None) -> dict[str, np.ndarray]:
    """Do what commands say, in order; the words of every stream that was read.

    program: whose tiles are named if a run is stopped, by the errors of `run`. counts: words that streams have stored, by name,
    as commands found before; those that are found now are added.
    """
    doing = stepwise(device, commands, program, configurable, counts)
    while True:
        try:
            await_interrupt(device, next(doing))
        except StopIteration as ended:
            found: dict[str, np.ndarray] = ended.value
            return found


def stepwise(device: Device, commands: Iterable[Command], program: Program | None = None,
             configurable: bool = True, counts: dict[str, int] | None = None) -> _Steps:
    """What `execute` does, for one who waits himself: it goes on behind a `Wait` when the interrupt has come."""
    found: dict[str, np.ndarray] = {}
    stored = {} if counts is None else counts
    for command in commands:
        match command:
            case Configure(words):
                device.configure(words)
            case WriteRegister(name, value, glb_tile):
                device.write_register(name, value, glb_tile)
            case WriteMemory(address, words):
                device.write_memory(address, words)
            case Start(configure):
                what = {"configure": 1} if configure else {"start": 1}
                device.write_register("control", named(CONTROLLER)["control"].word(**what))
            case Wait(configure=configure):
                yield command
                status = device.read_register("status")
                if configure:
                    whole = status >> CONFIGURED & 1 and not status >> ASTRAY & 1
                    assert whole, f"the configuration ended with status {status:#x}"
                elif not status >> FINISHED & 1:
                    assert program is not None, f"the run ended with status {status:#x}"
                    explain(device, program, status, configurable)
            case Count(stream, glb_tile):
                stored[stream] = device.read_register("store_words", glb_tile)
            case Read(stream, address, words):
                found[stream] = device.read_memory(address, stored[stream] if words is None else words)
    return found


def by_transaction(program: Program, launch: Launch, found: Mapping[str, np.ndarray]) -> tuple[Blocks, ...]:
    """What every transaction of a launch stored."""
    results: tuple[Blocks, ...] = tuple({} for _ in range(launch.transactions))
    for each in program.stores:
        words = found[each.name]
        blocks = (split_blocks(words, each.name, each.sections, launch.transactions) if each.sections
                  else np.split(words, launch.transactions))
        for result, block in zip(results, blocks, strict=True):
            result[each.name] = block
    return results
