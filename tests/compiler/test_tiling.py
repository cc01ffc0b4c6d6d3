import dataclasses
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statements import DENSE, agreeing, random_operands

from sardonyx.compiler.lang.einsum import LOCATED, parse
from sardonyx.compiler.lang.kernel import kernel_names, load_kernel
from sardonyx.compiler.sparse import overflow, search, trials
from sardonyx.compiler.sparse.capacity import structure
from sardonyx.compiler.sparse.estimate import cycles
from sardonyx.compiler.sparse.meetings import Meetings
from sardonyx.compiler.sparse.normalize import normalize
from sardonyx.compiler.sparse.pairing import pair
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.hw.arch.errors import UserError
from sardonyx.sim.expected import by_slot
from sardonyx.sim.golden import einsum as golden
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.fibertree import build
from sardonyx.tensors.values import random_tensor, to_coo

MATMUL = parse("X(i,j) = B(i,k) * C(k,j)")


def run(tiling):
    """The result of every item by golden; a statement that uses a tensor twice gets a name for each use."""
    alone = by_slot(tiling.einsum)
    for item in range(len(tiling)):
        yield golden.evaluate(alone, tiling.operands(item))


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


def test_an_index_without_extent_that_has_no_edge_is_no_work():
    program = parse("x(i) = A(i) - B(l) * C(l,i)")
    operands = {"A": to_coo(np.ones(2, int)), "B": to_coo(np.zeros(0, int)), "C": to_coo(np.zeros((0, 2), int))}
    work = tile(program, operands, 1024, {"i": 2})
    assert work.combine(run(work)) == golden.evaluate(program, operands)


def test_a_function_inside_the_result_is_refused_where_the_sum_inside_it_does_not_fit():
    program = parse("x(i) = d(i) * relu(B(i,k) * c(k))")
    operands = {"d": to_coo(np.ones(4, int)), "B": to_coo(np.ones((4, 30), int)), "c": to_coo(np.ones(30, int))}
    assert message(tile, program, operands, 24) == (
        f"{program.text}: not even tiles of one element, with the whole of k, which is summed inside a function, fit 24 words\n"
        "  try: use an array with larger level buffers")
    assert message(tile, program, operands, 1024, {"k": 3}) == (
        f"{program.text}: index k is summed inside a function, so that it cannot be cut\n  try: give no tile edge for k")


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


@pytest.mark.parametrize("text", DENSE)
@settings(max_examples=4)
@given(edge=st.integers(1, 9), density=st.sampled_from([0.05, 0.3, 1.0]), seed=st.integers(0, 99))
def test_no_result_has_more_nonzeros_than_its_bound(text, edge, density, seed):
    einsum = parse(text)
    operands = random_operands(einsum, agreeing(einsum, [9, 7, 8, 6]), [density], seed)
    work = tile(einsum, operands, 1024, edge)
    rows = structure(normalize(einsum), [one.access.slot for one in work.tiles], work.picks,
                     [(one.bounds, one.coords) for one in work.tiles])[1]
    found = np.bincount(rows[:, 0], minlength=len(work))
    assert (found <= Meetings(work.tiles, work.edges).most_rows(normalize(einsum), work.picks) + 0.5).all()


def test_what_is_looked_at_in_parts_is_what_is_looked_at_at_once(monkeypatch):
    matrix = random_tensor((60, 60), 0.1, 1)
    operands = {"B": matrix, "C": matrix}
    at_once = [(tile(MATMUL, operands, capacity).edges, message(tile, MATMUL, operands, capacity, 60))
               for capacity in (40, 100, 300)]
    monkeypatch.setattr(overflow, "CHUNK_ITEMS", 3)
    monkeypatch.setattr(overflow, "CHUNK_ROWS", 50)
    monkeypatch.setattr(overflow, "MEETINGS", 5000)
    in_parts = [(tile(MATMUL, operands, capacity).edges, message(tile, MATMUL, operands, capacity, 60))
                for capacity in (40, 100, 300)]
    assert in_parts == at_once


def test_results_in_doubt_count_as_too_long_where_looking_takes_too_long(monkeypatch):
    matrix = random_tensor((60, 60), 0.1, 1)
    exact = tile(MATMUL, {"B": matrix, "C": matrix}, 100)
    monkeypatch.setattr(search, "SEARCH_ROWS", 0)
    assert tile(MATMUL, {"B": matrix, "C": matrix}, 100).edges["i"] <= exact.edges["i"]
    large = tile(MATMUL, {"B": matrix, "C": matrix}, 4096, 60)
    assert overflow.results_overflow(normalize(MATMUL), dataclasses.replace(large, capacity=1700), 0) == (
        "results may need up to 2477 words and 720 nonzeros would have to be looked at to know")


