"""Rows that a DMA moves are the words of boxes of images, in both directions, each in its place and one where they can be."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.glb import LANES, LINE_BYTES
from sardonyx.runtime.commands import Box, Landing, WriteMemory
from sardonyx.runtime.data.window import filled
from sardonyx.runtime.rows import MOST_ROWS, Rows, lines, rows

# Of each dimension, y first: elements of a part, of the image in front of it and behind it.
dims = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=4)


def numbered(*sides: int) -> np.ndarray:
    """An image, y first, of words that all differ."""
    return np.arange(1, 1 + np.prod(sides)).astype(np.uint16).reshape(sides)


@given(dims)
def test_rows_of_a_box_are_its_words_in_order_and_one_where_they_can_be(dims: "list[tuple[int, int, int]]") -> None:
    """Of x in lines."""
    size, before, behind = np.array(dims).T * np.array([1] * (len(dims) - 1) + [LANES])
    image = numbered(*(size + before + behind))
    box = Box(image, tuple(before.tolist()), tuple(size.tolist()))
    outside, there, found = image.tobytes(), bytearray(), list(rows(box))
    for each in found:
        for row in range(each.number):
            assert len(there) == each.glb + row * each.glb_pitch
            there += outside[each.outside + row * each.outside_pitch:][:each.size]
    assert bytes(there) == box.words.tobytes()
    assert all(at % LINE_BYTES == 0 for each in found for at in (each.outside, each.outside_pitch, each.size))
    if box.words.flags.c_contiguous:
        assert [(each.number, each.size) for each in found] == [(1, 2 * box.words.size)]


@given(dims, st.integers(1, 3))
def test_rows_of_a_box_may_stand_apart(dims: "list[tuple[int, int, int]]", lines: int) -> None:
    """Of x in lines, with some between two rows in the global buffer: what a host writes there is what a DMA brings."""
    size, before, behind = np.array(dims).T * np.array([1] * (len(dims) - 1) + [LANES])
    image, apart = numbered(*(size + before + behind)), int(size[-1]) + LANES * lines
    box = Box(image, tuple(before.tolist()), tuple(size.tolist()), apart)
    there, written = (np.zeros(box.reach, np.uint16) for _ in range(2))
    for each in rows(box):
        for row in range(each.number):
            begin = each.glb + row * each.glb_pitch
            there.view(np.uint8)[begin:begin + each.size] = np.frombuffer(image.tobytes(), np.uint8)[
                each.outside + row * each.outside_pitch:][:each.size]
    write = WriteMemory(16, box.words, box)
    for address, words in write.pieces:
        written[(address - 16) // 2:][:len(words)] = words
    assert np.array_equal(there, written) and write.reach == len(there)
    padded = np.append(there, np.zeros(apart - size[-1], np.uint16)).reshape(-1, apart)
    assert np.array_equal(padded[:, :size[-1]], box.words.reshape(-1, size[-1])) and not padded[:, size[-1]:].any()


def test_a_part_of_more_rows_than_a_transfer_may_have_is_several() -> None:
    image = np.zeros((MOST_ROWS + 5, 8), np.uint16)
    assert list(rows(Landing(image, (2, 4), (MOST_ROWS + 3, 4), 4))) == [
        Rows(MOST_ROWS, 8, 40, 16, 0, 8), Rows(3, 8, 40 + 16 * MOST_ROWS, 16, 8 * MOST_ROWS, 8)]


@given(dims, st.integers(0, 9), st.integers(1, 9), st.integers(0, 9))
def test_rows_go_to_their_places_in_an_image_and_nowhere_else(dims: "list[tuple[int, int, int]]", first: int, columns: int,
                                                              behind: int) -> None:
    shape, corner = ((*(each[at] for each in dims), last) for at, last in ((0, columns), (1, first)))
    image = np.zeros([*map(sum, dims), filled(first + columns + behind)], np.uint16)
    landing = Landing(image, corner, shape, min(filled(columns + LANES - 1), image.shape[-1]))
    held = numbered(landing.words).reshape(-1)
    outside, there = bytearray(image.tobytes()), held.tobytes()
    for each in rows(landing):
        for row in range(each.number):
            source, to = each.glb + row * each.glb_pitch, each.outside + row * each.outside_pitch
            assert source % LINE_BYTES == to % LINE_BYTES, "a DMA shifts no bytes"
            outside[to:to + each.size] = there[source:source + each.size]
    found = np.frombuffer(outside, np.uint16).reshape(image.shape).copy()
    landing.put(held)
    assert image.any()
    # Rows that are whole bring what fills them up.
    whole = first == 0 and filled(columns) == image.shape[-1]
    assert np.array_equal(found[..., :columns], image[..., :columns]) if whole else np.array_equal(found, image)


def test_the_example_of_the_module_and_whole_rows() -> None:
    image = np.zeros((9, 16), np.uint16)
    assert [*rows(Landing(image, (4, 6), (3, 4), 8))] == [Rows(3, 8, 140, 32, 4, 16)]
    assert [*rows(Landing(image, (4, 0), (3, 14), 16))] == [Rows(1, 96, 128, 96, 0, 96)], "with what fills them up"


@given(dims, st.integers(0, 9), st.integers(1, 9), st.integers(0, 9))
def test_lines_are_those_that_rows_touch(dims: "list[tuple[int, int, int]]", first: int, columns: int, behind: int) -> None:
    shape, corner = ((*(each[at] for each in dims), last) for at, last in ((0, columns), (1, first)))
    image = np.zeros([*map(sum, dims), filled(first + columns + behind)], np.uint16)
    landing = Landing(image, corner, shape, min(filled(columns + LANES - 1), image.shape[-1]))
    touched = [{byte // LINE_BYTES for byte in range(each.outside + row * each.outside_pitch, each.outside
                                                     + row * each.outside_pitch + each.size)}
               for each in rows(landing) for row in range(each.number)]
    assert lines(landing) == sum(map(len, touched))
