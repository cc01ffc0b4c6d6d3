"""From a sparse graph to a program, whoever made the graph.

    SamGraph -> map -> MappedGraph -> balance -> place and route -> configure -> Program
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..hw.arch.cgra import Arch
from .ir.mapped import MappedGraph
from .ir.program import ELASTIC
from .ir.sam import SamGraph
from .ir.sam_dot import to_dot
from .pipeline import BALANCE, MAP, Compiled, Fitted, Route, Tell, finish, silent
from .sparse.balance import balance
from .sparse.blocks import map_graph


@dataclass(frozen=True)
class CompiledGraph(Compiled):
    """Every stage of a compilation."""

    sam: SamGraph
    unbalanced: MappedGraph

    @property
    def slack(self) -> int:
        """PEs that only hold tokens."""
        return self.graph.count("pe") - self.unbalanced.count("pe")

    def stages(self) -> dict[str, str]:
        return {"sam.txt": self.sam.to_text(), "sam.json": self.sam.to_json(), "sam.dot": to_dot(self.sam),
                "mapped.txt": self.unbalanced.to_text(), "balanced.txt": self.graph.to_text(), **super().stages()}


def compile_graph(sam: SamGraph, arch: Arch, seed: int = 0, tell: Tell = silent, source: Mapping[str, Any] | None = None
                  ) -> CompiledGraph:
    """Compile a sparse graph for a machine; the same arguments give the same program. Errors as of `finish`.

    source: more of the program's text.
    """
    tell(MAP)
    graph = map_graph(sam)

    def fit(route: Route) -> Fitted:
        tell(BALANCE)
        balanced = balance(graph, arch)
        return Fitted(balanced, route(balanced, 0))

    found = finish(graph, arch, ELASTIC, sam.title, fit, seed=seed, source=source, tell=tell)
    return CompiledGraph(**vars(found), sam=sam, unbalanced=graph)
