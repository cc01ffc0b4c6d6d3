"""Whole programs with all words in the global buffer, and with all in memory outside of a system, against what bounds them.

A bound is of no run of the system: cycles of the machine for the same work whose words are in the global buffer, and 64-bit
beats in and out. Where the processor has a clock of its own all is in cycles of the machine's, and a beat takes one of the
processor's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module

import bench_held
import skimage.data
from bench_row import Given, Left, Row

import sardonyx
import sardonyx.halide
from sardonyx import together
from sardonyx.execute import Job
from sardonyx.hw.arch.cgra import Arch
from sardonyx.outcome import silent
from sardonyx.picture_job import Wanted
from sardonyx.runtime import host
from sardonyx.runtime.plan import launches, loops_of_transactions

MOST = 1.05
# Clocks of processor and machine of 500 and 970 MHz, as the papers have them.
ONE, TWO = (1, 1), (97, 50)
LES_MISERABLES, WEST = "les_miserables", "west2021"
MATRIX = f"{WEST}.mtx.gz"
NO_MATRIX = f"needs DATA=folder with {MATRIX}"
FAR = ("behind a processor, with queues, memory outside 50 cycles away: cycles from configured to the last word outside / the "
       "most of those that compute with all words in the global buffer, and of beats in and out; launches; configuring")
NEAR = ("with queues, all words in the global buffer: cycles from start to done of all launches / words that a lane reads, one "
        "a cycle")
OTHER_CLOCK = "processor and memory outside at 500 MHz, the machine at 970 MHz, in cycles of the machine"


def outside(given: Given) -> Iterator[Row | Left]:
    """A picture, in one and in four lanes, and sparse products: as words lie in the global buffer, and from memory outside and
    back, by firmware."""
    matrices = {LES_MISERABLES: None, WEST: given.data and given.data / MATRIX}
    computes: dict[str, int] = {}
    for name, what in ((LES_MISERABLES, bench_held.NAME), (WEST, f"the same, `{WEST}` times itself")):
        matrix = matrices[name]
        if name == WEST and (matrix is None or not matrix.is_file()):
            yield Left(what, NO_MATRIX)
            continue
        row, computes[name] = bench_held.held(matrix, what)
        yield row
    yield from pictures()
    for name in (WEST, LES_MISERABLES):
        for periods, what in ((ONE, f"{name} times itself, on `small` {FAR}"), (TWO, f"the same, {name}, {OTHER_CLOCK}")):
            if name in computes:
                arch = machine(periods)
                yield ran(what, bench_held.product(matrices[name], arch), arch, computes[name], periods)
            else:
                yield Left(what, NO_MATRIX)


def pictures() -> Iterator[Row]:
    """A blur in one and in four lanes; in one with two clocks, too."""
    blur = import_module("sardonyx.apps.dense.gaussian").build()
    photo = sardonyx.halide.prepared(blur, {"photo": skimage.data.camera()}, None, {}, silent)
    for lanes, which in ((None, ""), (4, ", in four lanes")):
        arch = machine(ONE)
        job = photo.job(Wanted(photo.size, None, lanes, arch, 0), silent)
        inside, computes = _inside(f"gaussian, 512 x 512 pixels in{which}, on `small` {NEAR}", job, arch)
        yield inside
        yield ran(f"gaussian, 512 x 512 pixels in{which}, on `small` {FAR}", job, arch, computes)
        if lanes is None:
            two = machine(TWO)
            yield ran(f"the same, gaussian, {OTHER_CLOCK}", photo.job(Wanted(photo.size, None, lanes, two, 0), silent), two,
                      computes, TWO)


def machine(periods: tuple[int, int]) -> Arch:
    """That of the demo, whose processor has a clock of its own if periods differ."""
    arch = together.demo_arch()
    return replace(arch, system=replace(arch.system, own_clock=periods != ONE))


def _inside(what: str, job: Job, arch: Arch) -> tuple[Row, int]:
    """A picture, whose lanes read as many words each: no machine with a word a cycle for each takes fewer cycles; and those
    that it takes."""
    program, data = job.compiled.program, next(iter(job.parts()))
    found = launches(program, arch, data.transactions(loops_of_transactions(arch.glb)), data.bounds())
    spent, words = computing(job, arch), sum(each.loaded for each in found) // len(program.loads)
    return Row(what, f"{spent:,} / {words:,} = {spent / words:.3f}", f"<= {MOST}", spent <= MOST * words), spent


def ran(what: str, job: Job, arch: Arch, computes: int, periods: tuple[int, int] = ONE) -> Row:
    """A job in the system, against the bounds; computes: cycles of the machine with all words in the global buffer."""
    found, _ = together.run({"job": job}, arch, periods=periods)
    (begun, configured), = found.spans(0, "configure")
    cycles = {name: spent * periods[0] // periods[1] for name, spent in
              zip(("all", "configuring", "in", "out"), (found.left(0) - configured, configured - begun, *found.beats(0)),
                  strict=True)}
    most = max(computes, cycles["in"], cycles["out"])
    return Row(what, f"{cycles['all']:,} / max(compute {computes:,}, in {cycles['in']:,}, out {cycles['out']:,}) = "
               f"{cycles['all'] / most:.3f}; {len(found.firmware.launches[0])}; {cycles['configuring']:,}", f"<= {MOST}",
               cycles["all"] <= MOST * most)


def computing(job: Job, arch: Arch) -> int:
    """Cycles from start to done of a job of one part whose words are all in the global buffer: no launch waits for any."""
    data = next(iter(job.parts()))
    with sardonyx.simulated(arch) as device:
        return sum(launch.cycles for launch in host.run(device, job.compiled.program,
                                                        data.transactions(loops_of_transactions(arch.glb)), data.bounds()))
