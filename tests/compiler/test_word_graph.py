from __future__ import annotations

from dataclasses import replace

import pytest

from sardonyx.compiler.ir.dataflow import Ref, Stream, WordGraph, WordNode, faults, to_text, verify

HERE = (0, 0)
STREAM = Stream("a", (1, 1), (0, 0), (1, 1), (None, None))
GRAPH = WordGraph(("x", "y"), (WordNode("input", name="a"), WordNode("lt", (Ref(0, HERE), 5), signed=True),
                               WordNode("select", (Ref(1, (1, 0)), Ref(0, HERE), 7))),
                  {"a": STREAM}, {"out": Ref(2, (0, 1))}, {"out": replace(STREAM, image="out", scale=(2, 1))})


def other(number: int, node: WordNode) -> WordGraph:
    """The graph with another node."""
    return replace(GRAPH, nodes=(*GRAPH.nodes[:number], node, *GRAPH.nodes[number + 1:]))


def test_a_consistent_graph_passes() -> None:
    assert faults(GRAPH) == []
    assert verify(GRAPH) is GRAPH


@pytest.mark.parametrize(("graph", "fault"), [
    (other(1, WordNode("less", (Ref(0, HERE), 5))), "node 1: less is no operation"),
    (other(1, WordNode("lt", (Ref(0, HERE),))), "node 1: lt takes 2 operands, not 1"),
    (other(1, WordNode("lt", (Ref(1, HERE), 5))), "node 1: node 1 does not stand before"),
    (other(1, WordNode("lt", (Ref(0, (0,)), 5))),
     "node 1: Ref(node=0, offset=(0,), port='res') is no point of a grid of 2 dimensions"),
    (other(1, WordNode("lt", (Ref(0, HERE), 65536))), "node 1: 65536 is no word"),
    (other(1, WordNode("add", (Ref(0, HERE), 5))), "node 2: node 1 gives w, not b"),
    (other(2, WordNode("select", (2, Ref(0, HERE), 7))), "node 2: 2 is no flag"),
    (other(2, WordNode("bit_not", (Ref(1, HERE),))), "result out: node 2 gives b, not w"),
    (other(2, WordNode("lookup", (Ref(0, HERE),))), "node 2: a lookup, and nothing else, has a table"),
    (other(2, WordNode("lookup", (Ref(0, HERE),), table=(70000,))), "node 2: a table holds words"),
    (other(0, WordNode("input")), "node 0: an input has a name and no operands"),
    (replace(GRAPH, inputs={}), "the inputs are ['a'] but there are streams for []"),
    (replace(GRAPH, outputs={}), "the results are ['out'] but there are streams for []"),
    (replace(GRAPH, inputs={"a": replace(STREAM, divide=(0, 1))}), "stream a: it divides by (0, 1)"),
    (replace(GRAPH, inputs={"a": replace(STREAM, scale=(1,))}), "stream a: scale, shift and divide have 2 entries"),
    (replace(GRAPH, inputs={"a": replace(STREAM, image="")}), "stream a: it has either an image or a pattern"),
    (replace(GRAPH, inputs={"a": replace(STREAM, plane=(None, 3))}), "stream a: it runs through every dimension of the grid"),
])
def test_faults_are_named(graph: WordGraph, fault: str) -> None:
    assert fault in faults(graph)
    with pytest.raises(AssertionError):
        verify(graph)


def test_a_dump_has_a_line_for_every_stream_node_and_result() -> None:
    assert to_text(GRAPH).splitlines() == [
        "grid x y",
        "input a: a, 16 bits",
        "   0 input a",
        "   1 lt.s @0, 5",
        "   2 select @1+(1, 0), @0, 7",
        "result out = @2+(0, 1): out, 16 bits, scale (2, 1)",
    ]
