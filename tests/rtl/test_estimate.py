"""The estimate of cycles against those of the generated Verilog (`scripts/bench_edges.py` has many more operands)."""

import pytest
from collect import simulated
from machines import KERNELS

from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.lang.kernel import load_kernel
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.tensors.values import random_tensor


@pytest.mark.parametrize("name,extents,density,edges", [
    ("spmspm", (60, 50, 70), 0.08, None), ("spmspm", (60, 50, 70), 0.08, 12),
    ("spmspm", (30, 30, 30), 0.3, {"k": 1}),
    ("mat_elemadd", (60, 50), 0.1, None), ("mat_elemadd", (60, 50), 0.1, 9), ("vec_elemmul", (1700,), 0.4, 850),
    ("spmv", (80, 90), 0.1, None), ("spmv", (80, 90), 0.1, 3), ("residual", (50, 60), 0.1, 10),
    ("ttv", (19, 20, 21), 0.2, None)])
def test_the_estimate_is_within_a_tenth_of_the_cycles_of_the_verilog(name, extents, density, edges):
    expected, cycles = compared(name, extents, density, edges)
    assert expected == pytest.approx(cycles, rel=0.1)


@pytest.mark.parametrize("name,extents,density,edges", [
    ("matmul_ikj", (60, 50, 70), 0.08, None), ("matmul_ikj", (30, 30, 30), 0.3, 30), ("matmul_kij", (50, 60, 70), 0.08, 16),
    ("matmul_kji", (31, 32, 30), 0.1, None), ("mat_vecmul_ji", (80, 90), 0.1, 16)])
def test_that_of_an_accumulator_whose_values_fall_anywhere_is_within_a_seventh(name, extents, density, edges):
    expected, cycles = compared(name, extents, density, edges)
    assert expected == pytest.approx(cycles, rel=1 / 7)


def compared(name, extents, density, edges):
    """Cycles as estimated and as they are."""
    einsum = load_kernel(name).einsum()
    sizes = dict(zip(einsum.order, extents, strict=True))
    operands = {access.tensor: random_tensor(tuple(sizes[index] for index in access.indices),
                                             1.0 if "d" in access.format.letters else density, seed)
                for seed, access in enumerate(einsum.operands)}
    work = Work(tile(einsum, operands, KERNELS.mem.level_words, edges))
    program = compile_einsum(einsum, KERNELS).program
    _, run = simulated(program, KERNELS, list(work.transactions()), full=True, bounds=work.bounds())
    return work.cycles(), run.cycles
