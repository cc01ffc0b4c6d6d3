"""Rows of a result that go while others are stored."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.runtime.commands import Landing, Read
from sardonyx.runtime.pieces import ON_THEIR_WAY, pieces, rising


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(-3, 12)), max_size=3))
def test_loops_rise_if_each_of_their_addresses_is_higher_than_the_one_before(loops: "list[tuple[int, int]]") -> None:
    addresses = [0]
    for extent, stride in loops:
        addresses = [at + stride * step for step in range(extent) for at in addresses]
    assert rising(loops) == all(before < after for before, after in itertools.pairwise(addresses))


@given(rows=st.integers(1, 40), width=st.integers(1, 9), lead=st.integers(0, 3), y=st.integers(0, 5), parts=st.integers(2, 4))
def test_pieces_are_all_rows_in_order_and_go_when_they_are_in_their_banks(rows: int, width: int, lead: int, y: int,
                                                                         parts: int) -> None:
    image = np.zeros((50, 16), np.uint16)
    whole = Read("b", 64, 12 * rows, Landing(image, (y, lead), (rows, width), 12), True)
    early, rest = pieces(whole, parts)
    # A store that ends counts no more: rows in front of so few would wait for words that never come.
    behind = width * (rows - rows * (parts - 1) // parts)
    assert len(early) == (parts - 1 if rows >= parts and behind >= ON_THEIR_WAY else 0)
    at, address, image = 0, 64, np.zeros((50, 16), np.uint16)
    for each in [*(piece.read for piece in early), rest]:
        assert each.landing is not None and each.landing.corner == (y + at, lead) and each.address == address
        assert each.words == 12 * each.landing.shape[0] and each.landing.shape[1] == width
        at, address = at + each.landing.shape[0], address + 2 * each.words
    assert at == rows
    counted = 0
    for piece in early:
        assert piece.read.landing is not None
        counted += width * piece.read.landing.shape[0]
        assert piece.stored == counted + ON_THEIR_WAY <= rows * width


@pytest.mark.parametrize("wrong", ["no image", "another order", "three dimensions"])
def test_what_is_no_rows_in_order_goes_at_the_end(wrong: str) -> None:
    shape = (2, 8, 4) if wrong == "three dimensions" else (8, 4)
    landing = None if wrong == "no image" else Landing(np.zeros(shape, np.uint16), (0,) * len(shape), shape, 4)
    read = Read("b", 0, 64, landing, wrong != "another order")
    assert pieces(read, 4) == ([], read)
