"""Results as they lie in memory: what the loops of the DMAs store is the picture, in tiles of any size, and comes as boxes."""

from dataclasses import replace

import numpy as np
from dma_model import run_model
from hypothesis import event, given
from hypothesis import strategies as st
from stencils import BLUR, plane, stencil

from sardonyx.compiler.dense.map.grid import walk
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.runtime.data.frames import Frames
from sardonyx.runtime.data.result import Part, Writes, landed
from sardonyx.runtime.host import Outcome
from sardonyx.runtime.plan import loops_of_transactions

SMALL = presets.get("small")
# Banks of 512 words.
TIGHT = replace(SMALL, glb=replace(SMALL.glb, bank_bytes=1024))
PLENTY = 1 << 20


def ran(frames: Frames, arch: Arch = SMALL) -> "tuple[np.ndarray, list[Outcome]]":
    """The picture that the DMAs make, and the launches."""
    found = run_model(arch, frames.walk, frames.transactions(loops_of_transactions(arch.glb)))
    return frames.picture(each for one in found for each in one.stored), found


def ways(outcomes: "list[Outcome]") -> "tuple[int, int]":
    """Words as they lie in images, and tile by tile."""
    return sum(each.placed for each in outcomes), sum(each.tiled for each in outcomes)


@given(st.integers(1, 37), st.integers(1, 23), st.integers(1, 13), st.integers(1, 11), st.integers(1, 4), st.booleans())
def test_what_is_stored_by_loops_is_the_picture(width: int, height: int, columns: int, rows: int, lanes: int,
                                                tight: bool) -> None:
    """Tiles larger than the picture, that do not divide it, of one element; in lanes; in one launch and in halves of banks."""
    image = np.random.default_rng(width).integers(0, 256, (height + 2, width + 3), dtype=np.uint8)
    weights, tile = {(0, 0): 1, (2, 1): 3, (3, 2): 5}, (columns * lanes, rows)
    found, outcomes = ran(Frames(walk(stencil(weights), tile, lanes), {"photo": image}, (width, height), tile),
                          TIGHT if tight else SMALL)
    placed, tiled = ways(outcomes)
    event(f"as it lies: {placed > 0}, tile by tile: {tiled > 0}, launches: {len(outcomes) > 1}")
    exact = sum(weight * image[y:y + height, x:x + width].astype(int) for (x, y), weight in weights.items())
    assert np.array_equal(found, exact)


def blur(shape: "tuple[int, int]", tile: "tuple[int, int]", lanes: int = 1) -> Frames:
    image = np.random.default_rng(0).integers(0, 256, (shape[1] + 2, shape[0] + 2), dtype=np.uint8)
    return Frames(walk(BLUR, tile, lanes), {"photo": image}, shape, tile)


def test_which_pictures_come_as_they_lie() -> None:
    """A row of tiles, whole rows, rows of several tiles, a tile a launch, lanes."""
    assert ways(ran(blur((60, 30), (20, 30)))[1]) == (60 * 30, 0)
    assert ways(ran(blur((62, 30), (62, 10)))[1]) == (64 * 30, 0), "rows are filled up to lines"
    _, outcomes = ran(blur((60, 30), (30, 15)))
    assert [(each.placed, each.tiled, each.arranged) for each in outcomes] == [(60 * 15, 0, 0)] * 2, "rows are launches"
    # Columns of nine tiles, which are longer than rows of three.
    _, outcomes = ran(blur((30, 90), (10, 10)))
    assert [len(each.stored) for each in outcomes] == [9] * 3 and ways(outcomes) == (3 * 16 * 90, 0)
    assert ways(ran(blur((180, 120), (60, 60)))[1]) == (180 * 120, 0), "two rows of some time, which are launches of their own"
    _, outcomes = ran(blur((40, 30), (20, 10)), TIGHT)
    assert [each.placed for each in outcomes] == [20 * 10] * 6
    # Thirteen columns begin anywhere in a line: with those in front of them and behind them they are up to four lines.
    _, outcomes = ran(blur((39, 22), (13, 11)), TIGHT)
    assert [each.placed for each in outcomes] == [16 * 11] * 6
    assert ways(ran(blur((64, 9), (32, 9), lanes=4))[1]) == (64 * 9, 0)


def test_stripes_are_stored_in_one_image() -> None:
    """Two tiles in each of four, which are a launch; three that begin anywhere in a line."""
    for frames in (blur((64, 9), (32, 9), 4), blur((39, 9), (39, 9), 3)):
        found, outcomes = ran(frames)
        every, _ = ran(blur(frames.shape, frames.shape))
        assert np.array_equal(found, every) and len(outcomes) == 1
        assert not ways(outcomes)[1] and not any(each.arranged for each in outcomes)
        images = {id(words.base) for each in outcomes for one in each.stored for words in one.values()}
        assert len(images) == 1, "the host puts nothing together"


