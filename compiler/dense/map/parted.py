"""Part the columns of a picture among lanes: each computes as many, in the same cycles.

    f(x) = in(x) + in(x + 1), 8 columns in 2 lanes

    in turn      f.0(q) = in.0(q) + in.1(q)        columns 0 2 4 6, of in 0 2 4 6 8
                 f.1(q) = in.1(q) + in.0(q + 1)    columns 1 3 5 7, of in 1 3 5 7
    stripes      f.0(q) = in.0(q) + in.0(q + 1)    columns 0..3, of in 0..4
                 f.1(q) = in.1(q) + in.1(q + 1)    columns 4..7, of in 4..8

In turn, what a column reads of its neighbours is in other lanes at the same time, so few words are loaded twice; but of an
image as it lies in memory each lane takes every so manieth word, which somebody has to part. A stripe is a picture of its own:
it is read and stored as it lies, a lane is the whole program of one, and its margin is loaded in both lanes at a border. Where
stripes begin depends on the picture, so streams do not say it.

Needs:   PeGraph, lanes.
Gives:   PeGraph with a node for each lane of each node, streams and results named `name.lane`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...ir.dataflow import Ref, Stream
from ...ir.pe_graph import PeGraph, PeNode


def in_turn(graph: PeGraph, lanes: int) -> PeGraph:
    """Lanes take neighbours in x: point q of lane l is point ``lanes * q + l`` of the original."""
    def lane_of(lane: int, ref: Ref) -> Ref:
        ahead, target = divmod(lane + ref.offset[0], lanes)
        return Ref(ref.node * lanes + target, (ahead, *ref.offset[1:]), ref.port)

    def stream_of(lane: int, stream: Stream) -> Stream:
        step = stream.scale[0]
        return replace(stream, scale=(step * lanes, *stream.scale[1:]),
                       shift=(stream.shift[0] + step * lane, *stream.shift[1:]))

    return _parted(graph, lanes, lane_of, stream_of)


def stripes(graph: PeGraph, lanes: int) -> PeGraph:
    """Lanes take stripes: point q of lane l is point q of the original, behind all points of the lanes before it."""
    return _parted(graph, lanes, lambda lane, ref: replace(ref, node=ref.node * lanes + lane), lambda _, stream: stream)


def stride(graph: PeGraph) -> int:
    """Points of the grid from one column of the result to the next."""
    found = {stream.scale[0] for stream in graph.outputs.values()}
    assert len(found) == 1, "planes of a result have columns of one grid"
    return found.pop()


def _parted(graph: PeGraph, lanes: int, lane_of: Callable[[int, Ref], Ref],
            stream_of: Callable[[int, Stream], Stream]) -> PeGraph:
    nodes: list[PeNode] = []
    inputs: dict[str, Stream] = {}
    for node in graph.nodes:
        for lane in range(lanes):
            if node.op == "input":
                name = f"{node.name}.{lane}"
                inputs[name] = stream_of(lane, graph.inputs[node.name])
                nodes.append(replace(node, name=name))
            else:
                nodes.append(replace(node, operands={port: lane_of(lane, each) if isinstance(each, Ref) else each
                                                     for port, each in node.operands.items()}))
    results = {f"{name}.{lane}": lane_of(lane, value) for name, value in graph.results.items() for lane in range(lanes)}
    outputs = {f"{name}.{lane}": graph.outputs[name] for name in graph.results for lane in range(lanes)}
    return PeGraph(graph.dims, tuple(nodes), inputs, results, outputs)
