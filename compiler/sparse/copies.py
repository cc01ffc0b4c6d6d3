"""How many copies of a program a machine has room for, and which of them share links of the global buffer.

A graph takes a link of the global buffer for each level of each tensor, so copies with links of their own are few: a product
of matrices loads six levels, and 16 links make two of it. More copies share links in groups, as many groups as there are links
for; what leads blocks to the copies of a group takes PEs (`unroll.py`).

Needs:   balanced MappedGraph of one copy.
Gives:   which copies there are, in which groups.
Errors:  TooSmall for more copies than there are tiles or links for.
Source:  Onyx IEEE Micro, Unrolling; groups are what it leaves open ("utilizing free global buffer links").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ...hw.arch.cgra import Arch
from ...hw.arch.errors import Lacking, TooSmall, UserError
from ...hw.arch.glb import LANES
from ...hw.arch.primitive import ADDRESS, ARBITER, COPY_BITS, DISPATCHER, FILTER, Primitive
from ..ir.mapped import LOAD, Demand, MappedGraph, demands, having

MOST_COPIES = 1 << COPY_BITS
# The stream of a group's numbers, in the order of its sub-tiles.
NUMBERS = "numbers"
# The stream that brings the number of each sub-tile to the copy that has it.
ORDER = "order"


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
    """Nodes of the tree of `runs`."""
    return 1 + sum(_nodes(len(run), ways) for run in runs(range(count), ways) if len(run) > 1)


def runs(copies: Sequence[int], ways: int) -> list[Sequence[int]]:
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
