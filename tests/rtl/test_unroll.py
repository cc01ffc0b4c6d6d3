"""Copies of a program beside each other in generated Verilog: the words of NumPy, and about as many times fewer cycles."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from machines import COPIES, KERNELS, PLACED

import sardonyx
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.ir.program import Program
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError
from sardonyx.options import DISPATCH
from sardonyx.runtime import host
from sardonyx.runtime.data.blocks import Blocks
from sardonyx.runtime.data.rounds import Rounds
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.sim import engines
from sardonyx.sim.expected import expected
from sardonyx.sim.rtl import simulator
from sardonyx.tensor_job import TensorJob
from sardonyx.tensors import values

RANDOM = np.random.default_rng(3)
B = scipy.sparse.csr_array(RANDOM.integers(-3, 4, (90, 71)) * (RANDOM.random((90, 71)) < 0.15))
C = RANDOM.integers(-3, 4, 71)
# Sub-tiles of 20 have 0 to 20 nonzeros.
UNEVEN = RANDOM.integers(-3, 4, 1000) * (RANDOM.random(1000) < np.repeat(RANDOM.random(50) ** 3, 20))


def run(copies: int, dispatch: str = "order"):
    result = sardonyx.einsum("x(i) = B(i,j) * c(j)", B=B, c=C, arch=KERNELS, engine="rtl-full", tile=9, unroll=copies,
                             order="ij", dispatch=dispatch)
    assert (result.value == B @ C).all()
    return result


@pytest.mark.parametrize("dispatch", ["order", "sorted", "expected"])
def test_two_copies_take_about_half_the_cycles(dispatch):
    one, two = run(1), run(2, dispatch)
    assert one.cycles / two.cycles > 1.8
    assert one.report["bottleneck"].startswith("PEs: intersect_j is busy for 9")
    assert two.report["bottleneck"].startswith(("PEs: intersect_j.", "imbalance: "))


def shared(statement: str, arch: Arch, copies: int, dispatch: str, groups: int):
    """The checked job of copies in so many groups, and how it ran on all tiles."""
    data, program = {"b": values.to_coo(UNEVEN, "b")}, parse(statement)
    work = Work(tile(program, data, arch.mem.level_words, 20))
    compiled = compile_einsum(program, arch, copies=copies, dynamic=dispatch == "dynamic", groups=groups)
    job = TensorJob(compiled, data, work, dispatch=dispatch)
    part, = job.parts()
    return job, engines.run("rtl-full", compiled, part, part.take)


@pytest.mark.parametrize("statement,arch,copies,groups", [
    ("x = b(i)", COPIES, 5, 1), ("x = b(i)", PLACED, 5, 2), ("x(i) = b(i)", PLACED, 3, 1)],
    ids=("ordered by the host", "two groups", "a level"))
@pytest.mark.parametrize("dispatch", DISPATCH)
def test_copies_that_share_links_give_every_result_in_its_place(statement, arch, copies, groups, dispatch):
    """Every word is compared, sub-tile by sub-tile; copies end when they like, and dynamic ones also begin so."""
    job, ran = shared(statement, arch, copies, dispatch, groups)
    value, checked = job.check()
    assert (value == (UNEVEN.sum() if statement.startswith("x =") else UNEVEN)).all() and checked >= len(job)
    assert ran.launches == 1
    facts = job.facts()
    assert facts["results"] == ("placed by output addresses" if arch is PLACED else "ordered by the host")
    assert facts["copies"] == copies and facts["balance"] > (0.6 if dispatch == "order" else 0.7)


def rounds_of(arch: Arch, vector: np.ndarray, edge: int, given: list, dispatch: str = "order") -> tuple[Program, Rounds]:
    """Three copies that share their links, and what they have to do."""
    program = parse("x(i) = b(i)")
    compiled = compile_einsum(program, arch, copies=3, groups=1, dynamic=dispatch == "dynamic")
    work = Work(tile(program, {"b": values.to_coo(vector, "b")}, arch.mem.level_words, edge))
    return compiled.program, Rounds(work, compiled.copies, dispatch, given.append)


def test_a_result_that_is_longer_than_its_slot_ends_the_run():
    """Where a plan gives results less room than they take."""
    program, rounds = rounds_of(PLACED, UNEVEN, 20, [])
    least = dict.fromkeys(rounds.bounds(), 3 * 4)
    with simulator.whole_machine(PLACED).start(check=True) as machine, \
            pytest.raises(UserError, match="a result is larger than its part of the global buffer"):
        list(host.run(machine, program, rounds.transactions(), least))


@pytest.mark.slow
@pytest.mark.parametrize("dispatch", ["order", "dynamic"])
def test_results_of_launches_in_one_run_have_their_places_though_copies_run_ahead(dispatch):
    """Blocks of a launch that is queued come before the last ones of the launch before."""
    given = list[Blocks]()
    arch = replace(PLACED, name="placed queue", glb=replace(PLACED.glb, queue=True, bank_bytes=32768))
    program, rounds = rounds_of(arch, np.tile(UNEVEN, 12), 5, given, dispatch)
    with simulator.whole_machine(arch).start(check=True) as machine:
        outcomes = list(host.run(machine, program, rounds.transactions(), rounds.bounds(), chained=True))
    assert len(outcomes) > 2
    for outcome in outcomes:
        for stored in outcome.stored:
            rounds.take(stored)
    for found, should in zip(given, expected(rounds.work), strict=True):
        assert found.keys() == should.keys() and all(np.array_equal(found[name], should[name]) for name in should)
