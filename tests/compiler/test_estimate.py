import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statements import random_operands

from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.lang.kernel import kernel_names, load_kernel
from sardonyx.compiler.sparse import pipeline
from sardonyx.compiler.sparse.alike import alike, longer
from sardonyx.compiler.sparse.estimate import FILL, FILL_LOOP, Copying, Expected, cycles, expect
from sardonyx.compiler.sparse.normalize import normalize
from sardonyx.compiler.sparse.pipeline import makespan, over
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.values import random_tensor, to_coo

MATMUL = parse("X(i,j) = B(i,k) * C(k,j)")
FREE = (np.full(4, -np.inf), np.full(4, -np.inf))


def stages(*times):
    return tuple(np.array(each, float) for each in times)


def test_an_item_alone_pays_load_compute_and_store():
    assert makespan(stages([5], [9], [7]), ((FREE[0][:1],) * 2,) * 2) == 21


def test_of_many_items_the_longest_stage_counts():
    assert makespan(stages([5] * 4, [9] * 4, [7] * 4), (FREE, FREE)) == 5 + 4 * 9 + 7


def test_no_more_than_two_items_wait_for_a_stage():
    assert makespan(stages([1] * 4, [10] * 4, [0] * 4), (FREE, FREE)) == 41
    # The third item is there in cycle 3 but for its last word, which waits for the end of the first; then the fourth is loaded.
    assert makespan(stages([1, 1, 1, 30], [10, 10, 10, 1], [0] * 4), (FREE, FREE)) == 11 + 30 + 1


def test_what_finds_no_room_is_loaded_when_the_item_before_has_been_read():
    words = np.array([600.0] * 4)
    beside = over([words], 1024)
    assert beside[0].tolist() == [-np.inf, 176, 176, 176] and beside[1].tolist() == [-np.inf, 176, 776, 776]
    assert makespan(stages(words, words, [0] * 4), (beside, FREE)) == 600 + 4 * 600 + 3 * 176


@pytest.mark.parametrize("count", [1, 63, 64, 200, 1000])
def test_sequences_side_by_side_take_as_long_as_one(monkeypatch, count):
    random = np.random.default_rng(count)
    times = tuple(random.integers(1, 60, count).astype(float) for _ in range(3))
    beside = over([random.integers(0, 500, count).astype(float)], 700), (np.full(count, -np.inf),) * 2
    apart = makespan(times, beside)
    monkeypatch.setattr(pipeline, "STEPS", count)
    assert apart == pytest.approx(makespan(times, beside), rel=0.01)


def test_the_estimate_of_a_full_item_is_exact_but_for_filling():
    ones = to_coo(np.ones((6, 6), int))
    tiling = tile(MATMUL, {"B": ones, "C": ones}, 1024, 6)
    load, compute, store = 3 + 6 + 36, 36 * 7 + 6 + 1, 3 + 6 + 36
    assert cycles(normalize(MATMUL), tiling) == pytest.approx(load + compute + store + FILL + 3 * FILL_LOOP, abs=1)


@pytest.mark.parametrize("text,order,shapes,density,edge,measured", [
    ("X(i,j) = B(i,k) * C(k,j)", "kij", ((40, 40), (40, 40)), 0.1, 20, 2921),
    ("X(i,j) = B(i,k) * C(k,j)", "kij", ((90, 60), (60, 80)), 0.03, 30, 2158),
    ("X(i,j) = B(k,i,j)", "kij", ((20, 40, 40),), 0.05, 20, 6602),
    ("X(i,j) = B(i,k) * C(k,j)", "kij", ((50, 70), (70, 50)), 0.07, 10, 4992),
    ("X(i,j) = B(i,k) * C(k,j)", "kij", ((120, 100), (100, 120)), 0.02, 32, 3263)])
