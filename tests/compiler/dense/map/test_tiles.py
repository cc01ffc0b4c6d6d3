"""The tile of a picture: few cycles, within banks and MEM tiles, and what the program says of it."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from dma_model import program_of
from hypothesis import given, settings
from hypothesis import strategies as st
from stencils import BLUR, plane, stencil

from sardonyx.compiler.dense.map.grid import walk
from sardonyx.compiler.dense.map.tiles import cycles, tiles, transfers
from sardonyx.compiler.halide import compile_pes
from sardonyx.compiler.ir.dataflow import Stream
from sardonyx.compiler.ir.mapped import Pin
from sardonyx.compiler.ir.pe_graph import PeGraph
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.glb import Glb
from sardonyx.runtime.data.frames import Frames
from sardonyx.runtime.data.window import Window, boxed
from sardonyx.runtime.plan import launches, loops_of_transactions

SMALL, ONYX = presets.get("small"), presets.get("onyx")


def best(*size: int, pes=BLUR, lanes: int = 1, asked=None, arch=ONYX) -> tuple[int, ...]:
    return next(tiles(pes, size, lanes, asked or {}, arch))


def a_pixel(pes, size, tile) -> float:
    return cycles(pes, walk(pes, tile), size, tile) / (size[0] * size[1])


def test_a_small_picture_is_one_tile() -> None:
    assert best(30, 20) == (30, 20)
    assert best(31, 20, lanes=2) == (32, 20)


@pytest.mark.parametrize("size", [(510, 510), (640, 480), (1000, 300), (1920, 1080)])
def test_a_photograph_takes_hardly_more_than_a_cycle_a_pixel(size: tuple[int, int]) -> None:
    tile = best(*size)
    assert a_pixel(BLUR, size, tile) < 1.04 < a_pixel(BLUR, size, (64, 64))


def test_the_points_of_a_tile_fit_a_bank_of_however_few_elements() -> None:
    """Of an image enlarged by 255/7 a tile of 180 x 120 reads 5 x 120 elements, at 1,275 x 120 points."""
    graph = replace(stencil({(0, 0): 1}), inputs={"photo": Stream("photo", (1, 1), (0, 0), (255, 1), (None, None))},
                    outputs={"out": replace(plane("out"), scale=(7, 1))})
    for tile in tiles(graph, (180, 120), 1, {}, SMALL):
        assert walk(graph, tile).grid.points <= SMALL.glb.room_bytes // 2


def test_tiles_of_an_enlarged_image_begin_where_an_element_does() -> None:
    """Each is in two columns and three rows, which loops walk from the first on; one tile alone may be of any size."""
    graph = replace(stencil({(0, 0): 1}), inputs={"photo": Stream("photo", (1, 1), (0, 0), (2, 3), (None, None))})
    assert best(31, 20, pes=graph) == (31, 20)
    image = np.zeros((350, 550), np.uint8)
    for size, lanes in (((1030, 1030), 1), ((1030, 1030), 2), ((1024, 900), 4)):
        tile = next(tiles(graph, size, lanes, {}, ONYX))
        assert tile[0] % (2 * lanes) == tile[1] % 3 == 0
        streams = Frames(walk(graph, tile, lanes), {"photo": image}, size, tile).transactions(7)
        windows = [each for transaction in streams for each in transaction.values() if isinstance(each, Window)]
        assert windows and all(boxed([each], 1 << 20) for each in windows)


def test_estimated_cycles_are_those_of_a_compiled_tile() -> None:
    found = compile_pes(BLUR, ONYX, (42, 30))
    last = found.alignment.arrivals[Pin("out", "f2g")] + found.walk.grid.step((41, 29)) + 1
    assert abs(cycles(BLUR, found.walk, (42, 30), (42, 30)) - last) < 12


def test_streams_fit_a_bank_and_lines_the_mem_tiles() -> None:
    bank = replace(ONYX, glb=Glb(bank_bytes=4096))
    columns, rows = best(510, 510, arch=bank)
    assert (columns + 2) * (rows + 2) <= 2048
    # Rows of 11 lines of a picture 1900 wide, which take a MEM tile each; tiny has 4 of them.
    tall = stencil({(0, y): 1 + y for y in range(11)})
    assert best(1900, 60, pes=tall)[0] > 200
    assert best(1900, 60, pes=tall, arch=presets.get("tiny"))[0] < 100


@pytest.mark.parametrize("size, lanes", [((2046, 2046), 1), ((2046, 2046), 4), ((510, 510), 1)])
def test_an_image_has_room_as_it_lies(size: tuple[int, int], lanes: int) -> None:
    """Two tiles of 186 x 171 would fit without the columns up to the next line; see `runtime/data/window.py`."""
    tile = next(tiles(BLUR, size, lanes, {}, ONYX))
    image = np.zeros((size[1] + 2, size[0] + 2), np.uint8)
    most = ONYX.glb.load_loops - 1
    room = ONYX.glb.bank_bytes // 2
    walked = walk(BLUR, tile, lanes)
    for transaction in islice(Frames(walked, {"photo": image}, size, tile).transactions(most), 2):
        for window in transaction.values():
            assert isinstance(window, Window) and boxed([window], room if 2 * window.size > room else room // 2) is not None


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_where_launches_are_queued_tiles_are_small_as_words_of_the_first_and_the_last_one_move_alone(lanes: int) -> None:
    queued = replace(SMALL, glb=replace(SMALL.glb, queue=True))
    tile, whole = (next(tiles(BLUR, (510, 510), lanes, {}, arch)) for arch in (queued, SMALL))
    walked = walk(BLUR, tile, lanes)
    assert 1.5 * tile[0] * tile[1] < whole[0] * whole[1] and a_pixel(BLUR, (510, 510), tile) < 1.12
    computes = cycles(BLUR, walked, (510, 510), tile)
    over = transfers(walked, (510, 510), tile, queued, computes)
    # In four lanes words come as fast as they are computed, and lines of rows are not full.
    assert over < (0.04 if lanes < 4 else 0.14) * computes


def test_what_the_program_says_stays() -> None:
    assert best(510, 510, asked={"x": 64})[0] == 64
    assert best(510, 510, asked={"y": 16})[1] == 16


def test_further_tiles_are_wider() -> None:
    """For what cannot be evened out in short rows."""
    assert list(tiles(BLUR, (26, 10), 1, {}, ONYX)) == [(26, 10), (48, 10), (64, 10), (96, 10)]
    assert list(tiles(BLUR, (26, 10), 1, {"x": 26}, ONYX)) == [(26, 10)]


def test_what_fits_nowhere_is_left_to_the_compiler() -> None:
    many = stencil({(x, y): 1 + x for x in range(9) for y in range(9)})
    assert list(tiles(many, (510, 510), 1, {}, SMALL)) == [(64, 64)]


def test_a_tile_alone_is_wider_so_that_stripes_begin_with_elements() -> None:
    twice = replace(stencil({(0, 0): 1}), inputs={"photo": Stream("photo", (1, 1), (0, 0), (2, 1), (None, None))})
    assert best(10, 4, lanes=2, pes=twice, arch=SMALL) == (12, 4) and best(9, 4, pes=twice, arch=SMALL) == (9, 4)


def test_tiles_of_three_and_four_lanes() -> None:
    """Lines of a picture of 510 x 510 are full where four lanes take 256 columns."""
    queued = replace(SMALL, glb=replace(SMALL.glb, queue=True))
    assert {lanes: best(510, 510, lanes=lanes, arch=queued) for lanes in (1, 2, 3, 4)} == {
        1: (102, 102), 2: (102, 73), 3: (171, 51), 4: (256, 30)}


def scaled(scale: tuple[int, int], divide: tuple[int, int], shift: int = 0, *offsets: tuple[int, int]) -> PeGraph:
    """A stencil over an image that is read in such steps."""
    stream = Stream("photo", scale, (shift, 0), divide, (None, None))
    return replace(stencil({(0, 0): 1, **dict.fromkeys(offsets, 2)}), inputs={"photo": stream})


KINDS = {"blur": BLUR, "every second point": replace(BLUR, outputs={"out": replace(plane("out"), scale=(2, 2))}),
         "pointwise": scaled((1, 1), (1, 1)), "every second element": scaled((2, 2), (1, 1)), "twice": scaled((1, 1), (2, 2)),
         "twice, in a stencil": scaled((1, 1), (2, 1), 0, (1, 0), (-1, 2)), "three times": scaled((1, 1), (3, 2), 1),
         "half as large again": scaled((2, 1), (3, 1)), "two in three": scaled((3, 1), (2, 1))}


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(sorted(KINDS)), st.integers(1, 5),
       st.tuples(st.integers(1, 120), st.integers(1, 80)), st.sampled_from([512, 1024, 2048]), st.booleans())
def test_nobody_arranges_words_of_tiles_that_are_chosen(kind: str, lanes: int, size: tuple[int, int], bank: int,
                                                        queue: bool) -> None:
    """Images and results come and go as they lie, whatever their sizes, lanes and banks."""
    arch = replace(SMALL, glb=replace(SMALL.glb, bank_bytes=2 * bank, queue=queue))
    tile = best(*size, pes=KINDS[kind], lanes=lanes, arch=arch)
    walked = walk(KINDS[kind], tile, lanes)
    frames = Frames(walked, {"photo": np.ones((3 * size[1] + 4, 3 * size[0] + 4), np.uint16)}, size, tile)
    for each in launches(program_of(walked, arch), arch, frames.transactions(loops_of_transactions(arch.glb)), chained=queue):
        assert (each.arranged, each.tiled) == (0, 0) and each.lying and each.placed


def test_no_loops_walk_two_elements_in_five_points() -> None:
    """0 0 0 1 1 2 2 2 3 3: there the host arranges words."""
    walked = walk(scaled((2, 1), (5, 1)), (10, 4))
    assert walked.grid == walk(scaled((1, 1), (1, 1)), (10, 4)).grid
    frames = Frames(walked, {"photo": np.ones((4, 4), np.uint16)}, (10, 4), (10, 4))
    assert [each.arranged for each in launches(program_of(walked, SMALL), SMALL, frames.transactions(7))] == [10 * 4]
