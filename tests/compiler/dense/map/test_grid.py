"""The grid covers what results need, and lanes compute what one lane would."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stencils import BLUR, plane, stencil

from sardonyx.compiler.dense.map.grid import Grid, walk
from sardonyx.compiler.ir.dataflow import Ref, Stream
from sardonyx.compiler.ir.pe_graph import PeGraph, PeNode


def test_the_grid_of_a_stencil_is_wider_by_its_margin() -> None:
    found = walk(BLUR, (4, 2))
    assert found.grid == Grid((0, 0), (6, 4))
    assert found.grid.pitch == (1, 6)
    assert found.grid.steps((1, 1)) == 7
    assert found.grid.points == 24
    assert [store.first for store in found.stores] == [(0, 0)]


def test_the_grid_begins_at_the_lowest_offset() -> None:
    found = walk(stencil({(-2, 0): 1, (0, 1): 2}), (3, 3))
    assert found.grid == Grid((-2, 0), (5, 4))
    assert found.grid.step((0, 0)) == 2


def test_lanes_must_divide_the_result() -> None:
    with pytest.raises(AssertionError, match="5 columns do not divide into 2 lanes"):
        walk(BLUR, (5, 2), lanes=2)


offsets = st.tuples(st.integers(-3, 3), st.integers(-2, 2))


@given(weights=st.dictionaries(offsets, st.integers(1, 9), min_size=1, max_size=5), lanes=st.integers(1, 4),
       size=st.tuples(st.integers(1, 3), st.integers(1, 4)))
def test_lanes_compute_what_one_lane_would(weights: dict[tuple[int, int], int], lanes: int, size: tuple[int, int]) -> None:
    graph = stencil(weights)
    whole = (size[0] * lanes, size[1])
    image = np.random.default_rng(1).integers(0, 99, (40, 40))
    found = walk(graph, whole, lanes)
    assert {load.lane for load in found.loads} <= {*range(lanes)} == {store.lane for store in found.stores}

    def value(each: PeGraph, ref: Ref, point: tuple[int, int]) -> int:
        at = (point[0] + ref.offset[0], point[1] + ref.offset[1])
        node = each.nodes[ref.node]
        if node.op == "input":
            stream = each.inputs[node.name]
            assert found.grid.origin[0] <= at[0] < found.grid.origin[0] + found.grid.extents[0] or each is graph
            x, y = ((s * p + shift) // d for s, p, shift, d in zip(stream.scale, at, stream.shift, stream.divide, strict=True))
            return int(image[y + 10, x + 10])
        a, b, c = (value(each, o, at) if isinstance(o, Ref) else o for o in (node.operands[k] for k in "abc"))
        return a * b + c

    for store in found.stores:
        for x in range(store.counts[0]):
            for y in range(store.counts[1]):
                got = value(found.graph, Ref(store.value.node, (0, 0)), (store.first[0] + x, store.first[1] + y))
                assert got == value(graph, graph.results["out"], (x, y))


def test_a_result_at_every_second_point_has_lanes_of_so_many_points() -> None:
    half = plane("out")
    graph = PeGraph(("x", "y"), (PeNode("input", name="photo"), PeNode("muladd", {"a": Ref(0, (0, 0)), "b": 1, "c": 0})),
                    {"photo": plane("photo")}, {"out": Ref(1, (0, 0))},
                    {"out": type(half)("out", (2, 2), (0, 0), (1, 1), (None, None))})
    assert walk(graph, (3, 2)).grid == Grid((0, 0), (5, 3))
    found = walk(graph, (4, 2), lanes=2)
    assert found.grid == Grid((0, 0), (3, 3))


@pytest.mark.parametrize("divide, shift, offset, columns, grid", [
    pytest.param(2, 0, 1, 6, (0, 8), id="one column more"), pytest.param(2, 0, 1, 5, (0, 6), id="as it is"),
    pytest.param(2, 1, 1, 5, (0, 6), id="begins within an element, which loops walk"),
    pytest.param(3, 1, 0, 5, (-1, 6), id="begins one column before"),
    pytest.param(3, 1, -2, 4, (-4, 9), id="at both ends")])
def test_the_grid_of_an_enlarged_image_goes_on_to_where_elements_begin(divide: int, shift: int, offset: int, columns: int,
                                                                       grid: tuple[int, int]) -> None:
    stream = Stream("photo", (1, 1), (shift, 0), (divide, 1), (None, None))
    found = walk(replace(stencil({(0, 0): 1, (offset, 0): 2}), inputs={"photo": stream}), (columns, 2)).grid
    assert found == Grid((grid[0], 0), (grid[1], 2))


@pytest.mark.parametrize("divides, grid", [((62, 31), (0, 186)), ((31, 37), (0, 180))], ids=["more columns", "as asked"])
def test_of_two_enlarged_images_a_grid_is_found_at_once(divides: tuple[int, int], grid: tuple[int, int]) -> None:
    """Elements of those by 31 and 37 begin together at every 1,147th column; to try all ways there took minutes."""
    photo, other = (Stream(name, (1, 1), (0, 0), (divide, 1), (None, None))
                    for name, divide in zip(("photo", "other"), divides, strict=True))
    graph = PeGraph(("x", "y"), (PeNode("input", name="photo"), PeNode("input", name="other"),
                                 PeNode("muladd", {"a": Ref(0, (0, 0)), "b": 3, "c": Ref(1, (0, 0))})),
                    {"photo": photo, "other": other}, {"out": Ref(2, (0, 0))}, {"out": plane("out")})
    assert walk(graph, (180, 2)).grid == Grid((grid[0], 0), (grid[1], 2))
