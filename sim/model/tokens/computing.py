"""The ideal machine that only computes: what it loads stands in its buffers when it starts, and what it stores stays there.

    io "B1" -> level (writer, buffer, scanner)   =>   a scanner with the levels
    level (writer, buffer, reader) -> io "X0"    =>   a writer

FIFOs and buffers are without bound, wires without length, as of `fabric.ideal_cycles`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....compiler.ir.mapped import LOAD, MappedGraph
from . import level, scatter
from .fabric import network_of
from .level import Level
from .network import Network
from .network import Port as Pin

# Primitives that stand at the global buffer.
ENDS = {"level": level, "scatter": scatter}


def compute_cycles(graph: MappedGraph, transactions: Sequence[Mapping[str, np.ndarray]]) -> int:
    """Cycles of transactions, of one copy of a program: from the first to that in which the last result is complete."""
    network, streams, pins = network_of(graph)
    nodes = dict(network.nodes)
    moved: dict[Pin, Pin] = {}      # Ports of primitives to those of their parts.
    inputs: dict[Pin, list[Level]] = {}
    outputs: list[Pin] = []
    for stream in streams:
        loads = stream.direction == LOAD
        for node, _ in pins[stream.name]:
            primitive, config = network.nodes[node]
            assert primitive in ENDS, f"{primitive} of {node} is of a program of several copies"
            parts = ENDS[primitive].parts(config)
            part = "reader" if loads else "writer"
            nodes[node] = parts.nodes[part]
            ends = parts.inputs | parts.outputs
            moved |= {(node, port): (node, inner) for port, (owner, inner) in ends.items() if owner == part}
            if loads:
                inputs[node, "level"] = [_level(blocks[stream.name], config) for blocks in transactions]
            else:
                outputs.append((node, "level"))
    edges = [(moved.get(source, source), moved.get(sink, sink)) for source, sink in network.edges]
    return Network(nodes, edges).run(inputs, outputs, timed=True).cycles


def _level(block: np.ndarray, config: Mapping[str, Any]) -> Level:
    """The level, or the values, of a block."""
    words = [int(word) for word in block]
    if config.get("values"):
        return Level([], words[1:])
    end = 1 + words[0]
    return Level(words[1:end], words[end + 1:])
