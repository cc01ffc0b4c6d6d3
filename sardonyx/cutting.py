"""How a program is cut into sub-tiles and copied, and its operands cut so for a machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from .compiler.einsum import copying
from .compiler.ir.transfer import WORD_BYTES
from .compiler.lang.einsum import Einsum
from .compiler.lang.schedule import Schedule
from .compiler.sparse import tiling
from .compiler.sparse.estimate import Copying
from .compiler.sparse.fuse import Fused, alone
from .compiler.sparse.fused_tiling import tile_fused
from .compiler.sparse.search import Search
from .compiler.sparse.tiles import Tiling
from .compiler.sparse.trials import BUDGET
from .compiler.sparse.trials import alone as one_copy
from .hw.arch.cgra import Arch
from .hw.arch.errors import UserError
from .options import MOST
from .outcome import silent
from .runtime.data.dispatch import DYNAMIC, ORDER
from .tensors.coordinates import Coo

Edges = int | Mapping[str, int] | None


@dataclass(frozen=True)
class Plan:
    """How a program is cut and copied.

    Parameters
    ----------
    edges : int | mapping    Of sub-tiles, for all indices or by index; None: chosen.
    copies : int             Of the program; None: as many as gain, of those that fit.
    dispatch : str           How sub-tiles are dealt to them.
    without : frozenset      Of `FEATURES`: what is left out.
    index : str              The index whose sub-tiles they share, if it is said.
    ordered : bool           Loops stay in the order that they have; else it is chosen (`loops.py`).
    """

    edges: Edges = None
    copies: int | None = 1
    dispatch: str = ORDER
    without: frozenset[str] = frozenset()
    index: str = ""
    ordered: bool = True

    @property
    def dynamic(self) -> bool:
        """Whether the array deals sub-tiles."""
        return self.dispatch == DYNAMIC


def plan(schedule: Schedule, edges: Edges, copies: int | None, dispatch: str, without: frozenset[str] = frozenset(),
         ordered: bool = True) -> Plan:
    """A plan from a schedule and from what else is said; UserError for what is said in both."""
    if schedule.edges and edges is not None:
        raise UserError("sub-tiles have an edge and are split", f"tile {edges}, {schedule}", "give one of them")
    if schedule.copies and copies != 1:
        raise UserError("the program has copies and is parallelized",
                        f"unroll {MOST if copies is None else copies}, {schedule}", "give one of them")
    index, count = schedule.copies or ("", copies)
    return Plan(schedule.edges or edges, count, dispatch, without, index, ordered or bool(schedule.orders))


def cut(fused: Fused, data: Mapping[str, Coo], arch: Arch, wanted: Plan, progress: Callable[[str], None] = silent,
        looked: Search | None = None) -> Tiling:
    """The sub-tiles of operands for a machine; looked: a search for their edges that is done already."""
    return tile_fused(fused, data, edges=wanted.edges, looked=looked, **_how(arch, wanted, progress))


def search(statement: Einsum, data: Mapping[str, Coo], arch: Arch, wanted: Plan, progress: Callable[[str], None] = silent,
           budget: int = BUDGET) -> Search:
    """The search for the edges of a statement, before it begins."""
    return tiling.search(statement, data, budget=budget, **_how(arch, wanted, progress))


def _how(arch: Arch, wanted: Plan, progress: Callable[[str], None]) -> dict[str, Any]:
    """What sub-tiles have to fit, and what their number is worth, as arguments of `tile`."""
    @cache
    def share(inner: Einsum) -> Copying:
        return copying(alone(inner), arch, wanted.copies, wanted.dynamic)

    return {"capacity": arch.mem.level_words, "room": arch.glb.room_bytes // WORD_BYTES,
            "tell": lambda tried: progress(f"cutting the operands into sub-tiles, {tried} edges compared"),
            "narrow": "narrowing" not in wanted.without,
            "share": one_copy if wanted.copies == 1 or "sharing" in wanted.without else share,
            "single": "pipelining" in wanted.without}
