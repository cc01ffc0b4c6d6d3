"""What has no room in a sub-tile, or makes too many of them, is not chosen, and refused with numbers and a remedy."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statements import DENSE, agreeing, random_operands
from tilings import MATMUL, message

from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse import overflow, search, trials
from sardonyx.compiler.sparse.capacity import structure
from sardonyx.compiler.sparse.meetings import Meetings
from sardonyx.compiler.sparse.normalize import normalize
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.values import random_tensor, to_coo


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
        "more than 138,796 cycles\n  try: use larger tiles, or give no edge to have it chosen")
    assert message(tile, MATMUL, operands, 1024) == (
        f"{MATMUL.text}: tiles of i 16384, j 16384, k 16384 make 343 sub-tiles of work, more than 20: 0.0 GB in the host and "
        "more than 1,200 cycles; these are the largest tiles that fit\n"
        "  try: compute the result in parts, or use an array with larger level buffers")


def test_a_level_too_long_is_refused():
    ones = to_coo(np.ones((64, 64), int))
    assert message(tile, MATMUL, {"B": ones, "C": ones}, 1024, 64) == (
        f"{MATMUL.text}: level k of B needs 4096 words but a MEM tile holds 1024\n"
        "  try: use a tile edge of 32 or less, or none to have it chosen")


def test_the_remedy_for_edges_per_index_names_every_index():
    ones = to_coo(np.ones((64, 64), int))
    assert message(tile, MATMUL, {"B": ones, "C": ones}, 1024, {"i": 20}) == (
        f"{MATMUL.text}: level k of B needs 1280 words but a MEM tile holds 1024\n"
        "  try: use edges 'split(i,20) split(j,32) split(k,32)' (--schedule or schedule=), or none to have it chosen")
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
    assert remedy.startswith("  try: use edges 'split(") and f"split({index},{most})" in remedy
