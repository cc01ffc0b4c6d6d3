"""One way from a program with its data to a checked result, whatever language it was written in.

    job = front end -> compile -> (dump) -> run every part on an engine -> check against NumPy -> report
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from . import arguments, counters, power
from .avoid import avoiding
from .compiler.backend.route import Unroutable
from .compiler.graph import CompiledGraph
from .compiler.halide import CompiledDense
from .dump import UNROUTABLE, VERILOG, Dump
from .hw.arch.cgra import Arch
from .hw.arch.errors import UserError
from .options import ENGINES, POWER
from .outcome import Outcome
from .runtime.counters import check as check_counters
from .runtime.data.blocks import Blocks
from .runtime.device import Device
from .sim import engines
from .sim.engines import Run
from .spread_runs import Spread
from .spread_runs import run as run_spread


@dataclass(frozen=True)
class Result(Outcome):
    """The outcome of a program: its value, and the cycles of the engines that count them.

    value: scipy.sparse for a matrix, a number for a scalar, else a NumPy array. cycles: from start to done, summed over
    launches; None for engines without a clock.
    """

    value: Any = None
    cycles: int | None = None


@dataclass(frozen=True)
class Options:
    """How a program is compiled and run, checked. single: each transaction is a launch of its own. early: the first one may
    begin with a portion of its words. counters: those of tiles are read. spread: who runs parts of it; None: it is run whole.
    """

    engine: str | Device
    arch: Arch
    dump: Dump | None
    seed: int
    power: str | None = None
    single: bool = False
    early: bool = False
    counters: bool = False
    spread: Spread | None = None


def options(engine: str | Device, arch: object, dump: str | Path | None, seed: object, files: Sequence[str],
            power: object = None, avoid: object = None, counters: object = False) -> Options:
    """Options from arguments; files: names of what a dump writes. power: the library in which the energy is estimated.
    counters: whether those of tiles are read, or what they would count on the token model, for programs of streams."""
    if not isinstance(engine, Device):
        arguments.choice("engine", engine, ENGINES)
    name, machine = engines.name_of(engine), avoiding(arguments.machine(arch), avoid)
    if isinstance(engine, Device) and engine.arch.fingerprint != machine.fingerprint:
        raise UserError(f"the device is machine '{engine.arch.name}'", f"arch '{machine.name}'",
                        "compile for the device (arch=device.arch)")
    library = None if power is None else arguments.choice("cell library", power, POWER)
    if library is not None and name not in (engines.RTL, engines.RTL_FULL):
        raise UserError(f"engine {name} has no switching to count", "power", f"choose {engines.RTL} or {engines.RTL_FULL}")
    counted = arguments.flag("counters", counters)
    if counted:
        if name not in (engines.TOKENS, engines.FABRIC, engines.RTL, engines.RTL_FULL, engines.DEVICE):
            raise UserError(f"engine {name} reads no counters of tiles", "counters",
                            f"choose {engines.RTL} or {engines.RTL_FULL}, or {engines.TOKENS} for those of a model")
        if name not in (engines.TOKENS, engines.FABRIC):
            check_counters(machine)
    found = Options(engine, machine, _stages(dump, name), arguments.seed(seed), library, counters=counted)
    if found.dump:
        found.dump.check([*files, UNROUTABLE], VERILOG)
    return found


def _stages(value: str | Path | None, engine: str) -> Dump | None:
    """The folder `dump` to write the stages of a compilation into, which need not be there; golden compiles nothing."""
    if value is None:
        return None
    if engine == engines.GOLDEN:
        raise UserError(f"engine {engine} compiles nothing that could be written", "dump", "choose another engine")
    return Dump.made(value, "dump")


class Part(engines.Data, Protocol):
    """Data of a job, and where what was stored goes."""

    def take(self, stored: Blocks) -> None:
        """What the next transaction stored."""


class Job(Protocol):
    """A compiled program with what to load, what it stores and how that is checked.

    checks: what is compared with NumPy, in the plural.
    """

    checks: str

    @property
    def compiled(self) -> CompiledGraph | CompiledDense: ...

    def parts(self) -> Iterator[Part]:
        """What is run, one after the other; each is asked for when those before it are done."""

    def check(self) -> tuple[Any, int]:
        """The result, and how much of it was compared; AssertionError with the first difference from NumPy."""

    def facts(self) -> Mapping[str, object]:
        """More of the report, before what all programs have."""

    def rate(self, run: Run, cycles: int) -> Mapping[str, object]:
        """How fast it was."""

    def useful(self) -> tuple[str, int]:
        """What the energy is divided by: a word for it, and how many there are."""


def execute(how: Options, job_of: Callable[[Callable[[str], None]], Job], began: float,
            progress: Callable[[str], None]) -> Result:
    """Compile a job, run it on an engine, check it and report.

    job_of: compiles, telling the stages. began: when the work for the report began.
    """
    compile_began = time.perf_counter()
    try:
        job = job_of(lambda stage: progress(f"compiling for '{how.arch.name}': {stage}"))
    except Unroutable as failure:
        raise _drawn(failure, how.dump) from None
    compile_s = time.perf_counter() - compile_began
    compiled = job.compiled
    if how.dump:
        how.dump.write(compiled.files())
    if isinstance(compiled, CompiledGraph) and compiled.waits:
        progress(f"warning: FIFOs may be too small, {compiled.waits[0]}")
    run, spread = Run(), dict[str, object]()
    for part in job.parts():
        if how.spread is not None:
            assert isinstance(how.engine, str) and isinstance(compiled, CompiledGraph), "as of `spread_runs.spread`"
            more, spread = run_spread(how.spread, how.engine, compiled, part, part.take, how.single, progress)
            run += more
            continue
        run += engines.run(how.engine, compiled, part, part.take, progress, how.power is not None, how.single,
                           tuple(compiled.placement.tiles.values()) if how.counters else (), how.early)
    progress(f"checking the {job.checks} against NumPy")
    value, checked = job.check()
    report: dict[str, object] = {
        "engine": engines.name_of(how.engine), "arch": how.arch.name, **job.facts(), "tiles_used": compiled.tiles,
        "period_ns": compiled.timing.period_ns, "longest_path": compiled.timing.where, f"{job.checks}_checked": checked,
        "compile_s": round(compile_s, 3)}
    if isinstance(compiled, CompiledGraph) and compiled.waits:
        report["may_wait"] = "; ".join(compiled.waits)
    if spread:
        report["spread"] = spread
    if run.cycles is not None:
        report |= {"cycles": run.cycles, "launches": run.launches, **job.rate(run, max(1, run.cycles))}
    if not isinstance(how.engine, str):
        report |= {"device_s": round(run.simulate_s, 2)}
    elif run.cycles is not None:
        report |= {"all_cycles": run.simulated} if how.arch.glb.queue and not spread else {}
        report |= {"simulator": run.simulator, "simulated_cycles_per_s": round(run.simulated / max(1e-9, run.simulate_s)),
                   "build_s": round(run.build_s, 1), "simulate_s": round(run.simulate_s, 2),
                   "verilog": str(how.dump.keep(run.verilog) if how.dump and run.verilog else run.verilog)}
    if how.power is not None:
        report["power"] = power.report(how.power, how.arch, compiled, run, job.useful())
    if how.counters:
        report["counters"] = counters.report(compiled, run)
    report["elapsed_s"] = round(time.perf_counter() - began, 2)
    return Result(report, value=value, cycles=run.cycles)


def _drawn(failure: Unroutable, dump: Dump | None) -> UserError:
    """The refusal of a program that cannot be routed, with the place of its picture: beside the other stages, else in ``out``
    unless something else has its name there."""
    folder = dump or Dump(Path("out"))
    try:
        folder.write({UNROUTABLE: failure.picture})
    except UserError:
        return UserError(failure.what, failure.where, f"{failure.fix}; its picture is written if a folder is given as dump")
    return UserError(failure.what, failure.where, f"{failure.fix}; the picture is {folder.folder / UNROUTABLE}")
