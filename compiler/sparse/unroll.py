"""Unroll a mapped graph: copies of the whole of it beside each other, each with other sub-tiles to work on.

    load B0 -> scan_B_i -> ... -> write_X_i -> store X0      =>      load B0.0 -> scan_B_i.0 -> ... -> store X0.0
                                                                     load B0.1 -> scan_B_i.1 -> ... -> store X0.1

A graph takes a link of the global buffer for each level of each tensor, so copies with links of their own are few: a product
of matrices loads six levels, and 16 links make two of it. More copies share links in groups, as many groups as there are links
for. A tree of filters leads each block to the copy whose number it carries, and a tree of arbiters leads the results to their
link, each block behind the number of its copy. With dynamic dispatch blocks carry no numbers: a tree of dispatchers gives
them, to the filters and to a link of its own, from what the copies have done.

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

Needs:   balanced MappedGraph of one copy.
Gives:   MappedGraph, and which copies have which links.
Errors:  TooSmall for more copies than there are tiles or links for.
Source:  Onyx IEEE Micro, Unrolling; groups are what it leaves open ("utilizing free global buffer links").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ...hw.arch.cgra import Arch
from ...hw.arch.errors import Lacking, TooSmall, UserError
from ...hw.arch.glb import LANES
from ...hw.arch.primitive import ADDRESS, ARBITER, COPY_BITS, DISPATCHER, FILTER, PASS_THROUGH, Flow, Primitive
from ..ir.mapped import LOAD, STORE, VALUES, Block, Demand, MappedGraph, Net, Pin, Stream, demands, having, level_name

MOST_COPIES = 1 << COPY_BITS
# The stream of a group's numbers, in the order of its sub-tiles.
NUMBERS = "numbers"
# The stream that brings the number of each sub-tile to the copy that has it.
ORDER = "order"
# Sub-tiles that a copy may have: it works on one while the next one comes.
AHEAD = 2


@dataclass(frozen=True)
class Copies:
    """How a program is unrolled.

    Parameters
    ----------
    groups : tuple     Copies that have links of the global buffer in common, group by group; every copy is in one.
    dynamic : bool     The array chooses the copy of a sub-tile, among those of its group.
    placed : bool      What copies of a group give is stored in the order of sub-tiles, by output addresses.
    """

    groups: tuple[tuple[int, ...], ...] = ((0,),)
    dynamic: bool = False
    placed: bool = False

    @property
    def count(self) -> int:
        return sum(map(len, self.groups))

    def link(self, stream: str, group: int) -> str:
        """The name of a stream of a group: ``B0.1``; that of the only copy is ``B0``."""
        return stream if self.count == 1 else f"{stream}.{group}"

    def words(self, words: Mapping[str, int]) -> Mapping[str, int]:
        """Words of a transaction of each link at most, from those of a block of each stream: one for each copy, each with what
        stands in front of it, or from a line on."""
        if self.count == 1:
            return words
        own = {**{name: most + LANES for name, most in words.items()}, **dict.fromkeys((NUMBERS, ORDER), LANES)}
        return {self.link(name, group): len(members) * most for group, members in enumerate(self.groups)
                for name, most in own.items()}

    def shares(self, group: int) -> bool:
        """Whether blocks of a group's links have numbers."""
        return len(self.groups[group]) > 1


def grouped(graph: MappedGraph, arch: Arch, copies: int, dynamic: bool = False, groups: int | None = None) -> Copies:
    """Copies of a graph in as many groups as a machine has links for, `groups` at most, each of about as many.

    Raises TooSmall where they are more than fit, UserError where they are more than any machine has; what a single copy needs
    is for `check_resources` to say.
    """
    if copies == 1:
        return Copies()
    _check_primitives(arch, dynamic)
    short = _short(graph, arch, _in_groups(graph, arch, copies, dynamic, groups)) if copies <= MOST_COPIES else []
    if short or copies > MOST_COPIES:
        error = TooSmall if short else UserError
        most = most_copies(graph, arch, dynamic, groups)
        needs = "; ".join(f"they need {each.needed} {each.what}, it has {each.has}" for each in short)
        fix = f"use {most} or less" if most > 1 else "use one, or a larger machine"
        more = ", or add filter and arbiter to pe.primitives of its description" if _missing(arch, (FILTER, ARBITER)) else ""
        raise error(f"they are too many for '{arch.name}': {needs or f'at most {MOST_COPIES} are told apart'}",
                    f"{copies} copies of the program", fix + more)
    return _in_groups(graph, arch, copies, dynamic, groups)


def most_copies(graph: MappedGraph, arch: Arch, dynamic: bool = False, groups: int | None = None) -> int:
    """How many copies of a graph a machine has tiles and links for, at least one. Whether they are routed is seen later."""
    return next((copies for copies in range(MOST_COPIES, 1, -1)
                 if not _short(graph, arch, _in_groups(graph, arch, copies, dynamic, groups))), 1)


