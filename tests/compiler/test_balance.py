"""Pass-throughs where paths part and meet: on which nets, and how many."""

from dataclasses import replace

from sardonyx.compiler.ir.mapped import MappedGraph
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.balance import balance
from sardonyx.compiler.sparse.blocks import map_graph
from sardonyx.compiler.sparse.lower import lower
from sardonyx.hw.arch import presets

SPARSE = presets.get("sparse")
SUM = map_graph(lower(parse("X(i,j) = B(i,j) + C(i,j) + D(i,j)")))


def apart(graph: MappedGraph) -> set[str]:
    """What has a pass-through in front of it because another joiner takes the same streams."""
    return {name.removeprefix("apart ") for name in graph.blocks if name.startswith("apart ")}


def test_of_two_joiners_of_the_same_streams_in_the_innermost_loop_one_has_pass_throughs_on_all_its_inputs() -> None:
    found = balance(SUM, SPARSE)
    assert apart(found) == {"union_j_3.data0", "union_j_3.data2", "union_j_3.data3"}
    fed = {(net.source.block, sink.block) for net in found.nets for sink in net.sinks}
    assert {source for source, sink in fed if sink == "union_j_3"} == {f"apart {pin}" for pin in apart(found)}
    assert ("scan_D_j", "union_j_2") in fed and ("scan_D_j", "union_j_3") not in fed


def test_it_has_none_where_there_are_fewer_pes_than_inputs() -> None:
    assert apart(balance(SUM, SPARSE, 2)) == set()
    assert len(apart(balance(SUM, SPARSE, 3))) == 3
    assert sum(block.slack for block in balance(SUM, SPARSE, 3).blocks.values()) == 3


def test_joiners_of_other_streams_have_none() -> None:
    two = map_graph(lower(parse("X(i,j) = B(i,j) + C(i,j)")))
    assert apart(balance(two, SPARSE)) == set()


def test_without_registers_on_tracks_paths_differ_by_less() -> None:
    product = map_graph(lower(parse("X(i,j) = B(i,k) * C(k,j)")))
    bare = replace(SPARSE, interconnect=replace(SPARSE.interconnect, fifo="inputs"))
    wanted, fewer = (sum(block.slack for block in balance(product, arch).blocks.values()) for arch in (SPARSE, bare))
    assert 0 < fewer < wanted
