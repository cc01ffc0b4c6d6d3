"""Operands are cut so that the sum over all sub-tiles is the whole result, by edges that are good ones."""

import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statements import DENSE, agreeing, random_operands
from tilings import MATMUL, run

from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.lang.kernel import kernel_names, load_kernel
from sardonyx.compiler.sparse.estimate import cycles
from sardonyx.compiler.sparse.normalize import normalize
from sardonyx.compiler.sparse.pairing import pair
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.sim.golden import einsum as golden
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.fibertree import build
from sardonyx.tensors.values import random_tensor, to_coo


@pytest.mark.parametrize("text", DENSE)
@settings(max_examples=12)
@given(extents=st.lists(st.sampled_from([1, 3, 7, 10]), min_size=4, max_size=4), edge=st.integers(1, 4),
       densities=st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0]), min_size=3, max_size=3),
       seed=st.integers(0, 99))
def test_the_sum_over_all_items_is_the_whole_result(text, extents, edge, densities, seed):
    einsum = parse(text)
    operands = random_operands(einsum, agreeing(einsum, extents), densities, seed)
    tiling = tile(einsum, operands, 1024, edge)
    assert tiling.combine(run(tiling)) == golden.evaluate(einsum, operands)


def test_an_index_without_extent_that_has_no_edge_is_no_work():
    program = parse("x(i) = A(i) - B(l) * C(l,i)")
    operands = {"A": to_coo(np.ones(2, int)), "B": to_coo(np.zeros(0, int)), "C": to_coo(np.zeros((0, 2), int))}
    work = tile(program, operands, 1024, {"i": 2})
    assert work.combine(run(work)) == golden.evaluate(program, operands)


@pytest.mark.parametrize("name", kernel_names())
def test_chosen_edges_fit_the_buffers_and_give_the_whole_result(name):
    kernel = load_kernel(name)
    einsum = kernel.einsum()
    for seed, shape in enumerate(kernel.shapes):
        operands = random_operands(einsum, dict(shape), [0.3], seed)
        tiling = tile(einsum, operands, 32)
        results = list(run(tiling))
        assert tiling.combine(results) == golden.evaluate(einsum, operands)
        trees = [build(result, einsum.result.format) for result in results]
        trees += [build(tiles.tile(number), tiles.access.format)
                  for tiles in tiling.tiles for number in range(len(tiles.ids))]
        for tree in trees:
            assert len(tree.values) <= 32
            assert all(len(level.seg) <= 32 and len(level.crd) <= 32 for level in tree.levels)


def test_small_tiles_are_chosen_where_most_pairs_of_fibers_have_nothing_in_common():
    diagonal = to_coo(np.eye(600, dtype=int))
    tiling = tile(MATMUL, {"B": diagonal, "C": diagonal}, 1024)
    assert tiling.edges == dict.fromkeys("ijk", 2) and len(tiling) == 300
    elementwise = parse("X(i,j) = B(i,j) * C(i,j)")
    edges = tile(elementwise, {"B": diagonal, "C": diagonal}, 1024).edges
    assert min(edges.values()) > 20


def test_edges_of_indices_are_chosen_apart():
    operands = {"B": random_tensor((100, 80), 0.1, 1), "C": random_tensor((80, 90), 0.1, 2)}
    chosen = tile(MATMUL, operands, 1024)
    # A column of one and a row of the other: every pair of a nonzero of both is wanted, and none is looked at in vain.
    assert chosen.edges["k"] == 1 and min(chosen.edges["i"], chosen.edges["j"]) > 40
    root = normalize(MATMUL)
    uniform = [cycles(root, tile(MATMUL, operands, 1024, edge)) for edge in (1, 2, 4, 8, 16, 32, 48)]
    assert cycles(root, chosen) < 0.5 * min(uniform)


def test_of_large_operands_a_sample_is_looked_at_and_gives_nearly_the_same_edges(monkeypatch):
    operands = {"B": random_tensor((900, 900), 0.01, 1), "C": random_tensor((900, 900), 0.01, 2)}
    root = normalize(MATMUL)
    whole = cycles(root, tile(MATMUL, operands, 1024))
    monkeypatch.setattr("sardonyx.compiler.sparse.sample.MOST", 1000)
    assert cycles(root, tile(MATMUL, operands, 1024)) < 1.1 * whole


def test_edges_that_gather_nothing_until_they_are_large_are_found():
    # Two nonzeros in a column: no edge of i below the extent has both of any.
    coords = [(row, at) for at in range(400) for row in (at, 1000 + at)]
    matrix, vector = Coo.make((1400, 400), coords, [1] * 800), Coo.make((400,), [(at,) for at in range(0, 400, 7)], [1] * 58)
    tiling = tile(parse("x(i) = B(i,j) * c(j)"), {"B": matrix, "c": vector}, 1024)
    assert len(tiling) == vector.nnz and tiling.edges["j"] < 7 and tiling.edges["i"] > 1000


