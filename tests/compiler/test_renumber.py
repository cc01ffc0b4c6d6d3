"""Rows numbered anew, so that parts have rows of like lengths at the same time."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from test_lanes import TWICE, fused
from test_parts import matrix

from sardonyx.compiler.sparse.fused_tiling import tile_fused
from sardonyx.compiler.sparse.renumber import renumbered, row_numbers
from sardonyx.tensors.values import random_tensor, to_array


def numbers_of(text: str, parts: int, **matrices):
    """The numbers of rows of matrices that are all dealt."""
    einsum = fused(text, parts).einsum
    dealt = {access.tensor: access for access in einsum.operands if access.tensor in matrices}
    return row_numbers(einsum, dealt, matrices, parts)


def test_long_rows_and_short_ones_take_turns_and_rows_that_are_left_over_come_last():
    assert numbers_of(TWICE, 2, A=matrix(3, 6, 1, 4, 2, 5))["i"] == (4, 0, 3, 5, 2, 1)
    assert numbers_of(TWICE, 2, A=matrix(3, 5, 1, 4, 2))["i"] == (3, 0, 4, 1, 2)


def test_an_index_has_the_numbers_of_the_rows_whose_coordinates_it_has():
    """Of A both indices have the same, as it is used at rows that are columns of another use; columns of B are rows of A."""
    same = numbers_of(TWICE, 2, A=matrix(1, 2, 4, 3))
    assert set(same.values()) == {(2, 3, 0, 1)} and len(same) == 3
    text = "y(i) = A(i,j) * x(j); z(i) = B(i,j) * y(j)"
    found = numbers_of(text, 2, A=matrix(1, 2, 4, 3), B=matrix(4, 3, 2, 1))
    modes = {access.tensor: access.modes for access in fused(text, 2).einsum.operands}
    assert found == {modes["A"][0]: (2, 3, 0, 1), modes["B"][0]: (0, 1, 3, 2)}, "x keeps its order"
    assert modes["B"][1] == modes["A"][0]


@settings(max_examples=30, deadline=None)
@given(size=st.integers(1, 12), density=st.sampled_from([0.0, 0.3, 1.0]), parts=st.integers(1, 5), seed=st.integers(0, 99))
def test_tiles_have_every_nonzero_at_its_new_place(size, density, parts, seed):
    data = {"A": random_tensor((size, size), density, seed), "x": random_tensor((size,), 1.0, 1)}
    made = fused(TWICE, 1)
    numbers = numbers_of(TWICE, parts, A=data["A"])
    for tiles in tile_fused(made, data, 1024).tiles:
        order, after = np.argsort(numbers["i"]), renumbered(tiles, numbers)
        for number in range(len(tiles.ids)):
            before = to_array(tiles.tile(number))
            assert np.array_equal(to_array(after.tile(number)), before[np.ix_(*[order] * before.ndim)])
        assert renumbered(tiles, {index: (*each, size) for index, each in numbers.items()}).coords.tolist() == \
            tiles.coords.tolist(), "an index of which tiles have a part keeps its own"
