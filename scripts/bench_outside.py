"""Whole programs whose operands and results are in memory outside of a system, against what bounds them."""

from __future__ import annotations

from importlib import import_module

import skimage.data
from bench_row import Row

import sardonyx
import sardonyx.halide
from sardonyx import api, statements, together
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.fuse import alone
from sardonyx.execute import Job
from sardonyx.hw.arch.cgra import Arch
from sardonyx.outcome import silent
from sardonyx.picture_job import Wanted
from sardonyx.runtime import host
from sardonyx.runtime.plan import launches, loops_of_transactions

MOST = 1.05


def outside() -> list[Row]:
    """A picture, in one and in four lanes, and a sparse product, from memory outside and back, by firmware."""
    blur = import_module("sardonyx.apps.dense.gaussian").build()
    photo = sardonyx.halide.prepared(blur, {"photo": skimage.data.camera()}, None, {}, silent)
    arch, rows = together.demo_arch(), []
    for what, lanes in (("", None), (", in four lanes", 4)):
        job = photo.job(Wanted(photo.size, None, lanes, arch, 0), silent)
        rows += [_inside(f"gaussian, 512 x 512 pixels in{what}, on `small` with queues, all words in the global buffer: cycles "
                         "from start to done of all launches / words that a lane reads, one a cycle", job, arch),
                 _row(f"gaussian, 512 x 512 pixels in{what}, on `small` behind a processor, with queues, memory outside 50 "
                      "cycles away: cycles from configured to the last word outside / the most of those that compute with "
                      "all words in the global buffer, and of beats in and out; configuring", job, arch)]
    matrix, _ = api.demo_matrix(None)
    product = statements.job_of(alone(parse(api.MATRIX_PRODUCT)), {"B": matrix, "C": matrix}, arch).compiles(silent, None)
    return [*rows, _row("les_miserables times itself there: the same", product, arch)]


def _inside(what: str, job: Job, arch: Arch) -> Row:
    """A picture, whose lanes read as many words each: no machine with a word a cycle for each takes fewer cycles."""
    program, data = job.compiled.program, next(iter(job.parts()))
    found = launches(program, arch, data.transactions(loops_of_transactions(arch.glb)), data.bounds())
    spent, words = computing(job, arch), sum(each.loaded for each in found) // len(program.loads)
    return Row(what, f"{spent:,} / {words:,} = {spent / words:.3f}", f"<= {MOST}", spent <= MOST * words)


def _row(what: str, job: Job, arch: Arch) -> Row:
    ran, _ = together.run({"job": job}, arch)
    (begun, configured), = ran.spans(0, "configure")
    brought, taken = ran.beats(0)
    # In one run launches follow each other sooner than a host starts them.
    bounds = {"compute": min(computing(job, arch), ran.machine_cycles(0)), "in": brought, "out": taken}
    spent, most = ran.left(0) - configured, max(bounds.values())
    told = ", ".join(f"{name} {cycles:,}" for name, cycles in bounds.items())
    return Row(what, f"{spent:,} / max({told}) = {spent / most:.3f}; {configured - begun:,}", f"<= {MOST}",
               spent <= MOST * most)


def computing(job: Job, arch: Arch) -> int:
    """Cycles from start to done of a job of one part whose words are all in the global buffer: no launch waits for any."""
    data = next(iter(job.parts()))
    with sardonyx.simulated(arch) as machine:
        return sum(launch.cycles for launch in host.run(machine, job.compiled.program,
                                                        data.transactions(loops_of_transactions(arch.glb)), data.bounds()))
