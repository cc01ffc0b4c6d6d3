"""Run programs on the token model: a mapped graph as the compiler made it, or a decoded configuration as the routing graph
connects it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ....compiler.ir.mapped import LOAD, MappedGraph
from ....compiler.ir.mapped import Pin as TilePin
from ....compiler.ir.program import Binding, Program
from ....hw.arch.cgra import Arch
from ....hw.arch.primitive import PRIMITIVES, Flow
from ....runtime.data.sub_tiles import Blocks
from ...host import split_blocks
from ..trace import stream_edges, trace
from .network import Network, Result
from .network import Port as Pin

FROM_GLB, TO_GLB = "g2f", "f2g"


def run_graph(graph: MappedGraph, transactions: Sequence[Mapping[str, np.ndarray]]) -> list[Blocks]:
    """Run transactions on a mapped graph."""
    return _run(*_network(graph), transactions)[0]


def ideal_cycles(graph: MappedGraph, transactions: Sequence[Mapping[str, np.ndarray]]) -> int:
    """Cycles of transactions in the ideal machine: FIFOs without bound, wires without length."""
    return _run(*_network(graph), transactions, timed=True)[1].cycles


def run_program(program: Program, arch: Arch, transactions: Sequence[Mapping[str, np.ndarray]]) -> list[Blocks]:
    """Run transactions on the configuration of a program, following the multiplexers of the routing graph."""
    traced = trace(program.config, arch)
    ends: dict[tuple[str, int], list[Pin]] = {}
    edges = []
    for source, sink in stream_edges(traced, arch):
        if source[1] == FROM_GLB:
            ends.setdefault((FROM_GLB, source[0][0]), []).append(sink)
        elif sink[1] == TO_GLB:
            ends[TO_GLB, sink[0][0]] = [source]
        else:
            edges.append((source, sink))
    pins = {b.name: ends[FROM_GLB if b.direction == LOAD else TO_GLB, b.column] for b in program.bindings}
    return _run(Network(traced.primitives, edges), program.bindings, pins, transactions)[0]


def _network(graph: MappedGraph) -> tuple[Network, Sequence[Binding], dict[str, list[Pin]]]:
    """The network of a mapped graph, its streams, and the pins that each stream feeds or is fed by."""
    nodes = {name: (block.primitive, block.config) for name, block in graph.blocks.items() if block.primitive}
    edges, ends = [], {}
    for net in graph.nets:
        sinks = [_stream_pin(graph, sink, Flow.IN) for sink in net.sinks if sink.block in nodes]
        if net.source.block not in nodes:
            ends[net.source.block] = sinks
            continue
        source = _stream_pin(graph, net.source, Flow.OUT)
        edges += [(source, sink) for sink in sinks]
        ends |= {sink.block: [source] for sink in net.sinks if sink.block not in nodes}
    bindings = [Binding(stream.tensor, stream.level, stream.direction, 0) for stream in graph.streams]
    pins = {b.name: ends[stream.block] for b, stream in zip(bindings, graph.streams, strict=True)}
    return Network(nodes, edges), bindings, pins


def _stream_pin(graph: MappedGraph, pin: TilePin, flow: Flow) -> Pin:
    """The stream of the primitive that uses a tile port."""
    ports = PRIMITIVES[graph.blocks[pin.block].primitive].ports
    return pin.block, next(port.name for port in ports if port.tile_port == pin.port and port.flow is flow)


def _run(network: Network, bindings: Sequence[Binding], pins: Mapping[str, list[Pin]],
         transactions: Sequence[Mapping[str, np.ndarray]], timed: bool = False) -> tuple[list[Blocks], Result]:
    inputs = {pin: [int(word) for blocks in transactions for word in blocks[b.name]]
              for b in bindings if b.direction == LOAD for pin in pins[b.name]}
    stores = [b for b in bindings if b.direction != LOAD]
    outcome = network.run(inputs, [pins[b.name][0] for b in stores], timed=timed)
    results: list[Blocks] = [{} for _ in transactions]
    for b in stores:
        words = np.array(outcome.outputs[pins[b.name][0]], np.uint16)
        for result, block in zip(results, split_blocks(words, b, len(transactions)), strict=True):
            result[b.name] = block
    return results, outcome