def most_groups(graph: MappedGraph, arch: Arch, dynamic: bool = False) -> int:
    """How many groups a machine has links for, at least one."""
    loads = sum(stream.direction == LOAD for stream in graph.streams)
    links = len(arch.stream_tiles)
    return max(1, min(links // max(1, loads), links // (len(graph.streams) - loads + dynamic)))


def places(arch: Arch) -> bool:
    """Whether a machine can store what copies give in the order of sub-tiles."""
    return arch.glb.numbered and ADDRESS in arch.pe.primitives


def _check_primitives(arch: Arch, dynamic: bool) -> None:
    if dynamic and (missing := _missing(arch, (FILTER, ARBITER, DISPATCHER))):
        raise Lacking(f"dynamic dispatch needs primitives that '{arch.name}' does not have: {', '.join(missing)}", "dispatch",
                      f"{having(missing, arch)}, or choose another way to dispatch")


def _missing(arch: Arch, needed: Sequence[Primitive]) -> list[str]:
    return [each.name for each in needed if each not in arch.pe.primitives]


def _in_groups(graph: MappedGraph, arch: Arch, copies: int, dynamic: bool, groups: int | None) -> Copies:
    """Copies in groups; each of its own where a machine has nothing to share links with."""
    most = min(groups or copies, most_groups(graph, arch, dynamic))
    count = copies if _missing(arch, (FILTER, ARBITER)) else min(most, copies // 2 if dynamic else copies)
    found = Copies(tuple(_even(range(copies), max(1, count))), dynamic)
    placed = replace(found, placed=True)
    # Numbers take no links from blocks, which may be what copies wait for: then the host orders results.
    return placed if copies > max(1, count) and places(arch) and not _short(graph, arch, placed) else found


def _short(graph: MappedGraph, arch: Arch, copies: Copies) -> list[Demand]:
    """Of what copies need more than a machine has."""
    loads = sum(stream.direction == LOAD for stream in graph.streams)
    stores, groups = len(graph.streams) - loads, len(copies.groups)
    shared = sum(copies.shares(group) for group in range(groups))
    found = demands(copies.count * graph.count("pe") + _tree_pes(graph, copies), copies.count * graph.count("mem"),
                    groups * loads + copies.placed * shared, groups * stores + copies.dynamic * shared, arch)
    return [each for each in found if each.needed > each.has]


def spare_pes(graph: MappedGraph, arch: Arch, copies: Copies) -> int:
    """PEs that each copy may use beside those of its graph."""
    pes = sum(tile.kind == "pe" for tile in arch.usable.values()) - _tree_pes(graph, copies)
    return pes // copies.count - graph.count("pe")


def _tree_pes(graph: MappedGraph, copies: Copies) -> int:
    """PEs of all filters, arbiters, dispatchers and output addresses, and of the FIFOs in front of these."""
    loads = sum(stream.direction == LOAD for stream in graph.streams)
    stores = len(graph.streams) - loads
    addresses = 1 - (-stores // len(ADDRESS.outputs))
    return sum((loads + copies.placed) * _nodes(len(group), len(FILTER.outputs)) +
               (stores + copies.dynamic) * _nodes(len(group), len(ARBITER.inputs)) + copies.placed * addresses * len(group)
               for group in copies.groups if len(group) > 1)


def _nodes(count: int, ways: int) -> int:
    """Nodes of the tree of `_runs`."""
    return 1 + sum(_nodes(len(run), ways) for run in _runs(range(count), ways) if len(run) > 1)


def _runs(copies: Sequence[int], ways: int) -> list[Sequence[int]]:
    """Copies behind each way of a node, of as few nodes as can be where two levels are enough: longer runs come first, single
    copies are last."""
    count = len(copies)
    if count <= ways:
        return [[copy] for copy in copies]
    behind = min(ways, -(-(count - ways) // (ways - 1)))      # ways that lead to another node
    single = ways - behind
    return [*_even(copies[:count - single], behind), *([copy] for copy in copies[count - single:])]


def _even(copies: Sequence[int], parts: int) -> list[tuple[int, ...]]:
    """Copies in parts of about one size, larger ones first."""
    size, more = divmod(len(copies), parts)
    ends = [at * size + min(at, more) for at in range(parts + 1)]
    return [tuple(copies[begin:end]) for begin, end in pairwise(ends)]


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
    runs = _runs([*sinks], len(FILTER.outputs))
    # Of two ways the second is the last output, which has no upper bound.
    ways = [0, 2] if len(runs) == 2 else [*range(len(runs))]
    keep = sum(1 << way for way, run in zip(ways, runs, strict=True) if len(run) > 1)
    node = build.node(FILTER, f"filter {name} {runs[0][0]}-{runs[-1][-1]}", {
        "sections": sections, "given": int(numbers is not None), "keep": keep, "first1": runs[1][0], "first2": runs[-1][0]})
    build.lead(source, Pin(node, _tile_port(FILTER, "block", Flow.IN)))
    if numbers is not None:
        build.lead(numbers, Pin(node, _tile_port(FILTER, "number", Flow.IN)))
    for way, run in zip(ways, runs, strict=True):
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
    runs = _runs([*sources], len(primitive.inputs))
    lone = [at for at, run in enumerate(runs) if len(run) == 1]
    # Single copies are behind each other, so that their numbers are those of the inputs and one more number.
    first = runs[lone[0]][0] - lone[0] if lone else 0
    marks = {single: sum(1 << at for at in lone)} if single else {}
    node = build.node(primitive, f"{name} {runs[0][0]}-{runs[-1][-1]}", {**config, **marks, "first": first})
    for at, run in enumerate(runs):
        source = sources[run[0]] if at in lone else \
            _merged(build, primitive, port, {copy: sources[copy] for copy in run}, name, config, single, out)
        build.lead(source, Pin(node, _tile_port(primitive, f"{port}{at}", Flow.IN)))
    return Pin(node, _tile_port(primitive, out, Flow.OUT))
