"""Unroll a mapped graph: copies of the whole of it beside each other, each with other sub-tiles to work on.

    load B0 -> scan_B_i -> ... -> write_X_i -> store X0      =>      load B0.0 -> scan_B_i.0 -> ... -> store X0.0
                                                                     load B0.1 -> scan_B_i.1 -> ... -> store X0.1

A graph takes a link of the global buffer for each level of each tensor, so copies with links of their own are few: a product
of matrices loads six levels, and 16 links make two of it.

Needs:   balanced MappedGraph of one copy.
Gives:   MappedGraph, and which copies have which links.
Errors:  UserError for more copies than there are tiles or links for.
Source:  Onyx IEEE Micro, Unrolling.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...hw.arch.cgra import Arch
from ...hw.arch.errors import UserError
from ..ir.mapped import Block, Demand, MappedGraph, Net, Pin, Stream, graph_demands

# A copy is named in words of a stream.
MOST_COPIES = 64


@dataclass(frozen=True)
class Copies:
    """How a program is unrolled.

    Parameters
    ----------
    groups : tuple     Copies that have links of the global buffer in common, group by group; every copy is in one.
    """

    groups: tuple[tuple[int, ...], ...] = ((0,),)

    @property
    def count(self) -> int:
        return sum(map(len, self.groups))

    def link(self, stream: str, group: int) -> str:
        """The name of a stream of a group: ``B0.1``; that of the only copy is ``B0``."""
        return stream if self.count == 1 else f"{stream}.{group}"


def most_copies(graph: MappedGraph, arch: Arch) -> int:
    """How many copies of a graph a machine has tiles and links for."""
    return min([MOST_COPIES, *(each.has // each.needed for each in graph_demands(graph, arch) if each.needed)])


def check_copies(graph: MappedGraph, arch: Arch, copies: int) -> None:
    """UserError for more copies of a graph than fit; what a single copy needs is for `check_resources` to say."""
    short = [each for each in graph_demands(graph, arch) if copies * each.needed > each.has]
    if copies > 1 and (short or copies > MOST_COPIES):
        most = max(1, most_copies(graph, arch))
        needs = "; ".join(_short(each, copies) for each in short) or f"at most {MOST_COPIES} are told apart"
        raise UserError(f"{copies} copies of the program are too many for '{arch.name}': {needs}", "unroll",
                        f"use {most} or less" if most > 1 else "leave unroll out, or use a larger machine")


def spare_pes(graph: MappedGraph, arch: Arch, copies: int) -> int:
    """PEs that each copy may use beside those of its graph."""
    return sum(tile.kind == "pe" for tile in arch.tiles.values()) // copies - graph.count("pe")


def _short(each: Demand, copies: int) -> str:
    return f"they need {copies * each.needed} {each.what}, it has {each.has}"


def unroll(graph: MappedGraph, copies: int) -> tuple[MappedGraph, Copies]:
    """Copies of a graph, each with links of its own; of one copy it is the graph itself."""
    if copies == 1:
        return graph, Copies()
    found = Copies(tuple((copy,) for copy in range(copies)))
    blocks: dict[str, Block] = {}
    nets: list[Net] = []
    streams: list[Stream] = []
    for copy in range(copies):
        blocks |= {name: replace(block, name=name) for name, block in
                   ((_named(each.name, copy), each) for each in graph.blocks.values())}
        nets += [Net(_pin(net.source, copy), tuple(_pin(sink, copy) for sink in net.sinks), net.layer) for net in graph.nets]
        streams += [replace(each, block=_named(each.block, copy), name=found.link(each.name, copy)) for each in graph.streams]
    return MappedGraph(blocks, tuple(nets), tuple(streams)), found


def _named(block: str, copy: int) -> str:
    return f"{block}.{copy}"


def _pin(pin: Pin, copy: int) -> Pin:
    return Pin(_named(pin.block, copy), pin.port)
