"""The engines: ways to run a compiled program on its data, all giving the same words.

``golden`` NumPy, which needs no program; ``tokens`` the graph that the compiler mapped; ``fabric`` the decoded bitstream on
the routing graph; ``rtl-full`` generated Verilog of all tiles, configured over its buses; ``rtl`` the same or, for many
cycles, that of the tiles of the program, folded to it; ``rtl-system`` that of all tiles and of a processor, which runs the
program out of memory outside.

What a graph and a configuration mean is told by the mode of the program: tokens that wait for each other (`model/tokens`), or
words in known cycles (`model/cycles`, `model/walked`).

A `Device` is an engine too: a machine that is somewhere else, as on a board.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from ..compiler.backend.encode import decode, encode
from ..compiler.einsum import CompiledEinsum
from ..compiler.graph import CompiledGraph
from ..compiler.halide import CompiledDense
from ..compiler.ir.program import ELASTIC, STATIC, Program
from ..hw.arch.cgra import Arch
from ..hw.arch.counters import Counts
from ..runtime import counters, host
from ..runtime.data.blocks import Blocks
from ..runtime.data.tile import Source
from ..runtime.device import Device
from ..runtime.firmware import Job
from ..runtime.held import Held
from ..runtime.plan import loops_of_transactions, prepare
from ..runtime.works import Transaction
from . import system
from .model import walked
from .model.cycles import fabric as cycles
from .model.tokens import fabric as tokens
from .rtl import simulator
from .rtl.activity import Activity

GOLDEN, TOKENS, FABRIC, RTL, RTL_FULL, RTL_SYSTEM = "golden", "tokens", "fabric", "rtl", "rtl-full", "rtl-system"
DEVICE = "device"
MODELS = {TOKENS: "graph of the program", FABRIC: "decoded bitstream"}

# Seconds of a run before anything is said of the rest.
PATIENCE_S = 2.0

# Called with the stage of a run that begins.
Progress = Callable[[str], None]
# Called with what every transaction stored, in order.
Take = Callable[[Blocks], None]


class Data(Protocol):
    """What a program runs on, transaction by transaction.

    unit: what a transaction is to people, in the plural.
    """

    @property
    def unit(self) -> str: ...

    def __len__(self) -> int: ...

    def transactions(self, most: int) -> Iterator[Mapping[str, np.ndarray]] | Iterator[Mapping[str, Source]]:
        """Words of every load stream; where they come with loops, with at most so many."""

    def bounds(self) -> Mapping[str, int]:
        """Most words that a transaction of a store stream can give, by name; none where the program says how many."""

    def cycles(self) -> int:
        """How many cycles all of it should take in Verilog, roughly."""


@dataclass(frozen=True)
class Run:
    """What an engine counted.

    Parameters
    ----------
    cycles : int | None       Cycles of the generated Verilog, from start to done, summed over launches.
    loaded : int              Words that were loaded, in Verilog.
    simulator : str           What simulated the Verilog, and why that; nothing for a device.
    build_s, simulate_s       Seconds spent on building the simulation, and in it or with the device.
    simulated : int           Cycles simulated, bus traffic included; of the processor's clock, where that is one of its own.
    verilog : Path | None     Folder of the Verilog that ran.
    activity : Activity       What moved, if it was counted.
    lying, arranged : int     Words that were written to be loaded: as they lie in images, and in an order that was made.
    placed, tiled : int       Words of static programs that were read: as they lie in images, and tile by tile.
    counts : mapping          What the performance counters of tiles say.
    """

    cycles: int | None = None
    launches: int = 0
    loaded: int = 0
    simulator: str = ""
    build_s: float = 0.0
    simulate_s: float = 0.0
    simulated: int = 0
    verilog: Path | None = None
    activity: Activity = field(default_factory=Activity)
    lying: int = 0
    arranged: int = 0
    placed: int = 0
    tiled: int = 0
    counts: Mapping[counters.Site, Counts] = field(default_factory=dict)

    def __add__(self, other: Run) -> Run:
        """Both, one after the other."""
        cycles = None if self.cycles is None and other.cycles is None else (self.cycles or 0) + (other.cycles or 0)
        return Run(cycles, self.launches + other.launches, self.loaded + other.loaded,
                   other.simulator or self.simulator, self.build_s + other.build_s,
                   self.simulate_s + other.simulate_s, self.simulated + other.simulated, other.verilog or self.verilog,
                   self.activity + other.activity, self.lying + other.lying, self.arranged + other.arranged,
                   self.placed + other.placed, self.tiled + other.tiled,
                   {site: self.counts.get(site, Counts()) + other.counts.get(site, Counts())
                    for site in {**self.counts, **other.counts}})


_preparing = threading.Lock()
"""Two threads that prepare at once would both convert the modules that they share; one of them keeps all cores busy."""


def silent(stage: str) -> None:
    """Report progress to nobody."""


def name_of(engine: str | Device) -> str:
    """How reports call an engine."""
    return engine if isinstance(engine, str) else DEVICE


def run(engine: str | Device, compiled: CompiledGraph | CompiledDense, data: Data, take: Take, progress: Progress = silent,
        counting: bool = False, single: bool = False, counted: Collection[counters.Site] = (), early: bool = False) -> Run:
    """Run a compiled program on every transaction of its data, and give `take` what each stored.

    counting: see `simulate`; for the engines of Verilog. counted: tiles whose performance counters are read; for these and for
    devices, and for the token model, which counts the same events by its clock, of all tiles. single: each transaction is a
    launch of its own, for all engines with launches but that of a whole system. early: the first launch of a statement, of one
    copy, may begin with a portion of its words in generated Verilog (`host.run`).
    """
    arch, total = compiled.arch, f"{len(data)} {data.unit}"
    transactions = data.transactions(1 if engine in MODELS else loops_of_transactions(arch.glb))
    if engine in MODELS:
        events: tokens.Events | None = {} if counted else None
        ran = _model(modelled(engine, compiled, transactions, events), f"running {total} on the {MODELS[engine]}", len(data),
                     take, progress)
        return ran + Run(counts=_sites(compiled, events or {}))
    program = as_encoded(compiled)
    if not isinstance(engine, str):
        return _launches(engine, program, transactions, take, bounds=data.bounds(), progress=progress,
                         what=f"running {total} on the device", count=len(data), single=single, counted=counted)
    if engine == RTL_SYSTEM:
        return _system(compiled.program, arch, data, transactions, take, progress)
    assert engine in (RTL, RTL_FULL), f"{engine} runs no program"
    return simulate(program, arch, transactions, take, full=engine == RTL_FULL, bounds=data.bounds(), total=total,
                    count=len(data), cycles=data.cycles(), progress=progress, counting=counting, single=single,
                    counted=counted, early=_whole(compiled) if early and not counted else None)


def _whole(compiled: CompiledGraph | CompiledDense) -> Collection[str] | None:
    """The load streams that a launch needs whole when it begins; None where all are."""
    return compiled.whole if isinstance(compiled, CompiledEinsum) and compiled.copies.count == 1 else None


def _sites(compiled: CompiledGraph | CompiledDense, events: tokens.Events) -> dict[counters.Site, Counts]:
    """Events of blocks, tiles and streams by tile; the streams of an IO tile are counted together."""
    found: dict[counters.Site, Counts] = {}
    streams = {stream.name: stream.block for stream in compiled.graph.streams} if isinstance(compiled, CompiledGraph) else {}
    for place, counts in events.items():
        site = place if isinstance(place, tuple) else compiled.placement.tiles[streams.get(place) or place]
        found[site] = found.get(site, Counts()) + counts
    return found


def as_encoded(compiled: CompiledGraph | CompiledDense) -> Program:
    """A program as its bitstream says it."""
    return decode(encode(compiled.program, compiled.arch), compiled.arch)


def modelled(engine: str, compiled: CompiledGraph | CompiledDense, transactions: Iterable[Transaction],
             events: tokens.Events | None = None) -> Iterator[Blocks]:
    """What transactions store on an engine of `MODELS`; events: see `tokens.run_graph`."""
    blocks = map(words, transactions)
    if engine == FABRIC:
        program = as_encoded(compiled)
        return (cycles.run_program(program, compiled.arch, blocks) if program.mode == STATIC
                else tokens.run_program(program, compiled.arch, blocks, events))
    if isinstance(compiled, CompiledDense):
        return walked.run_walk(compiled.walk, blocks)
    assert compiled.program.mode == ELASTIC, "a statement becomes an elastic program"
    return tokens.run_graph(compiled.graph, blocks, events)


def words(transaction: Transaction) -> Blocks:
    """The words of every load stream of a transaction."""
    return {name: each if isinstance(each, np.ndarray) else each.words for name, each in transaction.items()}


def _model(results: Iterable[Blocks], what: str, count: int, take: Take, progress: Progress) -> Run:
    progress(what)
    began = time.monotonic()
    for done, each in enumerate(results, 1):
        take(each)
        progress(f"{what}, {done} done{_left(done, count, began)}")
    return Run()


def _left(done: int, count: int, began: float) -> str:
    """How long the rest of `count` will take, in words, if as long as those done since `began`; nothing where that is not known
    yet."""
    spent = time.monotonic() - began
    return f", about {spent / done * (count - done):,.0f} s left" if spent > PATIENCE_S and 0 < done < count else ""


def _system(program: Program, arch: Arch, data: Data, transactions: Iterable[Transaction], take: Take,
            progress: Progress) -> Run:
    """Run transactions on a simulated system."""
    ran = system.run_jobs([Job("program", program, transactions, data.bounds())], [take], arch, progress)
    ran.check()
    launches = [launch for launch, _ in ran.firmware.launches[0]]
    return Run(ran.machine_cycles(0), len(launches), sum(each.loaded for each in launches),
               f"{simulator.LIBRARY}: all {len(arch.tiles)} tiles, and a processor", ran.build_s, ran.simulate_s, ran.cycles,
               ran.verilog, lying=sum(each.lying for each in launches), arranged=sum(each.arranged for each in launches),
               placed=sum(each.placed for each in launches), tiled=sum(each.tiled for each in launches))


def simulate(program: Program, arch: Arch, transactions: Iterable[Transaction], take: Take, *, full: bool,
             bounds: Mapping[str, int] | None = None, total: str = "transactions", count: int = 0, cycles: int = 0,
             cache: Path | None = None, progress: Progress = silent, counting: bool = False, single: bool = False,
             counted: Collection[counters.Site] = (), early: Collection[str] | None = None) -> Run:
    """Run transactions in generated Verilog, as `simulator.for_program` chooses, or (`full`) on all tiles of the machine.

    bounds, single: see `launches`. total, count: what is simulated and how much, for `progress`. cycles: how many are
    expected, which decides how they are simulated. cache: folder of built models; default: the user's cache folder. counting:
    count what moves, on all tiles. counted: see `run`; a machine that is folded to a program has no counters. early: see
    `host.run`.
    """
    made = simulator_of(program, arch, full or bool(counted), cycles, counting, cache, progress)
    return run_on(made, program, transactions, take, bounds=bounds, total=total, count=count, progress=progress,
                  single=single, counted=counted, early=early)


def simulator_of(program: Program, arch: Arch, full: bool, cycles: int, counting: bool = False, cache: Path | None = None,
                 progress: Progress = silent) -> simulator.Simulator:
    """What simulates a program, built; arguments as of `simulate`."""
    if _preparing.locked():
        progress("waiting for the Verilog of another program")
    with _preparing:
        progress(f"preparing the Verilog of '{arch.name}'")
        return (simulator.counting_machine(arch, cache) if counting
                else simulator.whole_machine(arch, cache) if full
                else simulator.for_program(arch, program, cycles, cache))


def run_on(made: simulator.Simulator, program: Program, transactions: Iterable[Transaction], take: Take, *,
           bounds: Mapping[str, int] | None = None, total: str = "transactions", count: int = 0, progress: Progress = silent,
           check: bool = False, single: bool = False, counted: Collection[counters.Site] = (),
           early: Collection[str] | None = None) -> Run:
    """Run transactions on a simulator; check: see `Machine`; single: see `launches`; counted: see `run`; early: see `host.run`.
    """
    with made.start(check) as machine:
        held = Held(machine.arch, after_reset=True)
        found = _launches(machine, program, transactions, take, bounds=bounds, what=f"simulating {total}", count=count,
                          progress=progress, configurable=made.configurable, overlapped=not made.counting, single=single,
                          counted=counted, held=held, early=early)
        return found + Run(simulator=made.why, build_s=made.model.build_s, simulated=machine.cycles,
                           verilog=made.model.executable.parent / "verilog",
                           activity=machine.activity if made.counting else Activity())


def _launches(device: Device, program: Program, transactions: Iterable[Transaction], take: Take, *,
              bounds: Mapping[str, int] | None, what: str, count: int, progress: Progress, configurable: bool = True,
              overlapped: bool = True, single: bool = False, counted: Collection[counters.Site] = (),
              held: Held | None = None, early: Collection[str] | None = None) -> Run:
    """Run transactions on a device, launch by launch; what: that is done, count: of how much, for `progress`; counted: see
    `run`; held, early: see `host.run`."""
    held = held or Held(device.arch)
    found, done, began = Run(cycles=0), 0, time.monotonic()
    progress(what)
    if counted:
        # Between configuration, in which tokens of an earlier program may move, and the first launch.
        writes = held.configuration(program) if configurable else None
        host.execute(device, held.changes(prepare(program, device.arch, configurable, writes)), program, configurable)
        counters.clear(device, counted)
    for outcome in host.run(device, program, transactions, bounds, configurable, overlapped, bool(counted), single,
                            held=held, early=early):
        for stored in outcome.stored:
            take(stored)
        done += len(outcome.stored)
        found += Run(outcome.cycles, 1, outcome.loaded, simulate_s=outcome.seconds, lying=outcome.lying,
                     arranged=outcome.arranged, placed=outcome.placed, tiled=outcome.tiled)
        progress(f"{what}, {done} done in {found.cycles or 0:,} cycles{_left(done, count, began)}")
    return found + Run(counts=counters.read(device, counted)) if counted else found


def differences(found: Iterable[Blocks], expected: Iterable[Blocks], first: int = 0) -> tuple[int, list[str]]:
    """Words compared, and a sentence for every block that differs from what it should be; first: number of the first item."""
    compared, wrong = 0, []
    for item, (one, other) in enumerate(zip(found, expected, strict=True), first):
        for name, block in other.items():
            compared += len(block)
            if not np.array_equal(one[name], block):
                wrong.append(f"block {name} of sub-tile {item} is {one[name].tolist()[:24]}, should be {block.tolist()[:24]}")
    return compared, wrong
