"""From a statement to a program.

    Einsum -> lower -> SamGraph -> map -> MappedGraph -> balance -> place and route -> configure -> Program
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..hw.arch.cgra import Arch
from .graph import CompiledGraph, compile_graph
from .ir.program import ELASTIC
from .ir.sam import SamGraph
from .lang.einsum import Einsum
from .pipeline import FINISH, Tell, silent
from .sparse import copies as unrolled
from .sparse.blocks import map_graph
from .sparse.estimate import Copying
from .sparse.fuse import Fused, alone
from .sparse.looked_up import looked_up
from .sparse.lower import lower, lower_fused

LOWER = "lower"
STAGES = (LOWER, *FINISH[ELASTIC])
FILES = ("1_sam.txt", "1_sam.json", "1_sam.dot", "2_mapped.txt", "3_balanced.txt", "4_placement.json", "5_routing.txt",
         "app.bits", "program.json", "array.svg")


@dataclass(frozen=True)
class CompiledEinsum(CompiledGraph):
    """Every stage of a compilation; whole: load streams that are looked up, whose words a launch needs all when it begins."""

    einsum: Einsum
    whole: frozenset[str]


def most_copies(fused: Fused, arch: Arch, dynamic: bool = False) -> int:
    """How many copies of a program a machine has tiles and links for."""
    return unrolled.most_copies(map_graph(lower_fused(fused)), arch, dynamic)


def compile_fused(fused: Fused, arch: Arch, seed: int = 0, tell: Tell = silent, copies: int = 1, dynamic: bool = False,
                  groups: int | None = None, balanced: bool = True, words: Mapping[str, int] | None = None) -> CompiledEinsum:
    """Compile fused statements for a machine; as `compile_einsum`."""
    tell(LOWER)
    return _compiled(fused, lower_fused(fused), arch, seed, tell, copies, dynamic, groups, balanced, words)


def copying(fused: Fused, arch: Arch, copies: int | None = None, dynamic: bool = False) -> Copying:
    """The copies of a program that a machine may have: for None as many as gain, of those that fit. Some that do not fit are
    refused when they are compiled."""
    graph = map_graph(lower_fused(fused))
    most = unrolled.most_copies(graph, arch, dynamic) if copies is None else copies
    return Copying(most, unrolled.most_groups(graph, arch, dynamic), 2 if dynamic else 1, copies is None)


def compile_einsum(einsum: Einsum, arch: Arch, seed: int = 0, tell: Tell = silent, copies: int = 1,
                   dynamic: bool = False, groups: int | None = None, balanced: bool = True,
                   words: Mapping[str, int] | None = None) -> CompiledEinsum:
    """Compile a statement for a machine; the same arguments give the same program. The others and errors as of
    `compile_graph`."""
    tell(LOWER)
    return _compiled(alone(einsum), lower(einsum), arch, seed, tell, copies, dynamic, groups, balanced, words)


def _compiled(fused: Fused, graph: SamGraph, arch: Arch, seed: int, tell: Tell, copies: int, dynamic: bool,
              groups: int | None, balanced: bool, words: Mapping[str, int] | None) -> CompiledEinsum:
    einsum = fused.einsum
    source = {"order": list(einsum.order),
              "formats": {access.slot: str(access.format) for access in (einsum.result, *einsum.operands)}}
    found = compile_graph(graph, arch, seed, tell, source, copies, dynamic, groups, balanced, words)
    return CompiledEinsum(**vars(found), einsum=einsum, whole=looked_up(fused))
