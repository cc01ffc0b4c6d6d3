"""Balance paths that part and meet again, by FIFOs on the shorter one.

    scan -+------------------------> dropper          scan -+-> pass_through ---> dropper
          +-> repeat -> scan -> ... -^           =>         +-> repeat -> scan -> ... -^

Without slack the shorter path fills while the longer one is still under way, the fork stops its producer, and bubbles
follow (Onyx JSSC IV-E). Tokens of the short path wait for about as many cycles as the paths differ in latency; a FIFO as
deep as that never stops the fork. Where the JSSC chains SplitFIFOs placed like tiles, we set spare PEs to pass_through,
whose FIFO has the depth that `Arch` gives: one tile does what two register pairs do, and the router stays free.

Paths that part nowhere, as they begin at different blocks, need none: each begins when the other takes what it gives.

Where two joiners take the same two streams, as the second and third one of a sum of three tensors do, each waits for one stream
while the other one holds up the other stream, as soon as one of the four nets is a register longer than it should be: a word in
ten or twelve cycles is lost. So one of them has pass-throughs on all its inputs, in innermost loops, which take most cycles.

    crd -+-> join                 crd -+-----------------> join
         +-> join 2        =>          +-> pass_through -> join 2
    D ---+-> join                 D ---+-----------------> join
         +-> join 2                    +-> pass_through -> join 2

Needs:   acyclic MappedGraph.
Gives:   MappedGraph in which every edge with more slack than its FIFOs hold goes through pass_through blocks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from graphlib import TopologicalSorter
from itertools import combinations

from ...hw.arch.cgra import Arch
from ...hw.arch.primitive import JOINER, LEVEL, LOCATE, PASS_THROUGH, REPEATER
from ..ir.mapped import Block, MappedGraph, Net, Pin

# Cycles that a net is expected to take before placement: hops of a short route, one cycle every two of them, and the
# FIFO of the input.
NET_LATENCY = 3
# Tokens that a net holds anyway: the two entries of the input FIFO and the registers of a short route.
NET_TOKENS = 4
# The same two on a machine without registers on tracks (`fifo` inputs): the FIFO of the input is all.
OPEN_LATENCY, OPEN_TOKENS = 1, 2
# The same of a net to a locator. It forks to the repeater beside it, so that both take each token in the same cycle; with 4
# there is no slack, and a product of a dense and a sparse matrix takes 1.8 times as many cycles.
LOCATED_TOKENS = 1
# A net gets at most so many pass-throughs. With 4 of 8 tokens the kernels of apps/sparse take 0.7 % fewer cycles than with 4 of
# 4, with which they take as many as with 2 of 16; with 2 of 4, matrix sums take 2 % more than that, and without any slack
# SpMSpM takes 2.8 times as many.
MOST = 4

# Where blocks enter a MEM tile, and what the array writes there.
BLOCK, WRITTEN = (next(port.tile_port for port in LEVEL.inputs if port.name == name) for name in ("block", "wr"))


def balance(graph: MappedGraph, arch: Arch, spare: int | None = None) -> MappedGraph:
    """Insert pass-throughs where the paths into a block differ in latency by more than a net holds.

    spare: PEs that may be used for it; by default all that the array has left. The largest differences come first.
    """
    if PASS_THROUGH not in arch.pe.primitives:
        return graph
    if spare is None:
        available = sum(tile.kind == "pe" for tile in arch.usable.values())
        spare = available - graph.count("pe")
    graph, used = _apart(graph, spare)
    spare -= used
    wanted = sorted(_wanted(graph, arch).items(), key=lambda item: (-item[1], item[0]))
    inserted: dict[Pin, list[str]] = {}
    for (_, sink), count in wanted:
        count = min(count, spare)
        spare -= count
        if count:
            inserted[sink] = [f"slack {sink.block}.{sink.port} {i}" for i in range(count)]
    return with_slack(graph, inserted)


def _apart(graph: MappedGraph, spare: int) -> tuple[MappedGraph, int]:
    """A pass-through on each input of the second one of two joiners that take the same streams and lead to no scanner, of as
    many as there are PEs for, and how many these are."""
    outer = {net.source.block for net in graph.nets for sink in net.sinks
             if graph.blocks[sink.block].config.get("output") in ("scan", 0)}
    sources: dict[str, dict[Pin, str]] = {name: {} for name, block in graph.blocks.items()
                                          if block.primitive == JOINER.name and name not in outer}
    for net in graph.nets:
        for sink in net.sinks:
            if sink.block in sources and net.layer == "data":
                sources[sink.block][sink] = net.source.block
    inserted: dict[Pin, list[str]] = {}
    for one, other in combinations(sources.values(), 2):
        if len({*one.values()} & {*other.values()}) > 1 and not inserted.keys() & {*one, *other} \
                and len(inserted) + len(other) <= spare:
            inserted |= {sink: [f"apart {sink.block}.{sink.port}"] for sink in other}
    return with_slack(graph, inserted), len(inserted)


def with_slack(graph: MappedGraph, inserted: Mapping[Pin, list[str]]) -> MappedGraph:
    """A graph with pass-throughs of these names in front of inputs."""
    blocks = {**graph.blocks, **{name: Block(name, "pe", PASS_THROUGH.name, {}, slack=True)
                                 for chain in inserted.values() for name in chain}}
    enter, leave = PASS_THROUGH.ports[0].tile_port, PASS_THROUGH.ports[1].tile_port
    nets = []
    for net in graph.nets:
        first = tuple(Pin(inserted[sink][0], enter) if sink in inserted else sink for sink in net.sinks)
        nets.append(Net(net.source, first, net.layer))
        for sink in net.sinks:
            chain = inserted.get(sink, [])
            ends = [Pin(name, enter) for name in chain[1:]] + [sink]
            nets += [Net(Pin(name, leave), (end,), net.layer) for name, end in zip(chain, ends, strict=False)]
    return MappedGraph(blocks, tuple(nets), graph.streams)


def _wanted(graph: MappedGraph, arch: Arch) -> dict[tuple[Pin, Pin], int]:
    """(source, sink) -> pass-throughs that its slack asks for."""
    taken, tokens = (OPEN_LATENCY, OPEN_TOKENS) if arch.interconnect.fifo == "inputs" else (NET_LATENCY, NET_TOKENS)
    net_latency = taken + int(arch.interconnect.output_registers)
    arrival = arrivals(graph, {sink: net_latency for net in graph.nets for sink in net.sinks})
    depth = arch.pe.pass_depth
    wanted = {}
    for net in graph.nets:
        latency = graph.blocks[net.source.block].latency + net_latency
        begun = arrival[net.source.block]
        for sink in net.sinks:
            if net.layer != "data" or not _in_step(graph.blocks[sink.block], sink.port):
                continue
            slack = max((arrival[sink.block][root] - begun[root] - latency for root in begun), default=0)
            holds = LOCATED_TOKENS if graph.blocks[sink.block].primitive == LEVEL.name else tokens
            if slack > holds:
                wanted[net.source, sink] = min(MOST, -(-(slack - holds) // depth))
    # In front of a locator a pass-through makes that path the longer one, by more than the repeater beside it holds.
    located = {source for source, sink in wanted if graph.blocks[sink.block].primitive == LEVEL.name}
    beside = {(net.source, sink): 1 for net in graph.nets for sink in net.sinks
              if net.source in located and graph.blocks[sink.block].primitive == REPEATER.name}
    return beside | wanted


def _in_step(block: Block, port: str) -> bool:
    """Whether an input is taken in step with others. Of a level only those of a locator are."""
    if block.primitive == LEVEL.name:
        return block.config["output"] == LOCATE and port != BLOCK
    return block.primitive != ""


def _keeps(block: Block, port: str) -> bool:
    """Whether what comes at an input is read when all of it has come."""
    return block.primitive == LEVEL.name and port == WRITTEN and block.config["output"] != LOCATE


def _loaded(block: Block, port: str) -> bool:
    """Whether what comes at an input is there before the block begins."""
    return block.primitive == LEVEL.name and port == BLOCK


def arrivals(graph: MappedGraph, cycles: Mapping[Pin, int]) -> Mapping[str, Mapping[str, int]]:
    """Cycle in which the first token can be at every input of a block, by longest path from each block that begins streams;
    cycles: of the net to each sink.

    What begins elsewhere waits for nothing of it, and a level that is loaded begins when it is whole. What waits for a level
    that is kept waits for all of it, which no FIFO outlasts. When it is there its path is a short one: slack on those that it
    meets would make it the shorter one by that, with nothing on it to hold tokens.
    """
    feeds: dict[str, dict[str, int]] = defaultdict(dict)
    for net in graph.nets:
        for sink in net.sinks:
            if not _keeps(graph.blocks[sink.block], sink.port) and not _loaded(graph.blocks[sink.block], sink.port):
                before = feeds[sink.block]
                before[net.source.block] = max(before.get(net.source.block, 0), cycles[sink])
    arrival: dict[str, dict[str, int]] = {}
    for name in TopologicalSorter({name: feeds[name] for name in graph.blocks}).static_order():
        arrival[name] = {} if feeds[name] else {name: 0}
        for feed, taken in feeds[name].items():
            for root, cycle in arrival[feed].items():
                arrival[name][root] = max(arrival[name].get(root, 0), cycle + graph.blocks[feed].latency + taken)
    return arrival
