"""Run programs on the token model: a mapped graph as the compiler made it, or a decoded configuration as the routing graph
connects it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ....compiler.ir.mapped import LOAD, MappedGraph, Stream
from ....compiler.ir.mapped import Pin as TilePin
from ....compiler.ir.program import Program
from ....compiler.ir.transfer import Transfer
from ....compiler.sparse.copies import NUMBERS
from ....compiler.sparse.item_cycles import LEAST
from ....hw.arch.cgra import Arch
from ....hw.arch.counters import Counts
from ....hw.arch.primitive import LEVEL, PRIMITIVES, Flow
from ....runtime.data.blocks import Blocks, by_number, split_blocks
from ..trace import stream_edges, trace
from .network import Network
from .network import Port as Pin

FROM_GLB, TO_GLB = "g2f", "f2g"


# Transactions that are run as one sequence of tokens. Each ends its streams, so those behind it are not changed by it.
CHUNK = 256


# The events at blocks or tiles, and at streams by their names.
Events = dict[Any, Counts]


def run_graph(graph: MappedGraph, transactions: Iterable[Mapping[str, np.ndarray]], events: Events | None = None
              ) -> Iterator[Blocks]:
    """Run transactions on a mapped graph. events: filled with what happens at its blocks and streams; the run is by the clock
    then, with FIFOs without bound."""
    return _run(*network_of(graph), transactions, events)


def ideal_cycles(graph: MappedGraph, transactions: Sequence[Mapping[str, np.ndarray]]) -> int:
    """Cycles of transactions in the ideal machine: FIFOs without bound, wires without length."""
    network, streams, pins = network_of(graph)
    return network.run(*_ends(streams, pins, transactions), timed=True).cycles


def working_cycles(graph: MappedGraph, transactions: Sequence[Mapping[str, np.ndarray]]) -> dict[str, float]:
    """The cycles that each block and each stream of a mapped graph takes for transactions where nothing makes it wait: a word a
    cycle, a primitive by its own rates, and the turn of a buffered level from block to block."""
    network, streams, pins = network_of(graph)
    inputs, outputs = _ends(streams, pins, transactions)
    ran = network.run(inputs, outputs)
    found: dict[str, float] = {each.name: len((inputs if each.direction == LOAD else ran.outputs)[pins[each.name][0]])
                               for each in streams}
    turns = LEAST * len(transactions)
    return found | {node: max(worked, turns) if network.nodes[node][0] == LEVEL.name else worked
                    for node, worked in ran.worked.items()}


def run_program(program: Program, arch: Arch, transactions: Iterable[Mapping[str, np.ndarray]], events: Events | None = None
                ) -> Iterator[Blocks]:
    """Run transactions on the configuration of a program, following the multiplexers of the routing graph; events: as of
    `run_graph`, of its tiles and streams."""
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
    pins = {each.name: ends[FROM_GLB if each.direction == LOAD else TO_GLB, each.column] for each in program.transfers}
    return _run(Network(traced.primitives, edges), program.transfers, pins, transactions, events)


def network_of(graph: MappedGraph) -> tuple[Network, Sequence[Stream], dict[str, list[Pin]]]:
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
    return Network(nodes, edges), graph.streams, {stream.name: ends[stream.block] for stream in graph.streams}


def _stream_pin(graph: MappedGraph, pin: TilePin, flow: Flow) -> Pin:
    """The stream of the primitive that uses a tile port."""
    ports = PRIMITIVES[graph.blocks[pin.block].primitive].ports
    return pin.block, next(port.name for port in ports if port.tile_port == pin.port and port.flow is flow)


def _ends(streams: Sequence[Stream | Transfer], pins: Mapping[str, list[Pin]],
          transactions: Sequence[Mapping[str, np.ndarray]]) -> tuple[dict[Pin, list[int]], list[Pin]]:
    """The words of transactions at the pins that they enter, and the pins that results leave."""
    inputs = {pin: [int(word) for blocks in transactions for word in blocks[each.name]]
              for each in streams if each.direction == LOAD for pin in pins[each.name]}
    return inputs, [pins[each.name][0] for each in streams if each.direction != LOAD]


def _run(network: Network, streams: Sequence[Stream | Transfer], pins: Mapping[str, list[Pin]],
         transactions: Iterable[Mapping[str, np.ndarray]], events: Events | None) -> Iterator[Blocks]:
    stores = [each for each in streams if each.direction != LOAD]
    rest = iter(transactions)
    while chunk := list(islice(rest, CHUNK)):
        ran = network.run(*_ends(streams, pins, chunk), events=events is not None)
        found = ran.outputs
        if events is not None:
            _add(events, {**{node: ran.events[node] for node in network.nodes},
                          **{each.name: ran.events[pins[each.name][0]] for each in streams}})
        words = {each.name: np.array(_stored(each, found[pins[each.name][0]], len(chunk)), np.uint16) for each in stores}
        for each in stores:
            if each.blocks:
                first = int(chunk[0][each.order][-1]) - each.blocks + 1
                words[each.name] = by_number(words[each.name], each.name, each.sections, len(chunk) * each.blocks, first)
        blocks = [split_blocks(words[each.name], each.name, each.sections * max(1, each.blocks), len(chunk)) for each in stores]
        for number in range(len(chunk)):
            yield {each.name: split[number] for each, split in zip(stores, blocks, strict=True)}


def _add(events: Events, more: Mapping[Any, Counts]) -> None:
    for place, counts in more.items():
        events[place] = events.get(place, Counts()) + counts


def _stored(each: Stream | Transfer, words: list[int], transactions: int) -> list[int]:
    """The words that are stored: copies are also named for blocks that do not come, which a store DMA does not wait for."""
    return words[:2 * each.sections * transactions] if each.name.partition(".")[0] == NUMBERS else words
