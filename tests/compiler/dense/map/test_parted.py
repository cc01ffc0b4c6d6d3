"""Columns are parted among lanes, in stripes."""

from stencils import BLUR, stencil

from sardonyx.compiler.dense.map.parted import parted
from sardonyx.compiler.ir.dataflow import Ref


def test_every_lane_has_a_name() -> None:
    found = parted(BLUR, 3)
    assert [node.name for node in found.nodes[:3]] == ["photo.0", "photo.1", "photo.2"]
    assert list(found.results) == ["out.0", "out.1", "out.2"]


def test_the_example_of_the_module() -> None:
    """Eight columns in two lanes: each reads what is its own."""
    found = parted(stencil({(0, 0): 1, (1, 0): 1}), 2)
    assert {name: (stream.scale, stream.shift) for name, stream in found.inputs.items()} == {
        "photo.0": ((1, 1), (0, 0)), "photo.1": ((1, 1), (0, 0))}
    assert {each for node in found.nodes for _, each in node.refs() if each.node < 2} == {
        Ref(0, (0, 0)), Ref(0, (1, 0)), Ref(1, (0, 0)), Ref(1, (1, 0))}
