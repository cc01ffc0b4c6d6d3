"""What the load DMA holds and how it walks it: always the words asked for, and each once where loops allow."""

import itertools
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.runtime.data.load_loops import Reads, held_once, in_order


def elements(count: int, divide: int, shift: int, scale: int, modulo: int) -> np.ndarray:
    """What a stream reads along a dimension; a mask or pattern reads the remainder."""
    return (scale * np.arange(count) + shift) // divide % modulo


dims = st.lists(st.builds(elements, st.integers(1, 12), st.integers(1, 4), st.integers(0, 5), st.integers(0, 3),
                          st.sampled_from([2, 3, 100])), min_size=1, max_size=3)


@given(dims, st.integers(1, 8))
def test_every_word_comes_in_its_place_with_no_more_loops_than_there_are(dims: list[np.ndarray], most: int) -> None:
    held, loops = held_once(dims, most)
    assert len(loops) <= most
    assert read(held, loops) == list(itertools.product(*(each.tolist() for each in dims[::-1])))
    assert math.prod(map(len, held)) <= math.prod(map(len, dims))


def read(held: list[np.ndarray], loops: tuple[tuple[int, int], ...]) -> list[tuple[int, ...]]:
    """The elements of all dimensions, last first, that the loops come to."""
    points = list(itertools.product(*(each.tolist() for each in held[::-1])))
    return [points[place] for place in Reads(np.arange(len(points)), loops).words]


def test_an_image_enlarged_in_both_directions_is_held_once() -> None:
    held, loops = held_once([np.arange(6) // 2, np.arange(4) // 2], 8)
    assert [each.tolist() for each in held] == [[0, 1, 2], [0, 1]]
    assert loops == ((2, 0), (3, 1), (2, 0), (2, 3))


def test_with_too_few_loops_the_dimension_with_fewer_repeats_is_held_as_it_is_read() -> None:
    held, loops = held_once([np.arange(6) // 2, np.arange(6) // 3], 3)
    assert [each.tolist() for each in held] == [[0, 0, 1, 1, 2, 2], [0, 1]]
    assert loops == ((6, 1), (3, 0), (2, 6))
    held, loops = held_once([np.arange(6) // 2, np.arange(6) // 3], 1)
    assert math.prod(map(len, held)) == 36 and loops == ((36, 1),)


def test_a_stream_of_different_words_takes_one_loop() -> None:
    held, loops = held_once([np.arange(3, 8), np.arange(-2, 9), np.array([4])], 1)
    assert [len(each) for each in held] == [5, 11, 1] and loops == ((55, 1),)
    assert in_order(np.arange(7, dtype=np.uint16)).words.tolist() == [*range(7)]
