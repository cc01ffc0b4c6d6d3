"""Edges of sub-tiles, looked at one after the other: whether everything fits, and the cycles and items that are expected.

Of large operands a sample is looked at (`sample.py`); `whole` cuts and checks all of them: every level of every tile, and of
every item's result. Edges that make more than `MOST_ITEMS` items are not taken, nor are those with more than the best ones had
time for: both are known from counts before an item is made.

Errors:  TooManyMatches for whole operands that make too many items.
Source:  ours; Onyx takes edges by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.joins import TooManyMatches

from .estimate import Copying, Expected, expect
from .full import filled
from .item_cycles import LEAST
from .kept_sums import kept_sums_overflow
from .narrow import narrow, narrowed
from .normalize import Node, normalize, unsplit
from .overflow import SEARCH_ROWS, operands_overflow, results_overflow, sums_overflow
from .sample import Sample
from .settled import settled
from .tiles import Tiles, Tiling, cut, meet

MOST_ITEMS = 25_000_000
FEW = 1_000         # Items that are met whatever others take: tiles of two operands meet also where a third one has none.
ITEM_BYTES = 80     # What the host needs for an item while items are listed.
BUDGET = 10_000_000
# The copies of the program of a statement.
Share = Callable[[Einsum], Copying]


def alone(program: Einsum) -> Copying:
    """One copy."""
    return Copying()


@dataclass(frozen=True)
class Tried:
    """Edges that were looked at, with the cycles and items that are expected; no cycles if something does not fit, or if there
    are too many items."""

    edges: Mapping[str, int]
    cycles: float
    items: float
    fits: bool = True


@dataclass
class Trials:
    """What is the same with every edge, and what was looked at.

    Parameters
    ----------
    budget : int    Nonzeros and items that are looked at, beyond those of edges for all indices.
    beat : float    Cycles that another program takes: edges with more items than these have time for are not met.
    The others are as of `tile`.
    """

    einsum: Einsum
    root: Node
    operands: Mapping[str, Coo]
    extents: Mapping[str, int]
    capacity: int
    room: int
    tell: Callable[[int], None]
    narrow: bool
    share: Share
    single: bool
    budget: int = BUDGET
    beat: float = float("inf")
    tried: dict[tuple[int, ...], Tried] = field(default_factory=dict)
    spent: int = 0
    too_many: tuple[Mapping[str, int], int] | None = None      # The first edges with too many items, and how many.

    def __post_init__(self) -> None:
        # Of an operand in which an index stands twice, the diagonal.
        self.slots = {access.slot: self.operands[access.tensor].diagonal(access.modes) for access in self.einsum.operands}

    @cached_property
    def _sample(self) -> Sample:
        return Sample.of(self.einsum, self.root, self.slots, self.extents)

    @property
    def cycles(self) -> float:
        """The fewest that are expected of edges that were looked at; infinite where none of them fit."""
        return min((each.cycles for each in self.tried.values()), default=float("inf"))

    @property
    def edges(self) -> Mapping[str, int]:
        """Those with so many cycles."""
        return self.best.edges

    @property
    def best(self) -> Tried:
        """Those with the fewest."""
        return min(self.tried.values(), key=lambda each: each.cycles)

    def look_at(self, edges: Mapping[str, int]) -> Tried:
        """Look at edges, unless they were before."""
        edges = self.clipped(edges)
        key = tuple(edges.values())
        if key not in self.tried:
            self.tried[key] = self._estimated(edges)
            self.tell(len(self.tried))
        return self.tried[key]

    def _estimated(self, edges: Mapping[str, int]) -> Tried:
        nothing = Tried(edges, float("inf"), 0, fits=False)
        einsum = self._settled(edges)
        program = self._program(einsum, edges)
        if sums_overflow(program, edges, self.capacity):
            return nothing
        if any(self.slots[access.slot].nnz > self.capacity * prod(-(-self.extents[index] // edges[index])
                                                                       for index in access.indices)
               for access in self.einsum.operands):
            return nothing      # Some tile is fuller than that, whichever it is.
        tiles, times = self._sample.cut(einsum, edges)
        self.spent += sum(len(each.values) for each in tiles)
        if operands_overflow(tiles, dict(edges), self.capacity):
            return nothing
        copying = self.share(program)
        least = min(self.cycles, self.beat)
        most = min(MOST_ITEMS / times, max(FEW, copying.most * least / LEAST / times))
        try:
            tiling = self._meet(einsum, edges, tiles, int(most) + 1)
        except TooManyMatches as many:
            if least == float("inf"):
                self.too_many = self.too_many or (edges, round(many.count * times))
            return replace(nothing, fits=True)
        self.spent += len(tiling)
        if kept_sums_overflow(einsum, tiling, SEARCH_ROWS):
            return nothing
        expected = self._expected(tiling)
        if expected.result_words > self.capacity:
            return nothing
        cycles = times * expected.apart if self.single else expected.shared(copying, times)[0]
        return Tried(edges, cycles, times * len(tiling))

    def _expected(self, tiling: Tiling) -> Expected:
        """What is expected of work as its program is compiled."""
        if self.narrow and (program := filled(narrowed(tiling))) is not tiling:
            return expect(normalize(program.einsum), program, self.room)
        return expect(self._root(tiling.einsum), tiling, self.room)

    def whole(self, edges: Mapping[str, int], rows: int | None = None) -> tuple[str, Tiling | None]:
        """All work with some edges, or what does not fit. `rows`: see `results_overflow`."""
        einsum = self._settled(self.clipped(edges))
        whole, tiles = cut(einsum, self.operands, self.extents, self.clipped(edges))
        if fault := operands_overflow(tiles, whole, self.capacity) or \
                sums_overflow(self._program(einsum, whole), whole, self.capacity):
            return fault, None
        tiling = self._meet(einsum, whole, tiles, MOST_ITEMS)
        fault = results_overflow(self._root(einsum), tiling, rows) or kept_sums_overflow(einsum, tiling, rows)
        return fault, None if fault else tiling

    def _settled(self, edges: Mapping[str, int]) -> Einsum:
        """The statement as items of these edges are computed."""
        return settled(self.einsum, edges)

    def _root(self, einsum: Einsum) -> Node:
        return self.root if einsum.order == self.einsum.order else normalize(einsum)

    def _program(self, einsum: Einsum, edges: Mapping[str, int]) -> Einsum:
        """The program of an item: a loop that turns once accumulates nothing."""
        return narrow(einsum, edges)[0] if self.narrow else einsum

    def clipped(self, edges: Mapping[str, int]) -> dict[str, int]:
        """Edges not longer than what they cut, and the whole extent of indices that cannot be cut."""
        whole = unsplit(self.root)
        return {index: max(self.extents[index], 1) if index in whole else min(edge, max(self.extents[index], 1))
                for index, edge in edges.items()}

    def _meet(self, einsum: Einsum, edges: Mapping[str, int], tiles: tuple[Tiles, ...], most: int) -> Tiling:
        return meet(einsum, self._root(einsum), self.extents, edges, tiles, self.capacity, most)


def too_many_items(edges: Mapping[str, int], count: int) -> str:
    """What so many items would need."""
    return (f"tiles of {', '.join(f'{index} {edge}' for index, edge in edges.items())} make {count:,} sub-tiles of work, "
            f"more than {MOST_ITEMS:,}: {count * ITEM_BYTES / 1e9:,.1f} GB in the host and more than "
            f"{count * LEAST:,.0f} cycles")
