"""Columns are parted among lanes: in turn, or in stripes."""

import pytest
from stencils import BLUR, plane, stencil

from sardonyx.compiler.dense.map.parted import in_turn, stride, stripes
from sardonyx.compiler.ir.dataflow import Ref
from sardonyx.compiler.ir.pe_graph import PeGraph

PAIR = stencil({(0, 0): 1, (1, 0): 1})


def reads(graph: PeGraph) -> "dict[str, tuple[tuple[int, ...], tuple[int, ...]]]":
    """Scale and shift of every stream, and what the results read."""
    return {name: (stream.scale, stream.shift) for name, stream in graph.inputs.items()}


@pytest.mark.parametrize("parted", [in_turn(BLUR, 3), stripes(BLUR, 3)], ids=["in turn", "stripes"])
def test_every_lane_has_a_name(parted: PeGraph) -> None:
    assert [node.name for node in parted.nodes[:3]] == ["photo.0", "photo.1", "photo.2"]
    assert list(parted.results) == ["out.0", "out.1", "out.2"]


def test_the_example_of_the_module() -> None:
    """Eight columns in two lanes."""
    assert reads(in_turn(PAIR, 2)) == {"photo.0": ((2, 1), (0, 0)), "photo.1": ((2, 1), (1, 0))}
    assert reads(stripes(PAIR, 2)) == {"photo.0": ((1, 1), (0, 0)), "photo.1": ((1, 1), (0, 0))}
    turning, striped = ({each for node in graph.nodes for _, each in node.refs() if each.node < 2}
                        for graph in (in_turn(PAIR, 2), stripes(PAIR, 2)))
    assert turning == {Ref(0, (0, 0)), Ref(1, (0, 0)), Ref(0, (1, 0))}, "a neighbour is in another lane, or a step ahead"
    assert striped == {Ref(0, (0, 0)), Ref(0, (1, 0)), Ref(1, (0, 0)), Ref(1, (1, 0))}, "a lane reads what is its own"


def test_columns_of_a_smaller_result_are_some_points_apart() -> None:
    half = PeGraph(BLUR.dims, BLUR.nodes, BLUR.inputs, BLUR.results, {"out": type(plane("out"))("out", (3, 2), (0, 0), (1, 1),
                                                                                                  (None, None))})
    assert (stride(BLUR), stride(half)) == (1, 3)
