"""Look for the edges of sub-tiles with the fewest estimated cycles.

First one edge for all indices, of 65536, 49152, 32768, 24576, ..., 3, 2, 1 and the whole extent, powers of two before those
between them around the best. Then tiles of one coordinate of all indices but one, or but those of the result, of which they
have as much as fits. From the best of these on, for one index after the other, and for one against another, smaller and larger
ones for as long as that gains. Of edges that are as good within `ALIKE` those that make the fewest items are taken, since the
host hands over each.

Of large operands a sample is looked at (`sample.py`). What is chosen is cut and checked as a whole: every level of every tile,
and of every item's result, fits, or the next best is taken. Edges that make more than `MOST_ITEMS` items are not, nor are
those with more than the best ones had time for: both are known from counts before an item is made.

Errors:  as of `tiling.py`.
Cost:    at most `TRIES` edges with which items are met, and `REFUSED` others; beyond the first ones no more than `BUDGET`
         nonzeros and items.
Source:  ours; Onyx takes edges by hand.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.joins import TooManyMatches

from .estimate import Copying, Expected, expect
from .full import filled
from .item_cycles import LEAST
from .narrow import narrow, narrowed
from .normalize import Node, normalize, unsplit
from .overflow import SEARCH_ROWS, operands_overflow, results_overflow, sums_overflow
from .sample import Sample
from .tiles import Tiles, Tiling, cut, meet

EDGES = (*(edge for power in range(16, 1, -1) for edge in (1 << power, 3 << (power - 2))), 2, 1)
MOST_ITEMS = 25_000_000
FEW = 1_000         # Items that are met whatever others take: tiles of two operands meet also where a third one has none.
ITEM_BYTES = 80     # What the host needs for an item while items are listed.
ALIKE = 1.02        # Cycles that are worth fewer items.
PARTS = 5           # Parts of an extent whose edges are tried.
TRIES, REFUSED = 100, 200
BUDGET = 10_000_000
# The copies of the program of a statement.
Share = Callable[[Einsum], Copying]


def alone(program: Einsum) -> Copying:
    """One copy."""
    return Copying()


@dataclass(frozen=True)
class _Tried:
    """Edges that were looked at, with the cycles and items that are expected; no cycles if something does not fit, or if there
    are too many items."""

    edges: Mapping[str, int]
    cycles: float
    items: float
    fits: bool = True


@dataclass
class Search:
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
    tried: dict[tuple[int, ...], _Tried] = field(default_factory=dict)
    spent: int = 0
    looked: bool = False
    too_many: tuple[Mapping[str, int], int] | None = None      # The first edges with too many items, and how many.

    def __post_init__(self) -> None:
        # Of an operand in which an index stands twice, the diagonal.
        self.slots = {access.slot: self.operands[access.tensor].diagonal(access.modes) for access in self.einsum.operands}

    @cached_property
    def _sample(self) -> Sample:
        return Sample.of(self.einsum, self.root, self.slots, self.extents)

    def given(self, edges: int | Mapping[str, int]) -> Tiling:
        """With the user's edges."""
        named = _checked(self.einsum, self.extents, edges)
        if not isinstance(edges, int):
            for index in sorted(unsplit(self.root)):
                if named[index] < self.extents[index]:
                    raise UserError(f"index {index} is summed inside a function, so that it cannot be cut", self.einsum.text,
                                    f"give no tile edge for {index}")
        try:
            fault, tiling = self._whole(named)
        except TooManyMatches as many:
            raise UserError(_too_many(self._clipped(named), many.count), self.einsum.text,
                            "use larger tiles, or give no edge to have it chosen") from None
        if tiling is not None:
            return tiling
        largest = next(self._fitting())
        if isinstance(edges, int):
            fix = f"use a tile edge of {largest} or less"
        else:
            cut = named.keys() - unsplit(self.root)
            fix = f"use tile={ {index: min(edge, largest) for index, edge in named.items() if index in cut} }"
        raise UserError(fault, self.einsum.text, f"{fix}, or none to have it chosen")

    def chosen(self) -> Tiling:
        """With the edges of the fewest estimated cycles."""
        self.look()
        for each in self._best_first():
            try:
                _, tiling = self._whole(each.edges, SEARCH_ROWS)
            except TooManyMatches as many:
                self.too_many = self.too_many or (self._clipped(each.edges), many.count)
                continue
            if tiling is not None:
                return tiling
        # Less than expected fits: what is left are smaller ones.
        for edge in self._fitting():
            try:
                _, tiling = self._whole(dict.fromkeys(self.extents, edge))
            except TooManyMatches as many:
                edges, count = self.too_many or (self._clipped(dict.fromkeys(self.extents, edge)), many.count)
                raise UserError(f"{_too_many(edges, count)}; these are the largest tiles that fit", self.einsum.text,
                                "compute the result in parts, or use an array with larger level buffers") from None
            if tiling is not None:
                return tiling
        raise AssertionError("an edge with which everything fits is among those that do")

    @property
    def cycles(self) -> float:
        """The fewest that are expected of edges that were looked at; infinite where none of them fit."""
        return min((each.cycles for each in self.tried.values()), default=float("inf"))

    @property
    def edges(self) -> Mapping[str, int]:
        """Those with so many cycles."""
        return self._best.edges

    def glance(self, some: Iterable[Mapping[str, int]]) -> None:
        """Look at some edges; those of an index that is longer are its extent."""
        for edges in some:
            self._try(edges)

    def look(self) -> None:
        """Try edges, once: one for all indices, then index by index."""
        if self.looked:
            return
        self.looked = True
        candidates = self._candidates()
        if not self.extents:
            self._try({})
            return
        for edge in [*candidates[:1], *(edge for edge in candidates[1:] if edge & (edge - 1) == 0)]:
            self._try(dict.fromkeys(self.extents, edge))
        for best in self._best_first()[:2]:
            at = bisect_left(candidates, -max(best.edges.values()), key=lambda edge: -edge)
            for edge in candidates[max(at - 1, 0):at + 2]:
                self._try(dict.fromkeys(self.extents, edge))
        for corner in self._corners() if len(self.extents) > 2 else ():
            for index in corner:
                longest = {other: self._ladder(other)[0] if other in corner else 1 for other in self.extents}
                if not self._try(longest).fits:
                    self._shortened(longest, index)
        while len(self.extents) > 1 and self.tried:
            before = self._best
            # Then to either end: what gathers nothing until a tile is very large looks as good at every edge before.
            for steps in ((4, 2, 1), (len(EDGES),)):
                self._round(steps)
            if self._best is before:
                break

    def _corners(self) -> list[tuple[str, ...]]:
        """Indices of which tiles have many coordinates, and one of all others: where several have to be small together, no step
        of one or two of them leads there."""
        return list(dict.fromkeys([self.einsum.result.indices, *((index,) for index in self.einsum.order)]))

    def _round(self, steps: Sequence[int]) -> None:
        """Move the edge of one index after the other, and of one against another, until that gains nothing."""
        while True:
            before = self._best
            for step in steps:
                for index in self.einsum.order:
                    for moves in ({index: step}, {index: -step},
                                  *({index: step, other: -step} for other in self.einsum.order if other != index)):
                        self._descend(moves)
            if self._best is before:
                break

    @property
    def _best(self) -> _Tried:
        return min(self.tried.values(), key=lambda each: each.cycles)

    def _descend(self, moves: Mapping[str, int]) -> None:
        """Move edges by steps on their ladders, from the best ones on and for as long as that gains."""
        while self._goes_on:
            best = self._best
            edges = dict(best.edges)
            for index, step in moves.items():
                ladder = self._ladder(index)
                at = bisect_left(ladder, -edges[index], key=lambda edge: -edge) + step
                edges[index] = ladder[min(max(at, 0), len(ladder) - 1)]
            found = [self._try(edges)]
            # What is expected of results is an average, but exact without loops that turn once: a smaller edge may be the one
            # that is seen not to fit.
            if not found[0].fits and all(edges[index] <= best.edges[index] for index in edges):
                found = [self._shortened(edges, other) for other in edges if other not in moves]
            if min((each.cycles for each in found), default=best.cycles) >= best.cycles:
                break

    @property
    def _goes_on(self) -> bool:
        met = sum(each.cycles < float("inf") for each in self.tried.values())
        return met < TRIES and len(self.tried) - met < REFUSED and self.spent < self.budget

    def _shortened(self, edges: Mapping[str, int], index: str) -> _Tried:
        """The largest edge of an index below this one with which everything fits, as far as is known; the smallest one if
        none does."""
        shorter = [edge for edge in self._ladder(index) if edge < edges[index]] or [edges[index]]
        at = bisect_left(shorter, True, hi=len(shorter) - 1,
                         key=lambda edge: not self._goes_on or self._try({**edges, index: edge}).fits)
        return self._try({**edges, index: shorter[at]})

    def _ladder(self, index: str) -> list[int]:
        """Edges of an index, falling: those of the list, and equal parts of the whole extent."""
        extent = max(self.extents[index], 1)
        equal = (-(-extent // parts) for parts in range(1, PARTS + 1))
        return sorted({edge for edge in EDGES if edge < extent} | {edge for edge in equal if edge <= EDGES[0]}, reverse=True)

    def _try(self, edges: Mapping[str, int]) -> _Tried:
        """Look at edges, unless they were before."""
        edges = self._clipped(edges)
        key = tuple(edges.values())
        if key not in self.tried:
            self.tried[key] = self._estimated(edges)
            self.tell(len(self.tried))
        return self.tried[key]

    def _estimated(self, edges: Mapping[str, int]) -> _Tried:
        nothing = _Tried(edges, float("inf"), 0, fits=False)
        program = self._program(edges)
        if sums_overflow(program, edges, self.capacity):
            return nothing
        if any(self.slots[access.slot].nnz > self.capacity * prod(-(-self.extents[index] // edges[index])
                                                                       for index in access.indices)
               for access in self.einsum.operands):
            return nothing      # Some tile is fuller than that, whichever it is.
        tiles, times = self._sample.cut(edges)
        self.spent += sum(len(each.values) for each in tiles)
        if operands_overflow(tiles, dict(edges), self.capacity):
            return nothing
        copying = self.share(program)
        least = min(self.cycles, self.beat)
        most = min(MOST_ITEMS / times, max(FEW, copying.most * least / LEAST / times))
        try:
            tiling = self._meet(edges, tiles, int(most) + 1)
        except TooManyMatches as many:
            if least == float("inf"):
                self.too_many = self.too_many or (edges, round(many.count * times))
            return replace(nothing, fits=True)
        self.spent += len(tiling)
        expected = self._expected(tiling)
        if expected.result_words > self.capacity:
            return nothing
        cycles = times * expected.apart if self.single else expected.shared(copying, times)[0]
        return _Tried(edges, cycles, times * len(tiling))

    def _expected(self, tiling: Tiling) -> Expected:
        """What is expected of work as its program is compiled."""
        if self.narrow and (program := filled(narrowed(tiling))) is not tiling:
            return expect(normalize(program.einsum), program, self.room)
        return expect(self.root, tiling, self.room)

    def _best_first(self) -> list[_Tried]:
        """What was tried and fits as far as is known, the best ones first; of those about as good the one with the fewest
        items."""
        found = sorted((each for each in self.tried.values() if each.cycles < float("inf")), key=lambda each: each.cycles)
        alike = [each for each in found if each.cycles <= ALIKE * found[0].cycles]
        return [*sorted(alike, key=lambda each: each.items), *found[len(alike):]]

    def _candidates(self) -> list[int]:
        """Edges for all indices, falling."""
        longest = max(self.extents.values(), default=1)
        larger = [edge for edge in EDGES if edge >= longest]
        return [*larger[-1:], *(edge for edge in EDGES if edge < longest)]

    def _fitting(self) -> Iterator[int]:
        """The edges for all indices with which everything fits, falling."""
        candidates = self._candidates()
        # Larger tiles hold more, so what fits is an end of the list.
        found = candidates[bisect_left(candidates, True, key=self._fits):]
        if not found:
            uncut = "".join(f", with the whole of {index}, which is summed inside a function,"
                            for index in sorted(unsplit(self.root)))
            raise UserError(f"not even tiles of one element{uncut} fit {self.capacity} words", self.einsum.text,
                            "use an array with larger level buffers")
        return iter(found)

    def _fits(self, edge: int) -> bool:
        try:
            return not self._whole(dict.fromkeys(self.extents, edge), SEARCH_ROWS)[0]
        except TooManyMatches:
            return True     # Perhaps. Where it matters, the items are listed, and refused.

    def _whole(self, edges: Mapping[str, int], rows: int | None = None) -> tuple[str, Tiling | None]:
        """All work with some edges, or what does not fit. `rows`: see `results_overflow`."""
        whole, tiles = cut(self.einsum, self.operands, self.extents, self._clipped(edges))
        if fault := operands_overflow(tiles, whole, self.capacity) or sums_overflow(self._program(whole), whole, self.capacity):
            return fault, None
        tiling = self._meet(whole, tiles, MOST_ITEMS)
        fault = results_overflow(self.root, tiling, rows)
        return fault, None if fault else tiling

    def _program(self, edges: Mapping[str, int]) -> Einsum:
        """The program of an item: a loop that turns once accumulates nothing."""
        return narrow(self.einsum, edges)[0] if self.narrow else self.einsum

    def _clipped(self, edges: Mapping[str, int]) -> dict[str, int]:
        """Edges not longer than what they cut, and the whole extent of indices that cannot be cut."""
        whole = unsplit(self.root)
        return {index: max(self.extents[index], 1) if index in whole else min(edge, max(self.extents[index], 1))
                for index, edge in edges.items()}

    def _meet(self, edges: Mapping[str, int], tiles: tuple[Tiles, ...], most: int) -> Tiling:
        return meet(self.einsum, self.root, self.extents, edges, tiles, self.capacity, most)


def _too_many(edges: Mapping[str, int], count: int) -> str:
    """What so many items would need."""
    return (f"tiles of {', '.join(f'{index} {edge}' for index, edge in edges.items())} make {count:,} sub-tiles of work, "
            f"more than {MOST_ITEMS:,}: {count * ITEM_BYTES / 1e9:,.1f} GB in the host and more than "
            f"{count * LEAST:,} cycles")


def _checked(einsum: Einsum, extents: Mapping[str, int], edges: int | Mapping[str, int]) -> dict[str, int]:
    """The user's edges per index, checked."""
    named = dict.fromkeys(extents, edges) if isinstance(edges, int) else dict(edges)
    for index, edge in named.items():
        if index not in extents:
            raise UserError(f"there is a tile edge for {index} but no such index", einsum.text,
                            f"name one of {', '.join(extents)}")
        if edge < 1:
            raise UserError(f"the tile edge of {index} is {edge}", einsum.text, "use 1 or more")
    return {index: named.get(index, max(extent, 1)) for index, extent in extents.items()}