def test_edges_that_make_too_many_items_are_not_chosen(monkeypatch):
    diagonal = to_coo(np.eye(600, dtype=int))
    operands = {"B": diagonal, "C": diagonal}
    assert len(tile(MATMUL, operands, 1024)) == 300
    monkeypatch.setattr(trials, "MOST_ITEMS", 20)
    assert 0 < len(tile(MATMUL, operands, 1024)) <= 20


def test_too_many_items_are_refused_with_numbers_before_they_are_made(monkeypatch):
    coords = np.random.default_rng(0).integers(0, 100_000, (2, 20_000, 2))
    operands = {name: Coo.make((100_000, 100_000), each, np.ones(20_000, int)) for name, each in zip("BC", coords)}
    monkeypatch.setattr(trials, "MOST_ITEMS", 20)
    assert message(tile, MATMUL, operands, 1024, 10) == (
        f"{MATMUL.text}: tiles of i 10, j 10, k 10 make 39,656 sub-tiles of work, more than 20: 0.0 GB in the host and "
        "more than 178,452 cycles\n  try: use larger tiles, or give no edge to have it chosen")
    assert message(tile, MATMUL, operands, 1024) == (
        f"{MATMUL.text}: tiles of i 16384, j 16384, k 16384 make 343 sub-tiles of work, more than 20: 0.0 GB in the host and "
        "more than 1,544 cycles; these are the largest tiles that fit\n"
        "  try: compute the result in parts, or use an array with larger level buffers")


def test_factors_meet_where_the_others_are():
    einsum = parse("X(i,j) = B(i,j) * C(i,k) * D(k,j)")
    ones = to_coo(np.ones((300, 1), int))
    operands = {"B": Coo.make((300, 300), [[7, 7]], [1]), "C": ones, "D": to_coo(np.ones((1, 300), int))}
    slots, root = ["B", "C", "D"], normalize(einsum)
    tiles = [operands[name].coords for name in slots]
    # 90,000 pairs of C and D there would be, but B has one nonzero.
    assert len(pair(root, slots, tiles, 300).keys) == 1


def message(call, *arguments):
    with pytest.raises(UserError) as error:
        call(*arguments)
    return str(error.value)


def test_a_level_too_long_is_refused():
    ones = to_coo(np.ones((64, 64), int))
    assert message(tile, MATMUL, {"B": ones, "C": ones}, 1024, 64) == (
        f"{MATMUL.text}: level k of B needs 4096 words but a MEM tile holds 1024\n"
        "  try: use a tile edge of 32 or less, or none to have it chosen")


def test_the_remedy_for_edges_per_index_names_every_index():
    ones = to_coo(np.ones((64, 64), int))
    assert message(tile, MATMUL, {"B": ones, "C": ones}, 1024, {"i": 20}) == (
        f"{MATMUL.text}: level k of B needs 1280 words but a MEM tile holds 1024\n"
        "  try: use tile={'i': 20, 'j': 32, 'k': 32}, or none to have it chosen")
    assert tile(MATMUL, {"B": ones, "C": ones}, 1024, {"i": 20, "j": 32, "k": 32})


def test_segments_count_one_more_than_fibers():
    diagonal = to_coo(np.eye(1024, dtype=int))
    copy = parse("X(i,j) = B(i,j)")
    assert message(tile, copy, {"B": diagonal}, 1024, 1024) == (
        f"{copy.text}: level j of B needs 1025 words but a MEM tile holds 1024\n"
        "  try: use a tile edge of 768 or less, or none to have it chosen")
    assert tile(copy, {"B": diagonal}, 1025, 1024).edges == {"i": 1024, "j": 1024}


def test_a_result_too_long_is_refused():
    column, row = np.zeros((40, 40), int), np.zeros((40, 40), int)
    column[:, 0], row[0] = 1, 1
    assert message(tile, MATMUL, {"B": to_coo(column), "C": to_coo(row)}, 1024, 40) == (
        f"{MATMUL.text}: level j of X needs 1600 words but a MEM tile holds 1024\n"
        "  try: use a tile edge of 32 or less, or none to have it chosen")


def test_values_of_dense_levels_count():
    einsum = parse("X(i,j) = B(i,j) * C(i,j)", formats={"C": "dd"})
    operands = {"B": random_tensor((50, 50), 0.1, 1), "C": random_tensor((50, 50), 0.1, 2)}
    assert message(tile, einsum, operands, 1024, 50) == (
        f"{einsum.text}: the values of C need 2500 words but a MEM tile holds 1024\n"
        "  try: use a tile edge of 32 or less, or none to have it chosen")


