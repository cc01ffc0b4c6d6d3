"""Host side of a run: the commands of a plan on a device, launch by launch."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ..compiler.ir.program import Program
from ..hw.arch.soc import ASTRAY, CONFIGURED, CONTROLLER, FINISHED, named
from .commands import Command, Configure, Read, Start, Wait, WriteMemory, WriteRegister
from .data.blocks import Blocks, split_blocks
from .device import Device, fingerprint
from .faults import explain
from .plan import Launch, Transaction, launches, prepare


@dataclass(frozen=True)
class Outcome:
    """What a launch gave.

    Parameters
    ----------
    stored : tuple        Per transaction the words of every store stream.
    cycles : int          From start to done.
    loaded : int          16-bit words that the load streams brought.
    seconds : float       Spent with the device.
    """

    stored: tuple[Blocks, ...]
    cycles: int
    loaded: int
    seconds: float


def run(device: Device, program: Program, transactions: Iterable[Transaction], bounds: Mapping[str, int] | None = None,
        configurable: bool = True) -> Iterator[Outcome]:
    """Configure a device for a program, and run transactions on it in order, launch by launch.

    bounds: see `launches`. configurable: the device has its configuration network; then tiles can be asked where tokens wait.

    Raises UserError when a stream or a level does not fit, AssertionError with the waiting tiles when nothing moves any more.
    """
    prints = fingerprint(device)
    assert prints == program.fingerprint, f"the machine is {prints:016x}, not {program.fingerprint:016x}"
    began = time.perf_counter()
    execute(device, prepare(program, device.arch, configurable))
    seconds = time.perf_counter() - began
    for launch in launches(program, device.arch, transactions, bounds):
        began = time.perf_counter()
        found = execute(device, launch.commands, program, configurable)
        cycles = device.read_register("cycles")
        seconds += time.perf_counter() - began
        yield Outcome(_by_transaction(program, launch, found), cycles, launch.loaded, seconds)
        seconds = 0.0


def execute(device: Device, commands: Iterable[Command], program: Program | None = None,
            configurable: bool = True) -> dict[str, np.ndarray]:
    """Do what commands say, in order; the words of every stream that was read.

    program: whose tiles are named if a run is stopped, by the errors of `run`.
    """
    found: dict[str, np.ndarray] = {}
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
            case Wait(limit, configure):
                assert device.wait(limit), "no interrupt: neither what was started nor its limit of cycles ended"
                status = device.read_register("status")
                if configure:
                    whole = status >> CONFIGURED & 1 and not status >> ASTRAY & 1
                    assert whole, f"the configuration ended with status {status:#x}"
                elif not status >> FINISHED & 1:
                    assert program is not None, f"the run ended with status {status:#x}"
                    explain(device, program, status, configurable)
            case Read(stream, glb_tile, address, count):
                stored = device.read_register("store_words", glb_tile) if count is None else count
                found[stream] = device.read_memory(address, stored)
    return found


def _by_transaction(program: Program, launch: Launch, found: Mapping[str, np.ndarray]) -> tuple[Blocks, ...]:
    """What every transaction of a launch stored."""
    results: tuple[Blocks, ...] = tuple({} for _ in range(launch.transactions))
    for each in program.stores:
        words = found[each.name]
        blocks = (split_blocks(words, each.name, each.sections, launch.transactions) if each.sections
                  else np.split(words, launch.transactions))
        for result, block in zip(results, blocks, strict=True):
            result[each.name] = block
    return results
