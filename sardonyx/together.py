"""Several programs on one system: its processor configures the machine for one after the other, or regions for some at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import api, timeline
from .compiler.lang.einsum import parse
from .compiler.sparse.fuse import alone
from .dump import VERILOG, Dump
from .execute import Job
from .hw.arch import presets
from .hw.arch.cgra import Arch
from .hw.arch.errors import UserError
from .hw.arch.system import System
from .outcome import Outcome, silent
from .picture_job import Wanted
from .runtime import firmware, toolchain
from .runtime.plan import loops_of_transactions
from .sim import system
from .statements import job_of

# The serial line of the demo is fast: what it says takes no time of the simulation.
DEMO_SYSTEM = System(processor=True, serial_cycles=4)
PICTURE, COMMANDS = "timeline.svg", "commands.c"


def demo_arch() -> Arch:
    """The machine of the demo: preset `small` behind a processor, with queues, so that launches of a product are in one run."""
    small = presets.get("small")
    return replace(small, system=DEMO_SYSTEM, glb=replace(small.glb, queue=True))




def run(jobs: Mapping[str, Job], arch: Arch, progress: Callable[[str], None] = silent, periods: tuple[int, int] = (1, 1),
        columns: Sequence[int] = (), regions: Mapping[str, int] | None = None) -> tuple[system.Ran, dict[str, dict[str, Any]]]:
    """Run compiled jobs, of one part each, in a simulated system, and check all.

    Their operands are in memory outside. Without `columns` they run one after the other on the whole machine. Else it is split
    into regions of so many columns each, from the west; jobs are compiled for `runtime.region.part` of so many. Each begins in
    the first region of its width that is free, and those of one region run one after the other.

    Returns what the system did, and of every job what its report says: `cycles` of the machine's clock, `switch_cycles` and
    `cycles_with_transfers` of the processor's.

    periods: of the clocks of processor and machine, in any common unit, for a machine with `system.own_clock`. regions: the
    number of the region of jobs that have no choice.

    A job that is stopped ends no other one: the others are checked, then what stopped it is raised.
    """
    where = dict(regions or {})
    if unknown := [name for name in where if name not in jobs]:
        raise UserError(f"there is no job '{unknown[0]}' to have a region", "regions", f"name one of {', '.join(jobs)}")
    parts = {name: iter(job.parts()) for name, job in jobs.items()}
    data = {name: next(each) for name, each in parts.items()}
    most = loops_of_transactions(arch.glb)
    made = [firmware.Job(name, jobs[name].compiled.program, part.transactions(most), part.bounds(), where.get(name))
            for name, part in data.items()]
    ran = system.run_jobs(made, [part.take for part in data.values()], arch, progress, periods=periods, columns=columns)
    reports: dict[str, dict[str, Any]] = {}
    for number, (name, job) in enumerate(jobs.items()):
        if ran.stopped(number):
            continue
        assert next(parts[name], None) is None, f"program {name} has one part"
        _, checked = job.check()
        configured, computed = ran.spans(number, "configure"), ran.spans(number, "start")
        reports[name] = {
            **job.facts(), **_placed(ran, number, columns), f"{job.checks}_checked": checked, "launches": len(computed),
            "cycles": ran.machine_cycles(number), "switch_cycles": sum(end - start for start, end in configured),
            "cycles_with_transfers": ran.left(number) - configured[-1][1]}
    for number, name in enumerate(jobs):
        if reason := ran.stopped(number):
            raise _of(reason, name, len(reports))
    return ran, reports


def _of(reason: UserError | AssertionError, name: str, others: int) -> UserError | AssertionError:
    """What stopped a job, with its name."""
    what = f"program '{name}' was stopped, and {others} others are done and right"
    if isinstance(reason, UserError):
        return UserError(f"{what}: {reason.what}", reason.where, reason.fix)
    return AssertionError(f"{what}: {reason}")


def _placed(ran: system.Ran, job: int, columns: Sequence[int]) -> dict[str, object]:
    """Where a job ran, for its report, on a machine that is split."""
    region = ran.report.jobs[job].region
    if not columns or region is None:
        return {}
    place = ran.firmware.places[region]
    first = place.first * place.arch.glb.columns_per_tile
    return {"region": f"{region}, columns {first}..{first + place.arch.columns - 1}"}


def demo(out: Path, progress: Callable[[str], None] = silent) -> Outcome:
    """Let a RISC-V processor run a sparse matrix product and a blur on `demo_arch`, and check every word.

    Writes the timeline as a picture, the firmware's commands and the Verilog into `out`.
    """
    import skimage.data

    from . import halide
    from .apps.dense import gaussian

    began = time.perf_counter()
    folder, arch = Dump.made(out), demo_arch()
    folder.check([PICTURE, COMMANDS], VERILOG)
    toolchain.tools()       # before all that takes longer
    progress("compiling the programs")
    matrix, what = api.demo_matrix(None)
    operands = {"B": matrix, "C": matrix}
    compiles = job_of(alone(parse(api.MATRIX_PRODUCT)), operands, arch).compiles
    product = compiles(silent, None)
    photo = halide.prepared(gaussian.build(), {"photo": skimage.data.camera()}, None, {}, progress)
    blur = photo.job(Wanted(photo.size, None, None, arch, 0), lambda stage: progress(f"compiling the blur: {stage}"))
    ran, reports = run({"product": product, "blur": blur}, arch, progress)
    rows = _rows(ran, list(reports))
    folder.write({PICTURE: timeline.picture(rows, ran.cycles), COMMANDS: ran.firmware.commands})
    report = {"processor": "PicoRV32, RV32IM", "arch": arch.name, "matrix": what, **reports, "cycles": ran.cycles,
              "serial_line": ran.line.strip(), "simulated_cycles_per_s": round(ran.cycles / max(1e-9, ran.simulate_s)),
              "build_s": round(ran.build_s, 1), "simulate_s": round(ran.simulate_s, 2), "timeline": str(out / PICTURE),
              "firmware": str(out / COMMANDS), "verilog": str(folder.keep(ran.verilog)),
              "elapsed_s": round(time.perf_counter() - began, 2)}
    return Outcome(report, timeline.text(rows, ran.cycles))


def _rows(ran: system.Ran, names: Sequence[str]) -> list[timeline.Row]:
    """What was at work when."""
    return [
        timeline.Row("configuration", tuple(span for number in range(len(names)) for span in ran.spans(number, "configure"))),
        *(timeline.Row(name, tuple(ran.spans(number, "start"))) for number, name in enumerate(names)),
        timeline.Row("words in", ran.brought), timeline.Row("words out", ran.taken)]