def test_dense_levels_of_a_result_count_whatever_its_nonzeros():
    one = {"B": Coo.make((40, 40), [[3, 5]], [7])}
    assert message(tile, parse("X(i,j) = B(i,j)", formats={"X": "dd"}), one, 1024, 40) == (
        "X(i,j) = B(i,j): the values of X need 1600 words but a MEM tile holds 1024\n"
        "  try: use a tile edge of 32 or less, or none to have it chosen")
    assert message(tile, parse("X(i,j) = B(i,j)", formats={"X": "ds"}), one, 32, 40).startswith(
        "X(i,j) = B(i,j): level j of X needs 41 words but a MEM tile holds 32\n")


def test_edges_that_make_no_sense():
    operands = {"B": Coo.empty((5, 5)), "C": Coo.empty((5, 5))}
    assert message(tile, MATMUL, operands, 1024,
                   0) == f"{MATMUL.text}: the tile edge of i is 0\n  try: use 1 or more"
    assert message(tile, MATMUL, operands, 1024, {"l": 4}) == \
        f"{MATMUL.text}: there is a tile edge for l but no such index\n  try: name one of i, j, k"
    ones = to_coo(np.ones((3, 3), int))
    assert message(tile, MATMUL, {"B": ones, "C": ones}, 1) == (
        f"{MATMUL.text}: not even tiles of one element fit 1 words\n  try: use an array with larger level "
        "buffers")


GUSTAVSON, OUTER = parse("X(i,j) = B(i,k) * C(k,j)", "ikj"), parse("X(i,j) = B(i,k) * C(k,j)", "kij")


@pytest.mark.parametrize("einsum,edges", [(GUSTAVSON, {"j": 1024, "i": 1}), (OUTER, {"i": 32, "j": 32})])
def test_an_accumulator_bounds_the_edges_of_the_indices_of_its_sums(einsum, edges):
    extents = dict.fromkeys("ijk", 1025)
    operands = random_operands(einsum, extents, [0.0002], 1)
    assert tile(einsum, operands, 1024, {**extents, **edges}).edges == {**extents, **edges}
    chosen = tile(einsum, operands, 1024)
    assert all(chosen.edges[index] <= most for index, most in edges.items() if most > 1)
    index, most = next((index, most) for index, most in edges.items())
    with pytest.raises(UserError) as error:
        tile(einsum, operands, 1024, {**edges, index: most + 1})
    (indices,) = einsum.accumulated.values()
    what, remedy = str(error.value).split("\n")
    assert what == (f"{einsum.text}: sums over k are kept for each {' and '.join(indices)}, with {index} below {most}, "
                    f"but {index} reaches {most} in a tile")
    assert remedy.startswith("  try: use tile={") and f"'{index}': {most}" in remedy


@pytest.mark.parametrize("order", ["ikj", "jki", "kij", "kji"])
def test_tiles_of_accumulated_products_add_up(order):
    einsum = parse("X(i,j) = B(i,k) * C(k,j)", order)
    operands = random_operands(einsum, {"i": 40, "j": 37, "k": 50}, [0.1], 1)
    for edges in (None, 7):
        tiling = tile(einsum, operands, 64, edges)
        assert tiling.combine(run(tiling)) == golden.evaluate(einsum, operands)


def test_an_index_that_is_accumulated_inside_a_function_is_not_cut():
    einsum = parse("X(i,j) = relu(B(i,k) * C(k,j))", "kij")
    operands = random_operands(einsum, {"i": 40, "j": 37, "k": 50}, [0.1], 1)
    tiling = tile(einsum, operands, 512)
    assert (tiling.edges["k"], max(tiling.edges["i"], tiling.edges["j"]) <= 32) == (50, True)
    assert tiling.combine(run(tiling)) == golden.evaluate(einsum, operands)


@pytest.mark.parametrize("order,least", [("kij", {"i": 200, "j": 200}), ("kji", {"i": 200, "j": 200}), ("ikj", {"j": 2000})])
def test_a_loop_that_turns_once_accumulates_nothing_that_would_bound_edges(order, least):
    extents = {"i": 200, "j": 200, "k": 30} | least
    einsum = parse("X(i,j) = B(i,k) * C(k,j)", order)
    tiling = tile(einsum, random_operands(einsum, extents, [0.02], 3), 1024, {**extents, "k": 1}, narrow=True)
    assert not tiling.einsum.accumulated and tiling.edges == {**extents, "k": 1}
    chosen = tile(einsum, random_operands(einsum, extents, [0.02], 3), 1024, narrow=True)
    assert all(chosen.edges[index] == extent for index, extent in {**least, "k": 1}.items())