def test_sums_that_are_read_with_all_coordinates_take_the_cycles_of_the_verilog(text, order, shapes, density, edge, measured):
    einsum = parse(text, order, {"X": "ds"})
    data = {access.tensor: random_tensor(shape, density, seed)
            for seed, (access, shape) in enumerate(zip(einsum.operands, shapes, strict=True))}
    tiling = tile(einsum, data, 1024, edge)
    assert tiling.einsum.reframed and cycles(normalize(tiling.einsum), tiling) == pytest.approx(measured, rel=0.05)


def test_a_stage_between_two_holds_up_the_items_behind_it():
    assert makespan(stages([5] * 4, [6] * 4, [9] * 4, [7] * 4), (FREE,) * 3) == 5 + 6 + 4 * 9 + 7


def test_results_that_need_the_room_of_several_launches_are_filled_and_drained_as_often():
    vector = Coo.make((4000,), np.arange(4000)[:, None], np.ones(4000, int))
    einsum = parse("x(i) = b(i)")
    tiling = tile(einsum, {"b": vector}, 1024, 100)
    once, twice = cycles(normalize(einsum), tiling, 1 << 16), cycles(normalize(einsum), tiling, 4096)
    # 40 items of 104 words, in halves of 2048 words: 3 launches.
    assert twice - once == 2 * (FILL + FILL_LOOP)


def test_operands_are_as_alike_as_they_have_coordinates_in_common():
    one, other = random_tensor((60, 60), 0.2, 1), random_tensor((60, 60), 0.2, 2)
    addition = parse("X(i,j) = B(i,j) + C(i,j)")

    def ratio(second, edge):
        tiling = tile(addition, {"B": one, "C": second}, 4096, edge)
        return alike(*tiling.tiles, tiling.extents)["j"]

    assert ratio(other, 60) == pytest.approx(1, abs=0.15) and ratio(other, 7) == pytest.approx(1, abs=0.15)
    # A tensor has all of a fiber in common with itself: 60 places for 12 coordinates.
    assert ratio(one, 60) == pytest.approx(60 * one.nnz / (one.nnz ** 2 / 60), rel=0.05)


def test_without_common_outer_indices_nothing_is_known_of_how_alike_operands_are():
    matrix = random_tensor((20, 20), 0.2, 1)
    tiling = tile(MATMUL, {"B": matrix, "C": matrix}, 1024, 20)
    assert alike(*tiling.tiles, tiling.extents) == {}


@pytest.mark.parametrize("name", kernel_names())
def test_no_operands_take_no_cycles_and_any_take_some(name):
    kernel = load_kernel(name)
    einsum = kernel.einsum()
    empty = {access.tensor: Coo.empty(tuple(kernel.shapes[1][index] for index in access.indices)) for access in einsum.operands}
    if all("d" not in access.format.letters for access in einsum.operands):
        assert cycles(normalize(einsum), tile(einsum, empty, 1024, 4)) == 0
    given = random_operands(einsum, dict(kernel.shapes[1]), [0.8], 1)
    assert cycles(normalize(einsum), tile(einsum, given, 1024, 4)) > FILL


def test_fibers_that_are_scanned_more_often_may_be_longer_than_the_average():
    """A hub of 8 entries in column 0 of B and in row 0 of C: 64 products of it, and one of each other coordinate."""
    first = Coo.make((8, 8), np.array([(i, 0) for i in range(8)] + [(i, i) for i in range(1, 8)]), np.ones(15, int))
    second = Coo.make((8, 8), first.coords[:, ::-1], first.values)
    product = parse("X(i,j) = B(i,k) * C(k,j)", "kij")
    tiles = {tiles.access.slot: tiles for tiles in tile(product, {"B": first, "C": second}, 1024, 8).tiles}
    assert longer(tiles["C"], tiles["B"], "k") == pytest.approx((64 + 7) / (15 * 15 / 8))
    apart = {tiles.access.slot: tiles for tiles in tile(product, {"B": first, "C": second}, 1024, {"k": 1}).tiles}
    assert longer(apart["C"], apart["B"], "k") == 1     # The average of an item is that of its only fiber.


