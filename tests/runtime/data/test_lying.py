"""Dense operands as they lie: the words of every sub-tile, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.narrow import narrowed
from sardonyx.compiler.sparse.tiles import Tiles, cut_one
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.hw.arch.glb import LANES
from sardonyx.runtime.data.lying import Lying, listed, lying
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.tensors.coordinates import Coo

INDICES = "ijk"


def coo(array: np.ndarray) -> Coo:
    places = np.argwhere(array)
    return Coo.make(array.shape, places, array[tuple(places.T)].astype(np.int64))


def tiles_of(array: np.ndarray, order: tuple[int, ...], edges: tuple[int, ...]) -> Tiles:
    """An operand of dense levels in an order of its modes."""
    names = INDICES[:array.ndim]
    stored = "".join(names[mode] for mode in order)
    form = "d" * array.ndim + "".join(map(str, order))
    einsum = parse(f"X({','.join(stored)}) = A({','.join(names)})", stored, {"A": form})
    return cut_one(einsum.operands[0], coo(array), dict(zip(names, edges, strict=True)))


def golden(array: np.ndarray, corner: tuple[int, ...], edges: tuple[int, ...], order: tuple[int, ...]) -> list[int]:
    """The block of a tile: its length, then its elements level by level; 0 beyond the far end."""
    found = np.zeros(edges, np.int64)
    part = array[tuple(slice(at, at + edge) for at, edge in zip(corner, edges, strict=True))]
    found[tuple(slice(0, side) for side in part.shape)] = part
    return [found.size, *(found.transpose(order).reshape(-1) & 0xFFFF).tolist()]


@st.composite
def cuts(draw: st.DrawFn) -> tuple[np.ndarray, tuple[int, ...], tuple[int, ...]]:
    """An array of one to three dimensions with zeros in it, an order of its modes, edges."""
    rank = draw(st.integers(1, 3))
    sides = draw(st.tuples(*[st.integers(1, 9)] * rank))
    edges = draw(st.tuples(*[st.integers(1, side) for side in sides]))
    order = draw(st.permutations(range(rank)))
    array = np.random.default_rng(draw(st.integers(0, 99))).integers(-3, 4, sides)
    return array, tuple(order), edges


def ones(*sides: int) -> np.ndarray:
    return np.arange(1, np.prod(sides) + 1).reshape(sides)


def walks(found: Lying, tiles: Tiles, array: np.ndarray, order: tuple[int, ...], edges: tuple[int, ...]) -> None:
    for number, place in enumerate(tiles.ids.tolist()):
        corner = tuple(at * edge for at, edge in zip(place, edges, strict=True))
        assert found.tile(number).words.tolist() == golden(array, corner, edges, order)


@settings(max_examples=150, deadline=None)
@example((ones(1), (0,), (1,)))
@example((ones(13), (0,), (5,)))
@example((ones(7, 13), (1, 0), (3, 5)))
@example((ones(2, 3, 5), (2, 0, 1), (2, 2, 2)))
@given(each=cuts())
def test_every_tile_is_a_walk_of_the_operand_as_numpy_has_it(each: tuple[np.ndarray, tuple[int, ...], tuple[int, ...]]) -> None:
    array, order, edges = each
    tiles = tiles_of(array, order, edges)
    for absent in (False, True):
        found = lying(tiles, absent)
        if not array.any():
            assert found is None, "there are no tiles"
            continue
        assert found is not None and found.image.shape[-1] % LANES == 0 and len(found.loops) <= array.ndim
        inside = tuple(slice(0, min(side, whole)) for side, whole in zip(array.shape, found.image.shape, strict=True))
        np.testing.assert_array_equal(found.image[inside], array[inside].astype(np.uint16))
        walks(found, tiles, array, order, edges)
        if absent:
            assert found.tile(-1).words.tolist() == [np.prod(edges)] + [0] * int(np.prod(edges))


def test_a_list_has_a_line_for_each_block_of_which_the_last_one_says_so() -> None:
    found = lying(tiles_of(ones(8, 10), (0, 1), (4, 5)), False)
    assert found is not None
    made = listed([found.tile(at) for at in (3, 0, 3)], 0x1FFFC)
    assert made.held.reshape(-1, LANES).tolist() == [[20, 0, 0x66, 2], [20, 0, 0xFFFC, 1], [20, 1, 0x66, 2]]
    assert (made.loops, made.count) == (((5, 1), (4, 12)), 63)


def test_what_a_program_leaves_out_of_an_operand_still_says_where_its_tiles_are() -> None:
    """A tile of one row: the program has the columns only."""
    left, right = ones(6, 5), ones(5, 7)
    einsum = parse("X(i,j) = A(i,k) * B(k,j)", "ikj", {"B": "dd"})
    tiling = tile(einsum, {"A": coo(left), "B": coo(right)}, 100, {"i": 1, "k": 1, "j": 7})
    tiling = narrowed(tiling)
    assert tiling.einsum.text == "X(j) = A * B(j)"
    copied, lies = [*Work(tiling).transactions()], [*Work(tiling).listed()]
    assert len(copied) == len(lies) == 30 and not isinstance(lies[0]["B_vals"], np.ndarray)
    for one, other in zip(copied, lies, strict=True):
        assert {name: each.tolist() for name, each in one.items()} == {
            name: (each if isinstance(each, np.ndarray) else each.words).tolist() for name, each in other.items()}


@pytest.mark.parametrize("form,lies", [("dd", True), ("ds", False), ("sd", False), ("ss", False)])
def test_operands_lie_if_all_of_their_levels_are_dense(form: str, lies: bool) -> None:
    einsum = parse("X(i,j) = A(i,j)", "ij", {"A": form})
    found = lying(cut_one(einsum.operands[0], coo(ones(4, 4)), {"i": 2, "j": 2}), False)
    assert (found is not None) == lies


def test_an_operand_of_few_tiles_far_apart_is_copied_and_takes_no_memory() -> None:
    far = Coo.make((1 << 20, 1 << 20), np.array([[0, 0], [(1 << 20) - 1, (1 << 20) - 1]]), np.array([2, 3]))
    tiling = tile(parse("X(i,j) = A(i,j) * B(i,j)", "ij", {"B": "dd"}), {"A": far, "B": far}, 100, 8)
    assert Work(tiling).dense() == {"B_vals": "more words than its sub-tiles"}


@pytest.mark.parametrize("rows,gains", [(1, False), (2, True), (40, True)])
def test_an_operand_that_few_sub_tiles_take_is_copied(rows: int, gains: bool) -> None:
    einsum = parse("x(i) = A(i,j) * b(j)", "ij", {"b": "d"})
    tiling = tile(einsum, {"A": coo(ones(rows, 20)), "b": coo(ones(20))}, 100, {"i": 1, "j": 10})
    (first, *_) = Work(tiling).listed()
    assert isinstance(first["b_vals"], np.ndarray) != gains
