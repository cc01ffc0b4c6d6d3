"""Map a sparse graph onto tile kinds: every node becomes one block, every level brings its stream to the global buffer.

    scan_B_k      =>   io "B1" -> mem "scan_B_k" (writer, buffer and scanner in one tile) -> crd, ref
    values_B      =>   io "B_vals" -> mem "values_B" -> val
    write_X_i     =>   mem "write_X_i" -> io "X0"

Forks need no node: the interconnect broadcasts; neither does what gives coordinates as references.

Source: Onyx JSSC IV-B (triplets, broadcasts become wires); joiners are binary in the sparse graph already (see `lower`).
"""

from __future__ import annotations

from collections import defaultdict

from ...hw.arch.primitive import Flow, Primitive
from ..ir.mapped import LOAD, Block, MappedGraph, Net, Pin, Stream, level_name
from ..ir.sam import Pin as SamPin
from ..ir.sam import SamGraph
from ..ir.sam_levels import RootLocator
from ..ir.sam_ops import Moved


def map_graph(sam: SamGraph) -> MappedGraph:
    """The mapped graph of a sparse graph."""
    blocks: dict[str, Block] = {}
    streams: list[Stream] = []
    sinks: dict[Pin, list[Pin]] = defaultdict(list)
    for name, op in sam.nodes.items():
        if isinstance(op, RootLocator):
            continue
        blocks[name] = Block(name, "mem" if op.primitive.memory else "pe", op.primitive.name, op.settings)
        if op.moved:
            stream = _stream(op.moved)
            # A level that several tiles take comes once.
            if stream.block not in blocks:
                streams.append(stream)
            blocks[stream.block] = Block(stream.block, "io", "", {})
            if stream.direction == LOAD:
                sinks[Pin(stream.block, "g2f")].append(_pin(op.primitive, name, "block", Flow.IN))
            else:
                sinks[_pin(op.primitive, name, "block_o", Flow.OUT)].append(Pin(stream.block, "f2g"))
    feeds = sam.feeds
    for edge in sam.edges:
        if isinstance(sam.nodes[edge.dst.node], RootLocator):
            continue
        src = edge.src
        while isinstance(sam.nodes[src.node], RootLocator):
            src = feeds[SamPin(src.node, "i")]
        source, sink = (sam.nodes[pin.node].primitive for pin in (src, edge.dst))
        leaves, enters = (sam.nodes[pin.node].renamed.get(pin.port, pin.port) for pin in (src, edge.dst))
        sinks[_pin(source, src.node, leaves, Flow.OUT)].append(_pin(sink, edge.dst.node, enters, Flow.IN))
    nets = tuple(Net(source, tuple(each)) for source, each in sinks.items())
    loads_first = sorted(streams, key=lambda stream: stream.direction != LOAD)
    return MappedGraph(blocks, nets, tuple(loads_first))


def _pin(primitive: Primitive, block: str, port: str, flow: Flow) -> Pin:
    found = next(p for p in primitive.ports if p.name == port and p.flow is flow)
    return Pin(block, found.tile_port)


def _stream(level: Moved) -> Stream:
    """The stream between a level's tile and the global buffer."""
    name = level_name(level.slot, level.level)
    return Stream(f"{level.direction} {name}", level.direction, name, sections=level.sections)
