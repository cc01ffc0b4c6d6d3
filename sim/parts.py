"""A run in parts, each on a simulator of its own: the same words, and in Verilog the same cycles, as in one.

Launches are in turn: the array is idle where one begins, so that a run is cut between launches and its cycles are the sum. What
the host does in the cycles of a launch, as it writes words of the next one and reads those of the one before, takes its turns
at the memories. So a part begins with the launch in front of it, which does not count, and ends with words of the one behind.
Models have no launches: they are cut between transactions.

    run in one     L0  L1  L2  L3  L4  L5  L6  L7  L8
    parts          L0  L1  L2  L3 (L4)
                              (L3) L4  L5  L6  L7 (L8)
                                                  (L7) L8

Input:   a compiled program and its transactions, all of them in memory.
Output:  parts, which are pickled; what each stored, transaction by transaction, and its `Run`.
Cost:    a launch more for each part but the first. How a run is cut depends on its launches only, not on who runs the parts.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from ..compiler.backend.encode import encode
from ..compiler.graph import CompiledGraph
from ..compiler.ir.program import Program
from ..hw.kept import generator
from ..runtime import host
from ..runtime.commands import WriteMemory
from ..runtime.data.blocks import Blocks
from ..runtime.held import Held
from ..runtime.plan import Launch, launches
from ..runtime.works import Transaction
from . import engines
from .engines import Data, Run
from .rtl import simulator

# Launches, or transactions of a model, of a part, and cycles that are expected of one in Verilog, which takes some tenths of a
# second to begin. And how many parts there are at most.
LEAST_LAUNCHES, LEAST_TRANSACTIONS, LEAST_CYCLES, MOST = 4, 16, 20_000, 64
ENGINES = (engines.TOKENS, engines.FABRIC, engines.RTL, engines.RTL_FULL)


@dataclass(frozen=True)
class Shared:
    """What all parts of a run need; cycles: that are expected of all, which decides how they are simulated."""

    engine: str
    compiled: CompiledGraph
    cycles: int

    @property
    def models(self) -> bool:
        """Whether there are no launches."""
        return self.engine in engines.MODELS

    @cached_property
    def program(self) -> Program:
        return engines.as_encoded(self.compiled)

    @cached_property
    def said(self) -> bytes:
        """What tells it apart."""
        return repr((generator(), self.engine, encode(self.compiled.program, self.compiled.arch))).encode()

    def simulator(self, progress: engines.Progress = engines.silent) -> simulator.Simulator:
        """What simulates, built; it is found in the cache then."""
        return engines.simulator_of(self.program, self.compiled.arch, self.engine == engines.RTL_FULL, self.cycles,
                                    progress=progress)


@dataclass(frozen=True)
class Part:
    """Some launches, or on a model some transactions.

    Parameters
    ----------
    launches, transactions : tuple    What is run; one of them is empty.
    before : int                      Launches in front, 0 or 1, that do not count; after: likewise behind.
    """

    launches: tuple[Launch, ...] = ()
    transactions: tuple[Transaction, ...] = ()
    before: int = 0
    after: int = 0

    def __len__(self) -> int:
        """Launches, or transactions, that count."""
        return len(self.launches) + len(self.transactions) - self.before - self.after

    def key(self, shared: Shared) -> str:
        """What tells parts of all runs apart: program, machine and its Verilog, engine and words."""
        found = hashlib.sha256(shared.said + repr((self.before, self.after)).encode())
        for launch in self.launches:
            for command in launch.commands:
                found.update((repr((command.address, command.words.size, command.reach)).encode() + command.words.tobytes())
                             if isinstance(command, WriteMemory) else repr(command).encode())
        for each in self.transactions:
            for name, block in engines.words(each).items():
                found.update(f"{name} {len(block)}".encode() + block.tobytes())
        return found.hexdigest()


@dataclass(frozen=True)
class Done:
    """What a part gave: per transaction the words of every store stream, and what was counted."""

    stored: tuple[Blocks, ...]
    run: Run


def cut(shared: Shared, data: Data, single: bool) -> list[Part]:
    """A run in parts; single: each transaction is a launch of its own."""
    transactions = data.transactions(1)
    if shared.models:
        every = tuple(transactions)
        return [Part(transactions=every[each.start:each.stop]) for each in _ranges(len(every), LEAST_TRANSACTIONS)]
    found = tuple(launches(shared.program, shared.compiled.arch, transactions, data.bounds(), single))
    assert not any(each.joins for each in found), "launches of a run of the machine are not in turn"
    parts = []
    for each in _ranges(len(found), max(LEAST_LAUNCHES, LEAST_CYCLES * len(found) // max(1, shared.cycles))):
        first, end = max(0, each.start - 1), min(len(found), each.stop + 1)
        # What launches before have brought and left there comes with the first one.
        begins = replace(found[first], loads=found[first].stays + found[first].loads)
        parts.append(Part((begins, *found[first + 1:end]), before=each.start - first, after=end - each.stop))
    return parts


def _ranges(count: int, least: int) -> list[range]:
    size = max(least, -(-count // MOST))
    return [range(at, min(count, at + size)) for at in range(0, count, size)]


def run(shared: Shared, part: Part) -> Done:
    """Run a part."""
    if shared.models:
        stored = tuple(engines.modelled(shared.engine, shared.compiled, part.transactions))
        return Done(stored, Run())
    return _simulated(shared, part)


def _simulated(shared: Shared, part: Part) -> Done:
    made = shared.simulator()
    stored: list[Blocks] = []
    found = Run(cycles=0)
    with made.start() as machine:
        # The launch behind is begun, for what the host does with its words, and not waited for.
        outcomes = host.run_launches(machine, shared.program, part.launches, made.configurable,
                                     held=Held(machine.arch, after_reset=True))
        for number, outcome in enumerate(islice(outcomes, part.before + len(part))):
            found += Run(simulate_s=outcome.seconds)
            if number >= part.before:
                stored += outcome.stored
                found += Run(outcome.cycles, 1, outcome.loaded, lying=outcome.lying, arranged=outcome.arranged)
        found += Run(simulator=made.why, build_s=made.model.build_s, simulated=machine.cycles,
                     verilog=made.model.executable.parent / "verilog")
    return Done(tuple(stored), found)