@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
@settings(max_examples=30, deadline=None)
def test_with_that_ratio_the_number_of_products_is_exact(seed, edge):
    random = np.random.default_rng(seed)
    first, second = (to_coo((random.random((9, 9)) < random.random((9, 1))).astype(int)) for _ in range(2))
    tiling = tile(parse("X(i,j) = B(i,k) * C(k,j)", "kij"), {"B": first, "C": second}, 1024, edge)
    left, right = (next(each for each in tiling.tiles if each.access.slot == slot) for slot in "BC")
    scans = likely = 0
    for one, other in tiling.picks:
        k = left.tile(one).coords[:, 1]
        row = right.tile(other).coords[:, 0]
        scans += sum(np.count_nonzero(row == each) for each in k)
        likely += np.isin(k, row).sum() * len(row) / len(np.unique(row))
    assert scans == pytest.approx(likely * longer(right, left, "k"))


def expected(cycles=1000.0, loaded=300.0, items=50, longest=20.0, stored=0.0):
    return Expected(cycles, 0.0, items, longest, loaded, stored, 0.0, 0.0)


def test_the_largest_group_of_copies_has_the_most_to_bring():
    links = expected(loaded=840.0)
    assert links.shared(Copying(4, 4)) == (1000 / 4 + 20, 4)            # Nobody shares a link: no block says its copy.
    assert links.shared(Copying(20, 4)) == ((840 + 50) / 4 + 20, 20)
    assert links.shared(Copying(21, 4)) == ((840 + 50) * 6 / 21 + 20, 21)
    assert links.shared(Copying(5, 4, least=2)) == ((840 + 50) * 3 / 5 + 20, 5)


def test_a_number_is_one_word_in_front_of_what_a_shared_link_loads_and_two_in_front_of_what_it_stores():
    links = expected(stored=800.0)
    assert links.shared(Copying(4, 4)) == (1000 / 4 + 20, 4)
    assert links.shared(Copying(20, 4)) == ((800 + 2 * 50) / 4 + 20, 20)


@given(st.floats(10, 1e6), st.floats(10, 1e6), st.integers(1, 10**5), st.integers(1, 30), st.integers(1, 8))
@settings(max_examples=50, deadline=None)
def test_as_many_copies_as_gain_are_the_fewest_of_those_that_take_the_fewest_cycles(cycles, loaded, items, most, groups):
    work = expected(cycles, loaded, items)
    each = [work.shared(Copying(copies, groups))[0] for copies in range(1, most + 1)]
    assert work.shared(Copying(most, groups, fewer=True)) == (min(each), each.index(min(each)) + 1)


def test_links_that_store_count_as_those_that_load_do():
    """Of full matrices in tiles of one k, each item gives as many values as it computes, from few that it takes."""
    ones = to_coo(np.ones((20, 20), int))
    tiling = tile(MATMUL, {"B": ones, "C": ones}, 1024, {"k": 1}, narrow=True)
    found = expect(normalize(tiling.einsum), tiling)
    assert found.items == 20 and 20 * 400 <= found.stored <= 20 * 450


@pytest.mark.parametrize("text,order", [("x(i) = b(i) - C(i,j) * d(j)", "ji"), ("x(i) = b(i) + a(i) * (c(n) + d(n))", "ni"),
                                        ("X(i,j) = abs(B(i,j,k) * c(k)) * D(i,j) - E(j,l) * F(l,i)", "lkji")])
def test_sums_that_mem_tiles_keep_are_computed_in_a_stage_before(text, order):
    einsum = parse(text, order)
    operands = random_operands(einsum, dict.fromkeys(einsum.order, 7), [0.5], 1)
    found = expect(normalize(einsum), tile(einsum, operands, 1024, 7), 1 << 16)
    plain = parse(text)
    without = expect(normalize(plain), tile(plain, operands, 1024, 7), 1 << 16)
    assert found.items == without.items == 1 and found.apart > without.apart / 2
    assert found.result_words == pytest.approx(without.result_words, rel=0.5)