def test_edges_with_which_nothing_meets_are_chosen():
    rows, columns = np.zeros((50, 50), int), np.zeros((50, 50), int)
    rows[::2], columns[1::2] = 1, 1
    assert len(tile(parse("X(i,j) = B(i,j) * C(i,j)"), {"B": to_coo(rows), "C": to_coo(columns)}, 1024)) == 0


def test_items_without_a_factor_are_left_out():
    block = np.zeros((8, 8), int)
    block[:4, :4] = 1
    tiling = tile(MATMUL, {"B": to_coo(block), "C": to_coo(block)}, 1024, 4)
    assert tiling.picks.tolist() == [[0, 0]] and tiling.outputs.tolist() == [[0, 0]]


def test_a_term_without_the_summed_index_counts_once():
    einsum = parse("x(i) = b(i) - C(i,j) * d(j)")
    operands = {"b": to_coo(np.ones(4, int)), "C": to_coo(np.ones((4, 6), int)), "d": to_coo(np.ones(6, int))}
    tiling = tile(einsum, operands, 1024, 2)
    assert tiling.outputs.reshape(-1).tolist() == [0, 0, 0, 1, 1, 1]
    assert Counter(tiling.picks[:, 0].tolist()) == {-1: 4, 0: 1, 1: 1}
    absent = tiling.operands(next(item for item in range(6) if tiling.picks[item, 0] == -1))["b"]
    assert absent == Coo.empty((2,))


def test_tiles_at_the_far_end_have_the_shape_of_all_but_their_results_are_cut():
    tiling = tile(parse("x(i) = b(i)"), {"b": to_coo(np.ones(5, int))}, 1024, 3)
    assert [tiling.operands(item)["b"].shape for item in range(2)] == [(3,), (3,)]
    assert [tiling.result_shape(item) for item in range(2)] == [(3,), (2,)]


def test_items_of_one_output_tile_stand_together():
    matrix = random_tensor((40, 40), 0.2, 1)
    tiling = tile(MATMUL, {"B": matrix, "C": matrix}, 1024, 8)
    seen = [tuple(row) for row in tiling.outputs.tolist()]
    assert seen == sorted(seen)


def test_edges_per_index_leave_the_others_whole():
    operands = {"B": random_tensor((20, 30), 0.2, 1), "C": random_tensor((30, 10), 0.2, 2)}
    tiling = tile(MATMUL, operands, 1024, {"k": 7})
    assert tiling.edges == {"i": 20, "j": 10, "k": 7}
    assert tiling.combine(run(tiling)) == golden.evaluate(MATMUL, operands)


def test_all_empty_operands_give_no_work_and_an_empty_result():
    tiling = tile(MATMUL, {"B": Coo.empty((5, 5)), "C": Coo.empty((5, 5))}, 1024)
    assert len(tiling) == 0 and tiling.combine([]) == Coo.empty((5, 5))


def test_a_matrix_of_real_size_is_tiled_quickly():
    coords = np.random.default_rng(0).integers(0, 2021, (7310, 2))
    matrix = Coo.make((2021, 2021), coords, np.ones(7310, int))
    start = time.process_time()
    assert len(tile(MATMUL, {"B": matrix, "C": matrix}, 1024)) > 1
    assert time.process_time() - start < 2


def test_factors_meet_where_the_others_are():
    einsum = parse("X(i,j) = B(i,j) * C(i,k) * D(k,j)")
    ones = to_coo(np.ones((300, 1), int))
    operands = {"B": Coo.make((300, 300), [[7, 7]], [1]), "C": ones, "D": to_coo(np.ones((1, 300), int))}
    slots, root = ["B", "C", "D"], normalize(einsum)
    tiles = [operands[name].coords for name in slots]
    # 90,000 pairs of C and D there would be, but B has one nonzero.
    assert len(pair(root, slots, tiles, 300).keys) == 1


@pytest.mark.parametrize("order", ["ikj", "jki", "kij", "kji"])
def test_tiles_of_accumulated_products_add_up(order):
    einsum = parse("X(i,j) = B(i,k) * C(k,j)", order)
    operands = random_operands(einsum, {"i": 40, "j": 37, "k": 50}, [0.1], 1)
    for edges in (None, 7):
        tiling = tile(einsum, operands, 64, edges)
        assert tiling.combine(run(tiling)) == golden.evaluate(einsum, operands)


@pytest.mark.parametrize("order,least", [("kij", {"i": 200, "j": 200}), ("kji", {"i": 200, "j": 200}), ("ikj", {"j": 2000})])
def test_a_loop_that_turns_once_accumulates_nothing_that_would_bound_edges(order, least):
    extents = {"i": 200, "j": 200, "k": 30} | least
    einsum = parse("X(i,j) = B(i,k) * C(k,j)", order)
    tiling = tile(einsum, random_operands(einsum, extents, [0.02], 3), 1024, {**extents, "k": 1}, narrow=True)
    assert not tiling.einsum.accumulated and tiling.edges == {**extents, "k": 1}
    chosen = tile(einsum, random_operands(einsum, extents, [0.02], 3), 1024, narrow=True)
    assert all(chosen.edges[index] == extent for index, extent in {**least, "k": 1}.items())
