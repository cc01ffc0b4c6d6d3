"""Programs on a simulated system: compiled to firmware, run by its processor, read out of the memory outside.

Input:   `Job`s, Arch; a machine without a processor gets one.
Output:  what every transaction stored, job by job, and `Ran`.
Errors:  UserError without a C compiler, or where memory is too small; AssertionError where the processor does not end. What
         stops a job ends no other one, and is told by `Ran.stopped`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..compiler.ir.program import Program, Site
from ..hw.arch.cgra import Arch, with_processor
from ..hw.arch.errors import UserError
from ..hw.arch.glb import LANES
from ..hw.tables import header
from ..runtime import memories, toolchain
from ..runtime.commands import Read, WriteMemory
from ..runtime.data.blocks import Blocks
from ..runtime.faults import stopped
from ..runtime.firmware import Firmware, Job, firmware, stored
from ..runtime.report import Mark, Report, read_report
from ..runtime.rows import lines
from .rtl.system import LATENCY, MEMORY_BYTES, SimulatedSystem

# First cycle of a span, and the first after it; cycles of the processor's clock since reset.
Span = tuple[int, int]


@dataclass(frozen=True)
class Ran:
    """What a system did; all cycles but `machine_cycles` are of the processor's clock.

    Parameters
    ----------
    firmware : Firmware
    report : Report
    cycles : int              From reset until the processor stood still.
    brought, taken : tuple    Spans in which words came from memory outside, and went there.
    line : str                What the serial line said.
    build_s, simulate_s       Seconds spent on building the simulation, and in it.
    verilog : Path            Folder of the Verilog that ran.
    periods : tuple           Of the clocks of processor and machine.
    saved : mapping           Of jobs that keep their memories and that none resumes, by number: the program with what those
                              held that it uses.
    """

    firmware: Firmware
    report: Report
    cycles: int
    brought: tuple[Span, ...]
    taken: tuple[Span, ...]
    line: str
    build_s: float
    simulate_s: float
    verilog: Path
    periods: tuple[int, int]
    saved: Mapping[int, Program]

    def stopped(self, job: int) -> UserError | AssertionError | None:
        """Why a job was stopped; None if it was not. What it stored is lost, also of launches that had ended."""
        fate = self.report.jobs[job]
        if fate.done:
            return None
        assert fate.status is not None, "a job that began is done or was stopped"
        return stopped(fate.status, f"region {fate.region}" if len(self.firmware.places) > 1 else "")

    def check(self) -> None:
        """Raise why a job was stopped, the first one of those that were."""
        for job in range(len(self.report.jobs)):
            if reason := self.stopped(job):
                raise reason

    def spans(self, job: int, what: str) -> list[Span]:
        """When a job was configured (``configure``) or its launches computed (``start``), by the notes of the processor.

        When the last word of a configuration was in its tile the machine counts, and the processor sees later; what was started
        before begins there.
        """
        until = {"configure": "configured", "start": "end"}[what]
        times = {(mark.what, mark.launch): time for mark, time in self._noted(self.report.times) if mark.job == job and time}
        if configured := times.get(("configured", 0)):
            cycles = next(each for mark, each in self._noted(self.report.cycles) if mark == Mark(job, "configured"))
            configured = min(configured, times["streams", 0] - -cycles * self.periods[1] // self.periods[0])
            times |= {key: max(configured, time) for key, time in times.items() if key[0] == "start"}
            times["configured", 0] = configured
        return [(begun, times[until, launch]) for (name, launch), begun in times.items()
                if name == what and (until, launch) in times]

    def left(self, job: int) -> int:
        """When the last word of a job had gone to memory outside: the answer to the last write that the processor waited for;
        by its own notes where others go on."""
        noted = next(time for mark, time in self._noted(self.report.times) if mark.job == job and mark.what == "left")
        return min(noted, max((span for span in self.taken if span[0] < noted), default=(0, noted))[1])

    def machine_cycles(self, job: int) -> int:
        """Cycles of its own clock that the machine counted in the launches of a job."""
        return sum(cycles for mark, cycles in self._noted(self.report.cycles) if mark.job == job and mark.what == "end")

    def beats(self, job: int) -> tuple[int, int]:
        """64-bit beats in which the operands of a job come, and its results go, at least: as they lie."""
        launches = self.firmware.launches[job]
        brought = sum(lines(each.box) if each.box is not None else -(-each.words.size // LANES)
                      for launch, _ in launches for each in launch.loads if isinstance(each, WriteMemory))
        taken = sum(lines(each.landing) for launch, _ in launches for each in launch.reads
                    if isinstance(each, Read) and each.landing is not None)
        words = (self.report.counts[each.count] if each.words is None else each.words
                 for _, results in launches for each in results if each.image is None)
        return brought, taken + sum(-(-each // LANES) for each in words)

    def _noted(self, what: Sequence[int]) -> Iterator[tuple[Mark, int]]:
        return zip(self.firmware.layout.marks, what, strict=True)


def run_jobs(jobs: Sequence[Job], takes: Sequence[Callable[[Blocks], None]], arch: Arch,
             progress: Callable[[str], None], cache: Path | None = None, periods: tuple[int, int] = (1, 1),
             latency: int = LATENCY, columns: Sequence[int] = ()) -> Ran:
    """Run jobs, as `firmware` orders them, and give what each transaction stored to the job's function of `takes`; of jobs that
    were stopped nothing (`Ran.stopped`).

    periods, latency: see `SimulatedSystem`. columns: see `firmware`.
    """
    arch = with_processor(arch)
    progress("compiling the firmware")
    made = firmware(jobs, arch, MEMORY_BYTES, columns)
    image = toolchain.compiled(made, arch, header(arch))
    progress(f"preparing the Verilog of '{arch.name}' and its processor")
    with SimulatedSystem(arch, latency=latency, cache=cache, periods=periods) as system:
        progress("simulating the system")
        began = time.perf_counter()
        for address, content in (*made.content, (0, image.memory), (made.place, image.pages)):
            system.write(address, content)
        # What it says of the machine are cycles of another clock.
        limit = made.limit + made.limit * periods[1] // periods[0] if arch.system.own_clock else made.limit
        cycles = system.run(limit)
        assert cycles is not None, f"the processor did not end within {limit} cycles"
        report = read_report(made.layout, system.read(made.report, 2 * made.layout.words).view("<u4"))
        assert not report.faults, f"the firmware met faults {report.faults:#x} of the host"
        assert report.ended == all(fate.done for fate in report.jobs), "all is done when each job is"
        for number, (job, take) in enumerate(zip(jobs, takes, strict=True)):
            if not report.jobs[number].done:
                continue
            for blocks in stored(made, number, job.program, report.counts, system.read):
                for block in blocks:
                    take(block)
        resumed = {job.resumes for job in jobs}
        kept = {number: _kept(system, job, made.saved[number])
                for number, (job, fate) in enumerate(zip(jobs, report.jobs, strict=True))
                if job.keeps and fate.done and number not in resumed}
        return Ran(made, report, cycles, tuple(system.moves(False)), tuple(system.moves(True)), system.line.decode("ascii"),
                   system.model.build_s, time.perf_counter() - began, system.model.executable.parent / "verilog",
                   periods, kept)


def _kept(system: SimulatedSystem, job: Job, places: Mapping[Site, int]) -> Program:
    """The program of a job with what it has kept of its memories; places: as of `Firmware.saved`."""
    return memories.holding(job.program, {
        site: system.read(place, 2 * system.arch.mem.buffer_words) for site, place in places.items()})
