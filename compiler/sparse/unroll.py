"""Unroll a mapped graph: copies of the whole of it beside each other, each with other sub-tiles to work on.

    load B0 -> scan_B_i -> ... -> write_X_i -> store X0      =>      load B0.0 -> scan_B_i.0 -> ... -> store X0.0
                                                                     load B0.1 -> scan_B_i.1 -> ... -> store X0.1

Copies share links of the global buffer in groups (`copies.py`). A tree of filters leads each block to the copy whose number it
carries, and a tree of arbiters leads the results to their link, each block behind the number of its copy. With dynamic dispatch
blocks carry no numbers: a tree of dispatchers gives them, to the filters and to a link of its own, from what the copies have
done.

    load B0.0 -> filter -+-> scan_B_i.0 ...  write_X_i.0 -+-> arbiter -> store X0.0
                         +-> scan_B_i.1 ...  write_X_i.1 -+

    values of copies 0, 1 -> dispatcher -+-> filters of B0.0, B1.0, ...
                                         +-> store numbers.0

Where a store can place blocks (`Glb.numbered`) a further link, `order`, brings each sub-tile's own number to the copy that has
it. Output addresses put it in front of the blocks that the copy gives, so that all lie in the order of sub-tiles, whichever
ended first.

    load order.0 -> filter -> output address of copy 0 -+-> arbiter -> store X0.0
                        +---> output address of copy 1 -+

No copy waits for another for ever: all links bring the sub-tiles in one order, and a copy works in that order, so of the first
sub-tile that is not done everything has come or is next to come.

Needs:   balanced MappedGraph of one copy, and its copies.
Gives:   MappedGraph of all.
Source:  Onyx IEEE Micro, Unrolling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...hw.arch.primitive import ADDRESS, ARBITER, DISPATCHER, FILTER, PASS_THROUGH, Flow, Primitive
from ..ir.mapped import LOAD, STORE, VALUES, Block, MappedGraph, Net, Pin, Stream, level_name
from .copies import NUMBERS, ORDER, Copies, runs

# Sub-tiles that a copy may have: it works on one while the next one comes.
AHEAD = 2


def unroll(graph: MappedGraph, copies: Copies) -> MappedGraph:
    """Copies of a graph and what leads blocks to them and from them; of one copy it is the graph itself."""
    if copies.count == 1:
        return graph
    build = _Builder()
    for copy in range(copies.count):
        for block in graph.blocks.values():
            if block.kind != "io":
                build.blocks[f"{block.name}.{copy}"] = replace(block, name=f"{block.name}.{copy}")
        for net in graph.nets:
            if graph.blocks[net.source.block].kind != "io":
                build.lead(_copied(net.source, copy), *(_copied(sink, copy) for sink in net.sinks
                                                        if graph.blocks[sink.block].kind != "io"), layer=net.layer)
    for number, group in enumerate(copies.groups):
        shares = copies.shares(number)
        names = _dispatchers(build, graph, group, number) if shares and copies.dynamic else None
        placed = shares and copies.placed
        outs = {(stream.block, copy): _copied(net.source, copy) for stream in graph.streams if stream.direction != LOAD
                for net in graph.nets if any(sink.block == stream.block for sink in net.sinks) for copy in group}
        if placed:
            outs = _addresses(build, graph, outs, group, copies.link(ORDER, number), names)
        for stream in graph.streams:
            name, sections = copies.link(stream.name, number), stream.sections
            if stream.direction == LOAD:
                into = build.link(stream, name, sections)
                inner = next(net.sinks for net in graph.nets if net.source.block == stream.block)
                sinks = {copy: tuple(_copied(sink, copy) for sink in inner) for copy in group}
                _filters(build, Pin(into, "g2f"), sinks, name, sections, names) if shares else \
                    build.lead(Pin(into, "g2f"), *sinks[group[0]])
            else:
                own = replace(stream, blocks=len(group), order=copies.link(ORDER, number)) if placed else stream
                into = build.link(own, name, sections if placed else (sections + shares) * len(group))
                given = {copy: outs[stream.block, copy] for copy in group}
                build.lead(_arbiters(build, given, name, sections, placed) if shares else given[group[0]], Pin(into, "f2g"))
    return build.graph()


def _copied(pin: Pin, copy: int) -> Pin:
    return Pin(f"{pin.block}.{copy}", pin.port)


def _tile_port(primitive: Primitive, name: str, flow: Flow) -> str:
    return next(port.tile_port for port in primitive.ports if (port.name, port.flow) == (name, flow))


@dataclass
class _Builder:
    """A graph under construction."""

    blocks: dict[str, Block] = field(default_factory=dict)
    sinks: dict[tuple[Pin, str], list[Pin]] = field(default_factory=dict)
    streams: list[Stream] = field(default_factory=list)

    def lead(self, source: Pin, *sinks: Pin, layer: str = "data") -> None:
        """Add sinks of a source."""
        self.sinks.setdefault((source, layer), []).extend(sinks)

    def link(self, stream: Stream, name: str, sections: int) -> str:
        """Add a stream like another one, and its block."""
        block = f"{stream.direction} {name}"
        self.blocks[block] = Block(block, "io", "", {})
        self.streams.append(replace(stream, block=block, name=name, sections=sections))
        return block

    def node(self, primitive: Primitive, name: str, config: Mapping[str, int]) -> str:
        self.blocks[name] = Block(name, "pe", primitive.name, config)
        return name

    def graph(self) -> MappedGraph:
        nets = tuple(Net(source, tuple(sinks), layer) for (source, layer), sinks in self.sinks.items() if sinks)
        return MappedGraph(self.blocks, nets, tuple(sorted(self.streams, key=lambda stream: stream.direction != LOAD)))


def _filters(build: _Builder, source: Pin, sinks: Mapping[int, Sequence[Pin]], name: str, sections: int,
             numbers: Pin | None) -> None:
    """A tree of filters from a source to the sinks of each copy. numbers: where they come from; else in front of blocks."""
    split = runs([*sinks], len(FILTER.outputs))
    # Of two ways the second is the last output, which has no upper bound.
    ways = [0, 2] if len(split) == 2 else [*range(len(split))]
    keep = sum(1 << way for way, run in zip(ways, split, strict=True) if len(run) > 1)
    node = build.node(FILTER, f"filter {name} {split[0][0]}-{split[-1][-1]}", {
        "sections": sections, "given": int(numbers is not None), "keep": keep, "first1": split[1][0], "first2": split[-1][0]})
    build.lead(source, Pin(node, _tile_port(FILTER, "block", Flow.IN)))
    if numbers is not None:
        build.lead(numbers, Pin(node, _tile_port(FILTER, "number", Flow.IN)))
    for way, run in zip(ways, split, strict=True):
        out = Pin(node, _tile_port(FILTER, f"block{way}", Flow.OUT))
        if len(run) > 1:
            _filters(build, out, {copy: sinks[copy] for copy in run}, name, sections, None)
        else:
            build.lead(out, *sinks[run[0]])


def _addresses(build: _Builder, graph: MappedGraph, outs: Mapping[tuple[str, int], Pin], group: Sequence[int], name: str,
               names: Pin | None) -> dict[tuple[str, int], Pin]:
    """Output addresses of a group's copies, and what leads numbers to them from a link of this name; where the blocks of each
    stream and copy leave."""
    stores = [stream for stream in graph.streams if stream.direction != LOAD]
    ways = len(ADDRESS.outputs)
    found, sinks = {}, dict[int, list[Pin]]()
    for copy in group:
        # Numbers of sub-tiles that a copy has not given yet wait here, not in the way of those of other copies.
        slack = f"slack address {copy}.number 0"
        build.blocks[slack] = Block(slack, "pe", PASS_THROUGH.name, {}, slack=True)
        sinks[copy] = [Pin(slack, PASS_THROUGH.inputs[0].tile_port)]
        for first in range(0, len(stores), ways):
            some = stores[first:first + ways]
            node = build.node(ADDRESS, f"address {some[0].name}.{copy}", {
                "used": (1 << len(some)) - 1, "values": sum((each.sections == 1) << at for at, each in enumerate(some))})
            build.lead(Pin(slack, PASS_THROUGH.outputs[0].tile_port), Pin(node, _tile_port(ADDRESS, "number", Flow.IN)))
            for at, each in enumerate(some):
                build.lead(outs[each.block, copy], Pin(node, _tile_port(ADDRESS, f"block{at}", Flow.IN)))
                found[each.block, copy] = Pin(node, _tile_port(ADDRESS, f"block{at}_o", Flow.OUT))
    into = build.link(Stream("", LOAD, ""), name, 1)
    _filters(build, Pin(into, "g2f"), sinks, name, 1, names)
    return found


def _arbiters(build: _Builder, sources: Mapping[int, Pin], name: str, sections: int, numbered: bool) -> Pin:
    """A tree of arbiters from the source of each copy, whose blocks may have numbers; where all their blocks leave."""
    return _merged(build, ARBITER, "block", sources, f"arbiter {name}", {"sections": sections}, "" if numbered else "numbers")


def _dispatchers(build: _Builder, graph: MappedGraph, group: Sequence[int], number: int) -> Pin:
    """A tree of dispatchers that see when copies are done, and the stream of what they say; where their numbers leave."""
    values = next(stream for stream in graph.streams
                  if stream.direction == STORE and stream.name.endswith(level_name("", VALUES)))
    writer = next(net.source.block for net in graph.nets if any(sink.block == values.block for sink in net.sinks))
    # All values of a sub-tile have been computed when the last of them is written.
    source = next(net.source for net in graph.nets if any(sink.block == writer for sink in net.sinks))
    name = f"{NUMBERS}.{number}"
    given = _merged(build, DISPATCHER, "done", {copy: _copied(source, copy) for copy in group}, f"dispatcher {name}",
                    {"ahead": AHEAD}, "copies", "number")
    log = build.link(values, name, len(group))
    build.lead(Pin(given.block, _tile_port(DISPATCHER, "log", Flow.OUT)), Pin(log, "f2g"))
    return given


def _merged(build: _Builder, primitive: Primitive, port: str, sources: Mapping[int, Pin], name: str,
            config: Mapping[str, int], single: str, out: str = "block") -> Pin:
    """A tree of a primitive with four inputs, of which those that bring a single copy are marked in a field, if it has one."""
    split = runs([*sources], len(primitive.inputs))
    lone = [at for at, run in enumerate(split) if len(run) == 1]
    # Single copies are behind each other, so that their numbers are those of the inputs and one more number.
    first = split[lone[0]][0] - lone[0] if lone else 0
    marks = {single: sum(1 << at for at in lone)} if single else {}
    node = build.node(primitive, f"{name} {split[0][0]}-{split[-1][-1]}", {**config, **marks, "first": first})
    for at, run in enumerate(split):
        source = sources[run[0]] if at in lone else \
            _merged(build, primitive, port, {copy: sources[copy] for copy in run}, name, config, single, out)
        build.lead(source, Pin(node, _tile_port(primitive, f"{port}{at}", Flow.IN)))
    return Pin(node, _tile_port(primitive, out, Flow.OUT))
