"""Part the columns of a picture among lanes, in stripes: each computes as many, in the same cycles.

    f(x) = in(x) + in(x + 1), 8 columns in 2 lanes

    f.0(q) = in.0(q) + in.0(q + 1)    columns 0..3, of in 0..4
    f.1(q) = in.1(q) + in.1(q + 1)    columns 4..7, of in 4..8

A stripe is a picture of its own: it is read and stored as it lies in memory, and a lane is the whole program of one. Its margin
is loaded in both lanes at a border. Lanes that take columns in turn would find in each other what a column reads of its
neighbours, and have fewer points: of a 3 x 3 stencil 65 a row in place of 66 for 64 columns. But then somebody has to part
columns before and to join those of results behind, which no cycle counts. Where stripes begin depends on the picture, so
streams do not say it.

Needs:   PeGraph, lanes.
Gives:   PeGraph with a node for each lane of each node, streams and results named `name.lane`.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.dataflow import Ref
from ...ir.pe_graph import PeGraph, PeNode


def parted(graph: PeGraph, lanes: int) -> PeGraph:
    """The graph in lanes: point q of one is point q of the original, behind all points of the lanes before it."""
    def lane_of(lane: int, ref: Ref) -> Ref:
        return replace(ref, node=ref.node * lanes + lane)

    nodes: list[PeNode] = []
    for node in graph.nodes:
        for lane in range(lanes):
            if node.op == "input":
                nodes.append(replace(node, name=f"{node.name}.{lane}"))
            else:
                nodes.append(replace(node, operands={port: lane_of(lane, each) if isinstance(each, Ref) else each
                                                     for port, each in node.operands.items()}))
    inputs, outputs = ({f"{name}.{lane}": stream for name, stream in streams.items() for lane in range(lanes)}
                       for streams in (graph.inputs, graph.outputs))
    results = {f"{name}.{lane}": lane_of(lane, value) for name, value in graph.results.items() for lane in range(lanes)}
    return PeGraph(graph.dims, tuple(nodes), inputs, results, outputs)
