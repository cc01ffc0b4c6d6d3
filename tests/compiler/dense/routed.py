"""Graphs of PEs with routes of any length, for tests of what comes after routing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st
from stencils import plane

from sardonyx.compiler.dense.map.delay_lines import StaticGraph
from sardonyx.compiler.dense.time.align import Alignment
from sardonyx.compiler.ir.dataflow import Ref
from sardonyx.compiler.ir.mapped import Pin
from sardonyx.compiler.ir.pe_graph import PeGraph, PeNode

Latency = Mapping[Pin, int]
# A value by where it comes from: block, port, step.
Tag = tuple[str, str, int]


def sinks(static: StaticGraph) -> list[Pin]:
    return [sink for net in static.graph.nets for sink in net.sinks]


def seen(static: StaticGraph, times: Alignment, latency: Latency, sink: Pin) -> Callable[[int], Tag]:
    """What an operand or a store sees in a cycle: follows one word back through its register file, its route and the delay
    lines on the way to the block that made it, one cycle after the other, with no use of what the value was wanted for."""
    source = next(net.source for net in static.graph.nets if sink in net.sinks)
    late = latency[sink] + times.waits.get(sink, 0)
    if source.block not in static.lines:
        return lambda cycle: (source.block, source.port, cycle - late - times.starts[source])
    into = Pin(source.block, "in0")
    before = seen(static, times, latency, into)
    # The line writes the word behind `into` in cycle c of step c - arrival, and reads that step at its start.
    return lambda cycle: before(cycle - late - times.starts[source] + times.arrivals[into])


@st.composite
def pe_graphs(draw: Any, reach: int = 3) -> PeGraph:
    """Sums of what earlier nodes have nearby, and selections by comparisons at the same point."""
    offsets = st.tuples(st.integers(-reach, reach), st.integers(-2, 2))
    nodes: list[PeNode] = [PeNode("input", name="a"), PeNode("input", name="b")]
    words = [0, 1]
    for _ in range(draw(st.integers(1, 7))):
        refs = [Ref(draw(st.sampled_from(words[-4:])), draw(offsets)) for _ in range(3)]
        kind = draw(st.sampled_from(["adc", "muladd", "taa", "select"]))
        if kind == "select":
            nodes.append(PeNode("sbc", {"a": refs[0], "b": refs[1], "d": 1}, cond="ult"))
            nodes.append(PeNode("sel", {"a": refs[2], "b": 7, "d": Ref(len(nodes) - 1, (0, 0), "p")}))
        else:
            operands = dict(zip("abc", refs, strict=True)) if kind != "adc" else {"a": refs[0], "b": refs[1], "d": 0}
            nodes.append(PeNode(kind, operands))
        words.append(len(nodes) - 1)
    read = {ref.node for node in nodes for _, ref in node.refs()}
    ends = [number for number in range(len(nodes)) if number not in read and nodes[number].op != "input"]
    names = {node.name for number, node in enumerate(nodes) if node.op == "input" and number in read}
    keep = [number for number, node in enumerate(nodes) if node.op != "input" or node.name in names]
    place = {old: new for new, old in enumerate(keep)}
    kept = tuple(PeNode(nodes[old].op, {port: Ref(place[each.node], each.offset, each.port) if isinstance(each, Ref) else each
                                        for port, each in nodes[old].operands.items()}, cond=nodes[old].cond,
                        name=nodes[old].name) for old in keep)
    results = {f"out{count}": Ref(place[end], (0, 0)) for count, end in enumerate(ends)}
    return PeGraph(("x", "y"), kept, {name: plane(name) for name in sorted(names)}, results,
                   {name: plane(name) for name in results})
