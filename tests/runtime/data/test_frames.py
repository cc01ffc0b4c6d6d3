"""Pictures and streams: what Frames loads is what the streams say, and what it puts together is the picture."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stencils import BLUR, plane, stencil

from sardonyx.compiler.dense.map.grid import walk
from sardonyx.compiler.ir.dataflow import Ref, Stream
from sardonyx.compiler.ir.pe_graph import PeGraph, PeNode
from sardonyx.runtime.data.frames import Frames
from sardonyx.sim.model.walked import run_walk

X = (1, 1), (0, 0), (1, 1), (None, None)


def computed(frames: Frames) -> np.ndarray:
    """The picture, with the graph of PEs evaluated tile by tile."""
    tiles = ({name: read.words for name, read in reads.items()} for reads in frames.transactions(8))
    return frames.picture(run_walk(frames.walk, tiles))


@given(st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 2)), st.integers(1, 9), min_size=1, max_size=5),
       st.integers(1, 23), st.integers(1, 13), st.integers(1, 9), st.integers(1, 9), st.integers(1, 4))
def test_a_picture_in_tiles_is_the_picture(weights: dict[tuple[int, int], int], width: int, height: int, columns: int,
                                           rows: int, lanes: int) -> None:
    """Tiles larger than the picture, that do not divide it, of one element; one lane to four."""
    image = np.random.default_rng(width).integers(0, 256, (height + 2, width + 3), dtype=np.uint8)
    tile = (columns * lanes, rows)
    found = computed(Frames(walk(stencil(weights), tile, lanes), {"photo": image}, (width, height), tile))
    exact = sum(weight * image[y:y + height, x:x + width].astype(int) for (x, y), weight in weights.items())
    assert np.array_equal(found, exact)


def test_words_outside_the_image_are_zero() -> None:
    image = np.arange(1, 7, dtype=np.uint8).reshape(2, 3)
    frames = Frames(walk(stencil({(-1, 0): 1, (0, 1): 1}), (4, 2)), {"photo": image}, (4, 2), (4, 2))
    assert next(frames.transactions(1))["photo"].words.reshape(3, 5).tolist() == [[0, 1, 2, 3, 0], [0, 4, 5, 6, 0], [0] * 5]


def test_signed_elements_become_words() -> None:
    frames = Frames(walk(stencil({(0, 0): 1}), (3, 1)), {"photo": np.array([[-1, -128, 5]], np.int8)}, (3, 1), (3, 1))
    assert next(frames.transactions(1))["photo"].words.tolist() == [0xFFFF, 0xFF80, 5]


@pytest.mark.parametrize("lanes", [1, 3])
@pytest.mark.parametrize("tile", [(1, 1), (3, 2), (5, 4), (12, 9)])
def test_an_enlarged_image_has_elements_of_where_the_tile_is(tile: tuple[int, int], lanes: int) -> None:
    tile = (tile[0] * lanes, tile[1])
    graph = replace(stencil({(0, 0): 1}), inputs={"photo": Stream("photo", (1, 1), (1, 0), (2, 3), (None, None))})
    image = np.arange(40, dtype=np.uint16).reshape(5, 8)
    found = computed(Frames(walk(graph, tile, lanes), {"photo": image}, (10, 8), tile))
    assert found.tolist() == [[int(image[y // 3, (x + 1) // 2]) for x in range(10)] for y in range(8)]


@pytest.mark.parametrize("lanes", [1, 2])
def test_a_pattern_repeats_over_the_picture_and_not_the_tile(lanes: int) -> None:
    graph = replace(stencil({(0, 0): 1}), inputs={"photo": Stream("", (1, 0), (0, 0), (1, 1), (), pattern=(5, 7, 9))})
    found = computed(Frames(walk(graph, (4, 2), lanes), {}, (10, 3), (4, 2)))
    assert found.tolist() == [[5, 7, 9, 5, 7, 9, 5, 7, 9, 5]] * 3


@pytest.mark.parametrize("lanes", [1, 2, 3])
def test_every_second_element_is_stored(lanes: int) -> None:
    graph = replace(BLUR, outputs={"out": replace(plane("out"), scale=(2, 2))})
    image = np.random.default_rng(0).integers(0, 99, (15, 17), dtype=np.uint8)
    every = computed(Frames(walk(BLUR, (15, 13)), {"photo": image}, (15, 13), (15, 13)))
    tile = (3 * lanes, 2)
    found = computed(Frames(walk(graph, tile, lanes), {"photo": image}, (8, 7), tile))
    assert np.array_equal(found, every[::2, ::2])


def planes(order: tuple[int, ...]) -> PeGraph:
    """Copies of planes of a four-dimensional image (x, y, c, k), with the dimensions of the result in any order of these."""
    nodes, inputs, results, outputs = [], {}, {}, {}
    for c in range(2):
        for k in range(3):
            at = (None, None, c, k)
            inputs[f"photo_{c}_{k}"] = Stream("photo", *X[:3], at)
            outputs[f"out_{c}_{k}"] = Stream("out", *X[:3], tuple(at[dim] for dim in order))
            results[f"out_{c}_{k}"] = Ref(len(nodes), (0, 0))
            nodes.append(PeNode("input", name=f"photo_{c}_{k}"))
    return PeGraph(("x", "y"), tuple(nodes), inputs, results, outputs)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 0, 1, 3), (3, 2, 0, 1), (0, 3, 1, 2)])
def test_planes_go_to_their_places_whatever_the_order_of_dimensions(order: tuple[int, ...]) -> None:
    image = np.random.default_rng(0).integers(0, 256, (3, 2, 5, 7), dtype=np.uint8)
    expected = image.transpose([3 - dim for dim in reversed(order)])
    found = computed(Frames(walk(planes(order), (4, 2)), {"photo": image}, expected.shape[::-1], (4, 2)))
    assert np.array_equal(found, expected)


def test_an_image_may_begin_elsewhere() -> None:
    image = np.arange(20, dtype=np.uint8).reshape(4, 5)
    frames = Frames(walk(stencil({(0, 0): 1}), (3, 2)), {"photo": image}, (3, 2), (3, 2), {"photo": (-1, -2)})
    assert computed(frames).tolist() == [[11, 12, 13], [16, 17, 18]]