def test_the_image_of_stripes_is_wider_than_any_of_them() -> None:
    """What fills up a stripe's line would be that of another one: two columns of two stripes are in one line."""
    widths = {columns: next(blur((2 * columns, 3), (2 * columns, 3), 2).transactions(7)).results["out.0"].whole[-1]
              for columns in (1, 2, 3, 4)}
    assert widths == {1: 8, 2: 8, 3: 8, 4: 8}
    assert next(blur((10, 3), (10, 3), 2).transactions(7)).results["out.1"] == Part((3, 12), (0, 5), (3, 5), "out")


def test_a_tile_whose_rows_have_no_room_as_lines_is_stored_word_after_word() -> None:
    """A half of a bank holds 256 words: 19 rows of thirteen, not of sixteen."""
    narrow = stencil({(0, 0): 1})
    image = np.arange(39 * 38).reshape(38, 39)
    for rows, way in ((19, (0, 39 * 38)), (16, (3 * 3 * 16 * 16, 0))):
        found, outcomes = ran(Frames(walk(narrow, (13, rows)), {"photo": image}, (39, 38), (13, rows)), TIGHT)
        assert np.array_equal(found, image) and ways(outcomes) == way


def test_every_second_element_comes_as_it_lies() -> None:
    graph = replace(BLUR, outputs={"out": replace(plane("out"), scale=(2, 2))})
    image = np.random.default_rng(0).integers(0, 99, (15, 17), dtype=np.uint8)
    every, _ = ran(Frames(walk(BLUR, (15, 13)), {"photo": image}, (15, 13), (15, 13)))
    found, outcomes = ran(Frames(walk(graph, (4, 7)), {"photo": image}, (8, 7), (4, 7)))
    assert np.array_equal(found, every[::2, ::2]) and ways(outcomes) == (8 * 7, 0)


@given(st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 4)), st.integers(1, 3), st.integers(0, 2),
       st.integers(1, 3))
def test_images_of_three_dimensions(tile: "tuple[int, int, int]", tiles: int, along: int, lanes: int) -> None:
    """In one lane, and in stripes."""
    image = np.arange(11 * 9 * 12).reshape(11, 9, 12)
    tile = (tile[0] * lanes, *tile[1:])
    shape = tuple(side * (tiles if dim == along else 1) for dim, side in enumerate(tile))
    whole = np.pad(image, 40)
    frames = Frames(walk(stencil({(0, 0, 0): 1, (1, 0, 1): 2}), tile, lanes), {"photo": whole}, shape, tile)
    found, outcomes = ran(frames)
    x, y, z = shape
    assert np.array_equal(found, whole[:z, :y, :x] + 2 * whole[1:z + 1, :y, 1:x + 1])
    # Neighbours along any of the dimensions are a box.
    assert ways(outcomes)[1] == 0


def test_the_longest_of_columns_is_a_launch_whatever_its_dimension() -> None:
    """Two tiles across and two high, of which there are nine."""
    image, tile = np.arange(9 * 6 * 8).reshape(9, 6, 8), (4, 3, 1)
    found, outcomes = ran(Frames(walk(stencil({(0, 0, 0): 1}), tile), {"photo": image}, (8, 6, 9), tile))
    assert np.array_equal(found, image)
    assert [len(each.stored) for each in outcomes] == [9] * 4 and ways(outcomes)[1] == 0


def parts(whole: "tuple[int, int]", shape: "tuple[int, int]", *corners: "tuple[int, int]") -> "Writes | None":
    """All y first."""
    return landed([Part(whole, corner, shape) for corner in corners], 6, PLENTY)


def test_the_example_of_the_module() -> None:
    found = parts((20, 36), (3, 6), (6, 10), (6, 16))
    assert found == Writes(((6, 1), (3, 16)), 6, 2, Part((20, 36), (6, 10), (3, 12)), 16)


def test_what_is_no_box_or_in_no_single_step_is_not_stored_so() -> None:
    assert parts((20, 36), (3, 12), (0, 24), (3, 0)) is None, "the end of a row and the begin of the next one"
    assert parts((20, 36), (3, 12), (0, 0), (0, 24)) is None, "a gap that belongs to others"
    assert parts((20, 36), (3, 12), (0, 0), (0, 12), (3, 0), (3, 12)) is None
    assert parts((20, 36), (3, 36), (0, 0), (3, 0), (6, 0)) is not None
    one = Part((20, 36), (0, 8), (3, 11))
    assert landed([one], 1, PLENTY) is None, "a loop a dimension"
    assert landed([one], 2, 3 * 16 - 1) is None
    assert landed([one], 2, 3 * 16) is not None
    assert parts((20, 36), (3, 1), (0, 9)) == Writes(((3, 4),), 0, 1, Part((20, 36), (0, 9), (3, 1)), 4), "a line for a word"


def test_two_runs_of_the_same_transactions_give_words_of_their_own() -> None:
    frames = blur((16, 4), (8, 4))
    transactions = list(frames.transactions(7))
    first, second = (run_model(SMALL, frames.walk, transactions) for _ in range(2))
    assert ways(first) == ways(second) == (64, 0)
    one, other = (each[0].stored[0]["out"] for each in (first, second))
    assert np.array_equal(one, other) and not np.shares_memory(one, other)
    assert np.shares_memory(one.base, first[0].stored[1]["out"]), "tiles of one picture are parts of it"
