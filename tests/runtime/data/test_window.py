"""Windows of an image: loops over the box of several read, in order, what each of them reads, wherever it is."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from stencils import plane, stencil

from sardonyx.compiler.dense.map.grid import walk
from sardonyx.compiler.ir.dataflow import Ref, Stream
from sardonyx.compiler.ir.pe_graph import PeGraph, PeNode
from sardonyx.hw.arch.glb import LANES
from sardonyx.runtime.data.frames import Frames
from sardonyx.runtime.data.load_loops import Reads
from sardonyx.runtime.data.window import Window, boxed, rows

PLENTY = 1 << 20


def numbered(*sides: int) -> np.ndarray:
    """An image, x first, of words that all differ."""
    return rows(np.arange(np.prod(sides)).reshape(sides[::-1]))


def all_read(windows: "list[Window]", room: int = PLENTY) -> "list[int] | None":
    """Every word that the loops of a box come to, window after window, by definition."""
    found = boxed(windows, room)
    if found is None:
        return None
    first, step = found
    (_, held, box), = first.pieces
    assert box is not None
    held = held.reshape(-1)
    return [int(held[first.first + turn * step + sum(at * stride for at, (_, stride) in zip(places, first.loops[::-1]))])
            for turn in range(len(windows)) for places in itertools.product(*(range(count) for count, _ in first.loops[::-1]))]


def words(windows: "list[Window]") -> "list[int]":
    return [word for each in windows for word in each.words.tolist()]


@st.composite
def windows(draw: st.DrawFn) -> "list[Window]":
    """Windows of one size in a row, as tiles have them: with words left out, repeated or backwards in some dimension."""
    dims, most, several = draw(st.integers(1, 3)), draw(st.integers(1, 7)), draw(st.integers(1, 4))
    along = draw(st.integers(0, dims - 1))
    places, sides = [], []
    for dim in range(dims):
        count, repeats, stride = draw(st.integers(1, 9)), draw(st.integers(1, 3)), draw(st.integers(-2, 3))
        steps = stride * (np.arange(count) // repeats)
        starts = draw(st.integers(0, 9)) + draw(st.integers(0, 7)) * np.arange(several) * (dim == along)
        places.append([start + steps - steps.min() for start in starts])
        sides.append(max(int(each.max()) for each in places[-1]) + 1 + draw(st.integers(0, 5)))
    return [Window(image, each, most) for image in [numbered(*sides)] for each in zip(*places, strict=True)]


@given(windows())
def test_loops_over_a_box_read_every_window_in_turn(given: "list[Window]") -> None:
    found = all_read(given)
    event(f"a box: {found is not None}")
    assert found is None or found == words(given)
    for each in given:
        assert each.apart.words.tolist() == each.words.tolist() and each.apart.size == each.size


@given(windows())
def test_a_box_is_rows_of_whole_lines_of_the_image(given: "list[Window]") -> None:
    found = boxed(given, PLENTY)
    if found is not None:
        (_, _, box), = found[0].pieces
        assert box is not None and np.shares_memory(box.words, given[0].image)
        assert box.shape[-1] % LANES == box.corner[-1] % LANES == given[0].image.shape[-1] % LANES == 0


def box_of(given: "list[Window]") -> "tuple[Reads, int]":
    found = boxed(given, PLENTY)
    assert found is not None
    return found


def at(image: np.ndarray, x: range, y: range) -> Window:
    return Window(image, (np.array(x), np.array(y)), 7)


def test_the_example_of_the_module() -> None:
    image = numbered(20, 6)
    first, step = box_of([at(image, range(5, 11), range(2, 5)), at(image, range(8, 14), range(2, 5))])
    (_, _, box), = first.pieces
    assert box is not None and (box.corner, box.shape) == ((2, 4), (3, 12))
    assert (first.first, first.loops, step) == (1, ((6, 1), (3, 12)), 3)


def test_overlapping_windows_come_once() -> None:
    """Tiles of a row, and of a column over whole rows, which are a piece of memory."""
    image = numbered(64, 40)
    beside = [at(image, range(x, x + 18), range(10)) for x in (0, 15, 30, 45)]
    assert all_read(beside) == words(beside)
    assert box_of(beside)[0].size == 64 * 10 < sum(each.size for each in beside)
    below = [at(image, range(64), range(y, y + 12)) for y in (0, 10, 20)]
    first, step = box_of(below)
    (_, held, _), = first.pieces
    assert (held.shape, first.loops, step) == ((32, 64), ((64 * 12, 1),), 640) and held.flags.c_contiguous
    assert all_read(below) == words(below)


def test_boxes_of_windows_of_one_size_have_one_size() -> None:
    image = numbered(64, 4)
    shapes = {box_of([at(image, range(x, x + 18), range(4))])[0].pieces[0][1].shape for x in range(64 - 18 + 1)}
    assert shapes == {(4, 24)}
    # Of a stream whose windows begin at lines, or two words behind.
    for lead, width in ((0, 20), (2, 20), (3, 24)):
        assert {box_of([Window(image, (np.arange(x, x + 18), np.arange(4)), 7, lead)])[0].pieces[0][1].shape
                for x in range(lead, 46, 4)} == {(4, width)}


def test_rows_have_no_more_lines_than_the_tiles_of_a_picture_begin_within() -> None:
    """Tiles of 8, 10 and 9 columns of a stencil of three: windows of 10, 12 and 11, which begin at any word of their tile."""
    for columns, lines in ((8, 3), (10, 4), (9, 4)):
        tile = (columns, 30)
        given = Frames(walk(stencil({(0, 0): 1, (2, 0): 1}), tile), {"photo": np.zeros((30, 92))}, (90, 30), tile)
        for each in given.transactions(7):
            assert isinstance(each["photo"], Window)
            assert box_of([each["photo"]])[0].size == lines * LANES * 30


def test_what_is_no_loop_or_has_no_room_is_arranged() -> None:
    image = numbered(64, 40)
    four = [at(image, range(x, x + 18), range(y, y + 10)) for y in (0, 10) for x in (0, 16)]
    assert boxed(four, PLENTY) is None, "two rows of tiles have no single step"
    one = four[:1]
    assert boxed(one, 24 * 10 - 1) is None and boxed(one, 24 * 10) is not None
    assert boxed([replace(one[0], most=1)], PLENTY) is None, "a loop a dimension"
    far = [at(image, range(8), range(y, y + 2)) for y in (0, 30)]
    assert boxed(far, 12 * 32 - 1) is None and all_read(far) == words(far)
    uneven = Window(image, (np.array([0, 1, 3]), np.arange(10)), 7)
    assert boxed([uneven], PLENTY) is None and uneven.apart.words.tolist() == uneven.words.tolist()
    other = numbered(64, 40)
    assert boxed([one[0], replace(four[1], image=other)], PLENTY) is None


def streams(scale: "tuple[int, int]", divide: "tuple[int, int]", shift: "tuple[int, int]") -> PeGraph:
    """A stencil over an image that is read in such steps."""
    return replace(stencil({(0, 0): 1, (2, 1): 3}), inputs={"photo": Stream("photo", scale, shift, divide, (None, None))})


pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))


@given(pairs, pairs, st.tuples(st.integers(-3, 3), st.integers(-3, 3)), pairs, st.integers(1, 3),
       st.tuples(st.integers(1, 19), st.integers(1, 11)))
def test_streams_of_tiles_have_the_words_that_the_image_has(scale: "tuple[int, int]", divide: "tuple[int, int]",
                                                            shift: "tuple[int, int]", tile: "tuple[int, int]", lanes: int,
                                                            size: "tuple[int, int]") -> None:
    """Element by element, in lanes and reaching beyond the image on all sides."""
    image = np.arange(1, 181).reshape(12, 15)
    tile = tile[0] * lanes * 2, tile[1] * 2
    walked = walk(streams(scale, divide, shift), tile, lanes)
    frames = Frames(walked, {"photo": image}, size, tile)

    def element(x: int, y: int) -> int:
        return int(image[y, x]) if x in range(15) and y in range(12) else 0

    stripe = -(-size[0] // tile[0]) * tile[0] // lanes
    across, down = range(0, stripe, tile[0] // lanes), range(0, size[1], tile[1])
    # Columns are longer, and all rows take few cycles.
    corners = ([(x, y) for x in across for y in down] if len(across) < len(down) else
               [(x, y) for y in down for x in across])
    grid = walked.grid
    for (x, y), transaction in zip(corners, frames.transactions(7), strict=True):
        for load in walked.loads:
            stream, found = load.stream, transaction[load.name]
            columns, lines = ([(stream.scale[dim] * (begin + at) + stream.shift[dim]) // stream.divide[dim]
                               for at in range(grid.origin[dim], grid.origin[dim] + grid.extents[dim])]
                              for dim, begin in ((0, x + load.lane * stripe), (1, y)))
            assert found.words.tolist() == [element(each, line) for line in lines for each in columns]
            assert found.apart.words.tolist() == found.words.tolist()
            assert isinstance(found, Window) and all_read([found]) in (None, found.words.tolist())


@pytest.mark.parametrize("divide", [1, 2])
def test_lanes_read_one_image_each_its_stripe(divide: int) -> None:
    """Also of an enlarged one, whose columns are read twice."""
    image = np.arange(12 * 32).reshape(12, 32)
    graph = replace(stencil({(0, 0): 1}), inputs={"photo": Stream("photo", (1, 1), (0, 0), (divide, divide), (None, None))})
    size, tile = (32 * divide, 12 * divide), (16 * divide, 6 * divide)
    tiles = list(Frames(walk(graph, tile, 4), {"photo": image}, size, tile).transactions(7))
    for lane in range(4):
        found = [each[f"photo.{lane}"] for each in tiles]
        assert all(isinstance(each, Window) and each.image is tiles[0]["photo.0"].image for each in found)
        assert found[0].extents == ((8 * lane, 8 * lane + 3, 8 * lane), (0, 5, 0))
        assert all_read(found[:2]) == words(found[:2])


def test_a_pattern_is_arranged() -> None:
    graph = PeGraph(("x", "y"), (PeNode("input", name="mask"),),
                    {"mask": Stream("", (1, 0), (0, 0), (1, 1), (), pattern=(5, 7))}, {"out": Ref(0, (0, 0))},
                    {"out": plane("out")})
    first, = Frames(walk(graph, (4, 2)), {}, (4, 2), (4, 2)).transactions(7)
    assert isinstance(first["mask"], Reads)
