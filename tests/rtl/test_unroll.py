"""Copies of a program beside each other in generated Verilog: the words of NumPy, and about as many times fewer cycles."""

import numpy as np
import pytest
import scipy.sparse
from machines import COPIES, KERNELS

import sardonyx
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.options import DISPATCH
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.sim import engines
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


def shared(statement: str, copies: int, dispatch: str, groups: int):
    """The checked job of copies in so many groups, and how it ran on all tiles."""
    data, program = {"b": values.to_coo(UNEVEN, "b")}, parse(statement)
    work = Work(tile(program, data, COPIES.mem.level_words, 20))
    compiled = compile_einsum(program, COPIES, copies=copies, dynamic=dispatch == "dynamic", groups=groups)
    job = TensorJob(compiled, data, work, dispatch=dispatch)
    part, = job.parts()
    return job, engines.run("rtl-full", compiled, part, part.take)


@pytest.mark.parametrize("statement,copies,groups", [("x = b(i)", 5, 1), ("x = b(i)", 5, 2), ("x(i) = b(i)", 3, 1)])
@pytest.mark.parametrize("dispatch", DISPATCH)
def test_copies_that_share_links_give_every_result_in_its_place(statement, copies, groups, dispatch):
    """Every word is compared, sub-tile by sub-tile; copies end when they like, and dynamic ones also begin so."""
    job, ran = shared(statement, copies, dispatch, groups)
    value, checked = job.check()
    assert (value == (UNEVEN.sum() if statement.startswith("x =") else UNEVEN)).all() and checked >= len(job)
    assert ran.launches == 1
    facts = job.facts()
    assert facts["copies"] == copies and facts["balance"] > (0.6 if dispatch == "order" else 0.7)
