"""Sums inside a function are whole in a sub-tile, or the host applies the function."""

import dataclasses

import numpy as np
import pytest
from statements import random_operands
from tilings import MATMUL, message, run

from sardonyx.compiler.lang.einsum import LOCATED, parse
from sardonyx.compiler.lang.kernel import load_kernel
from sardonyx.compiler.sparse.estimate import cycles
from sardonyx.compiler.sparse.normalize import normalize
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.sim.golden import einsum as golden
from sardonyx.tensors.values import random_tensor, to_coo

MATMUL_RELU = parse("X(i,j) = relu(B(i,k) * C(k,j) - 2)")


def test_an_index_that_is_summed_inside_a_function_is_not_cut():
    operands = {"B": random_tensor((20, 30), 0.3, 1), "C": random_tensor((30, 10), 0.3, 2)}
    for edges in (4, {"i": 4, "j": 4}):
        work = tile(MATMUL_RELU, operands, 1024, edges)
        assert work.edges == {"i": 4, "j": 4, "k": 30} and work.after is None
    factor = parse("x(i) = D(i,j) * relu(B(j,k) * c(k))")
    data = {"D": random_tensor((20, 20), 0.3, 1), "B": random_tensor((20, 30), 0.3, 2), "c": random_tensor((30,), 0.5, 3)}
    assert tile(factor, data, 1024, 4).edges == {"i": 4, "j": 4, "k": 30}


@pytest.mark.parametrize("capacity,edges", [(24, None), (24, 4), (1024, {"k": 7})])
def test_a_function_of_the_result_is_the_hosts_where_the_sum_inside_it_is_cut(capacity, edges):
    operands = {"B": random_tensor((20, 30), 0.9, 1), "C": random_tensor((30, 10), 0.9, 2)}
    work = tile(MATMUL_RELU, operands, capacity, edges)
    assert str(work.einsum.expr) == "B(i,k) * C(k,j)" and str(work.after) == "relu(X(i,j) - 2)"
    assert work.edges["k"] < 30
    assert work.combine(run(work)) == golden.evaluate(MATMUL_RELU, operands)


def test_the_host_applies_no_function_to_sums_that_are_not_0_where_tensors_are():
    program = parse("x(i) = relu(b(i) + 3 + C(i,j) - 5)")
    operands = {"b": to_coo(np.ones(1, int)), "C": to_coo(np.ones((1, 3000), int))}
    assert "not even tiles of one element, with the whole of j" in message(tile, program, operands, 1024)
    assert "index j is summed inside a function" in message(tile, program, operands, 4096, {"j": 2})


def test_the_host_applies_a_function_where_cutting_what_is_inside_saves_most_cycles():
    operands = {name: random_tensor((400, 400), 0.003, seed) for seed, name in enumerate("BC")}
    work = tile(MATMUL_RELU, operands, 1024)
    assert work.after is not None and work.edges["k"] < 400
    assert work.combine(run(work)) == golden.evaluate(MATMUL_RELU, operands)


@pytest.mark.parametrize("locate", LOCATED)
def test_sub_tiles_below_a_function_are_as_good_where_levels_are_located(locate):
    program = dataclasses.replace(load_kernel("spmm_ijk_relu").einsum(), locate=locate)
    operands = {"B": random_tensor((33, 31), 0.2, 0), "C": random_tensor((31, 36), 0.2, 1)}
    work = tile(program, operands, 1024)
    assert work.edges == {"i": 1, "j": 36, "k": 1} and str(work.after) == "relu(X(i,j))"
    assert work.combine(run(work)) == golden.evaluate(program, operands)


def test_a_function_that_costs_less_than_twice_the_cycles_stays_in_the_array():
    program = load_kernel("matmul_ikj_relu").einsum()
    operands = {"B": random_tensor((40, 50), 0.2, 0), "C": random_tensor((50, 36), 0.2, 1)}
    inner = parse(f"X(i,j) = {MATMUL.expr}")
    whole, cut = tile(program, operands, 1024), tile(inner, operands, 1024)
    assert whole.after is None and cycles(normalize(inner), cut) < cycles(normalize(program), whole)


def test_a_function_inside_the_result_is_refused_where_the_sum_inside_it_does_not_fit():
    program = parse("x(i) = d(i) * relu(B(i,k) * c(k))")
    operands = {"d": to_coo(np.ones(4, int)), "B": to_coo(np.ones((4, 30), int)), "c": to_coo(np.ones(30, int))}
    assert message(tile, program, operands, 24) == (
        f"{program.text}: not even tiles of one element, with the whole of k, which is summed inside a function, fit 24 words\n"
        "  try: use an array with larger level buffers")
    assert message(tile, program, operands, 1024, {"k": 3}) == (
        f"{program.text}: index k is summed inside a function, so that it cannot be cut\n  try: give no tile edge for k")


def test_an_index_that_is_accumulated_inside_a_function_is_not_cut():
    einsum = parse("X(i,j) = relu(B(i,k) * C(k,j))", "kij")
    operands = random_operands(einsum, {"i": 40, "j": 37, "k": 50}, [0.1], 1)
    tiling = tile(einsum, operands, 512)
    assert (tiling.edges["k"], max(tiling.edges["i"], tiling.edges["j"]) <= 32) == (50, True)
    assert tiling.combine(run(tiling)) == golden.evaluate(einsum, operands)
