"""From a sparse graph to a program, whoever made the graph.

    SamGraph -> map -> MappedGraph -> balance -> place and route -> configure -> Program
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..hw.arch.cgra import Arch
from .backend.latency import latencies
from .backend.route import Unroutable
from .ir.mapped import MappedGraph
from .ir.program import ELASTIC
from .ir.sam import SamGraph
from .ir.sam_dot import to_dot
from .pipeline import BALANCE, MAP, Compiled, Fitted, Route, Tell, check_resources, finish, silent
from .sparse.balance import balance
from .sparse.blocks import map_graph
from .sparse.certificate import uncertified
from .sparse.copies import Copies, grouped, spare_pes
from .sparse.rebalance import of_one_copy, rebalance, short
from .sparse.unroll import unroll

# Placements of a graph, each with more slack where the routes of the one before need it.
ATTEMPTS = 3


@dataclass(frozen=True)
class CompiledGraph(Compiled):
    """Every stage of a compilation; waits: paths that may wait for each other, as of `certificate.py`, for want of FIFOs."""

    sam: SamGraph
    unbalanced: MappedGraph
    copies: Copies
    waits: tuple[str, ...]

    @property
    def slack(self) -> int:
        """PEs that only hold tokens."""
        return sum(block.slack for block in self.graph.blocks.values())

    def stages(self) -> dict[str, str]:
        return {"sam.txt": self.sam.to_text(), "sam.json": self.sam.to_json(), "sam.dot": to_dot(self.sam),
                "mapped.txt": self.unbalanced.to_text(), "balanced.txt": self.graph.to_text(), **super().stages()}


def compile_graph(sam: SamGraph, arch: Arch, seed: int = 0, tell: Tell = silent, source: Mapping[str, Any] | None = None,
                  copies: int = 1, dynamic: bool = False, groups: int | None = None,
                  balanced: bool = True, words: Mapping[str, int] | None = None) -> CompiledGraph:
    """Compile a sparse graph for a machine; the same arguments give the same program. Errors as of `finish` and `grouped`.

    source: more of the program's text. copies, dynamic, groups: of the program beside each other, see `grouped`. balanced:
    paths that meet again are, with tiles that hold tokens. words: of a block of each stream at most, where they are known.
    """
    tell(MAP)
    graph = map_graph(sam)
    check_resources(graph, arch)
    linked = grouped(graph, arch, copies, dynamic, groups)

    copy = balance(graph, arch, spare_pes(graph, arch, linked)) if balanced else graph

    def fit(route: Route) -> Fitted:
        tell(BALANCE)
        return _even(copy, linked, arch, route) if balanced else _routed(copy, linked, route)

    text = {**(source or {}), **({"copies": [list(each) for each in linked.groups]} if copies > 1 else {})}
    found = finish(graph, arch, ELASTIC, sam.title, fit, seed=seed, source=text, tell=tell,
                   words=linked.words(words or {}))
    return CompiledGraph(**vars(found), sam=sam, unbalanced=graph, copies=linked, waits=uncertified(copy, arch.pe.pass_depth))


def _routed(graph: MappedGraph, copies: Copies, route: Route) -> Fitted:
    """Copies of a graph, as they are."""
    unrolled = unroll(graph, copies)
    return Fitted(unrolled, route(unrolled, 0))


def _even(graph: MappedGraph, copies: Copies, arch: Arch, route: Route) -> Fitted:
    """Copies of a balanced graph whose nets hold enough tokens as they are routed, or those of the fewest too few of
    `ATTEMPTS`. What one copy needs all get, as each is somewhere else in the next placement."""
    best, least = None, 0
    for _ in range(ATTEMPTS):
        try:
            found = _routed(graph, copies, route)
        except Unroutable:
            if best is None:
                raise
            break
        placed, trees = found.routed.placement.tiles, found.routed.routing.trees
        wanted = short(found.graph, arch, latencies(found.graph.nets, trees, placed, arch))
        if best is None or sum(wanted.values()) < least:
            best, least = found, sum(wanted.values())
        again = rebalance(graph, arch, of_one_copy(wanted, copies), spare_pes(graph, arch, copies))
        if again is graph:
            break
        graph = again
    assert best is not None, "the first one is routed, or not at all"
    return best
