"""Whether two graphs compute the same, whatever their nodes are called."""

from __future__ import annotations

from collections import Counter

from sardonyx.compiler.ir.sam import Pin, SamGraph


def operations(graph: SamGraph) -> Counter[int]:
    """How often each operation stands in a graph behind the same operations, by whatever names."""
    feeds, known = graph.feeds, {}
    for name in graph.topological():
        sources = [(port, feeds[Pin(name, port)]) for port in graph.nodes[name].inputs]
        known[name] = hash((repr(graph.nodes[name]), tuple((port, known[pin.node], pin.port) for port, pin in sources)))
    return Counter(known.values())
