"""From a statement to a program.

    Einsum -> lower -> SamGraph -> map -> MappedGraph -> balance -> place and route -> configure -> Program
"""

from __future__ import annotations

from dataclasses import dataclass

from ..hw.arch.cgra import Arch
from .ir.mapped import MappedGraph
from .ir.program import ELASTIC
from .ir.sam import SamGraph
from .ir.sam_dot import to_dot
from .lang.einsum import Einsum
from .pipeline import BALANCE, FINISH, MAP, Compiled, Fitted, Route, Tell, finish, silent
from .sparse.balance import balance
from .sparse.blocks import map_graph
from .sparse.lower import lower

LOWER = "lower"
STAGES = (LOWER, *FINISH[ELASTIC])
FILES = ("1_sam.txt", "1_sam.json", "1_sam.dot", "2_mapped.txt", "3_balanced.txt", "4_placement.json", "5_routing.txt",
         "app.bits", "program.json", "array.svg")


@dataclass(frozen=True)
class CompiledEinsum(Compiled):
    """Every stage of a compilation."""

    einsum: Einsum
    sam: SamGraph
    unbalanced: MappedGraph

    @property
    def slack(self) -> int:
        """PEs that only hold tokens."""
        return self.graph.count("pe") - self.unbalanced.count("pe")

    def stages(self) -> dict[str, str]:
        return {"sam.txt": self.sam.to_text(), "sam.json": self.sam.to_json(), "sam.dot": to_dot(self.sam),
                "mapped.txt": self.unbalanced.to_text(), "balanced.txt": self.graph.to_text(), **super().stages()}


def compile_einsum(einsum: Einsum, arch: Arch, seed: int = 0, tell: Tell = silent) -> CompiledEinsum:
    """Compile a statement for a machine; the same arguments give the same program. Errors as of `finish`."""
    tell(LOWER)
    sam = lower(einsum)
    tell(MAP)
    graph = map_graph(sam)

    def fit(route: Route) -> Fitted:
        tell(BALANCE)
        balanced = balance(graph, arch)
        return Fitted(balanced, route(balanced, 0))

    source = {"order": list(einsum.order),
              "formats": {access.slot: str(access.format) for access in (einsum.result, *einsum.operands)}}
    found = finish(graph, arch, ELASTIC, einsum.text, fit, seed=seed, source=source, tell=tell)
    return CompiledEinsum(**vars(found), einsum=einsum, sam=sam, unbalanced=graph)
