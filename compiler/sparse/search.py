"""Look for the edges of sub-tiles with the fewest estimated cycles.

First one edge for all indices, of 65536, 49152, 32768, 24576, ..., 3, 2, 1 and the whole extent, powers of two before those
between them around the best. Then tiles of one coordinate of all indices but one, or but those of the result, of which they
have as much as fits, and less of one of them for as long as that gains. From the best of these on, for one index after the
other, and for one against another, smaller and larger ones for as long as that gains. Of edges that are as good within `ALIKE`
those that make the fewest items are taken, since the host hands over each.

What is expected of edges, and which cannot be taken, is in `trials.py`. What is chosen is cut and checked as a whole: every
level of every tile, and of every item's result, fits, or the next best is taken.

Errors:  as of `tiling.py`.
Cost:    at most `TRIES` edges with which items are met, and `REFUSED` others; beyond the first ones no more than `BUDGET`
         nonzeros and items.
Source:  ours; Onyx takes edges by hand.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.compiler.lang.schedule import Schedule
from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors.joins import TooManyMatches

from .normalize import unsplit
from .overflow import SEARCH_ROWS
from .settled import as_far, settled, too_many, unkept, with_lone
from .tiles import Tiling
from .trials import Trials, Tried, too_many_items

EDGES = (*(edge for power in range(16, 1, -1) for edge in (1 << power, 3 << (power - 2))), 2, 1)
ALIKE = 1.02        # Cycles that are worth fewer items.
PARTS = 5           # Parts of an extent whose edges are tried.
TRIES, REFUSED = 100, 200


@dataclass
class Search(Trials):
    """Edges that were looked at, and those to look at next. looked: all have been."""

    looked: bool = False

    def given(self, edges: int | Mapping[str, int]) -> Tiling:
        """With the user's edges."""
        named = _checked(self.einsum, self.extents, edges)
        if not isinstance(edges, int):
            for index in sorted(unsplit(self.root)):
                if named[index] < self.extents[index]:
                    raise UserError(f"index {index} is summed inside a function, so that it cannot be cut", self.einsum.text,
                                    f"give no tile edge for {index}")
        if too_many(self.einsum):
            # What nobody says an edge of has one coordinate where whole extents make too many sums.
            said = named if isinstance(edges, int) else edges
            named = with_lone(self.einsum, self.clipped(named), said.keys() | unsplit(self.root))
        whole = self.clipped(named)
        if fault := unkept(settled(self.einsum, whole)):
            fault = unkept(as_far(self.einsum, whole)) or fault
            lone = with_lone(self.einsum, whole, unsplit(self.root))
            few = {index: lone[index] for index in named if index in self._cut}
            raise UserError(fault, self.einsum.text,
                            way_to_cut(few) + (f" in place of tile {edges}" if isinstance(edges, int) else ""))
        try:
            fault, tiling = self.whole(named)
        except TooManyMatches as many:
            raise UserError(too_many_items(self.clipped(named), many.count), self.einsum.text,
                            "use larger tiles, or give no edge to have it chosen") from None
        if tiling is not None:
            return tiling
        largest = next(self._fitting())
        if isinstance(edges, int):
            fix = f"use a tile edge of {largest} or less"
        else:
            fix = way_to_cut({index: min(edge, largest) for index, edge in named.items() if index in self._cut})
        raise UserError(fault, self.einsum.text, f"{fix}, or none to have it chosen")

    def chosen(self) -> Tiling:
        """With the edges of the fewest estimated cycles."""
        self.look()
        for each in self._best_first():
            try:
                _, tiling = self.whole(each.edges, SEARCH_ROWS)
            except TooManyMatches as many:
                self.too_many = self.too_many or (self.clipped(each.edges), many.count)
                continue
            if tiling is not None:
                return tiling
        # Less than expected fits: what is left are smaller ones.
        for edge in self._fitting():
            try:
                _, tiling = self.whole(self._all(edge))
            except TooManyMatches as many:
                edges, count = self.too_many or (self.clipped(self._all(edge)), many.count)
                raise UserError(f"{too_many_items(edges, count)}; these are the largest tiles that fit", self.einsum.text,
                                "compute the result in parts, or use an array with larger level buffers") from None
            if tiling is not None:
                return tiling
        raise AssertionError("an edge with which everything fits is among those that do")

    def glance(self, some: Iterable[Mapping[str, int]]) -> None:
        """Look at some edges; those of an index that is longer are its extent."""
        for edges in some:
            self.look_at(edges)

    def look(self) -> None:
        """Try edges, once: one for all indices, then index by index."""
        if self.looked:
            return
        self.looked = True
        candidates = self._candidates()
        if not self.extents:
            self.look_at({})
            return
        for edge in [*candidates[:1], *(edge for edge in candidates[1:] if edge & (edge - 1) == 0)]:
            self.look_at(self._all(edge))
        for best in self._best_first()[:2]:
            at = bisect_left(candidates, -max(best.edges.values()), key=lambda edge: -edge)
            for edge in candidates[max(at - 1, 0):at + 2]:
                self.look_at(self._all(edge))
        for corner in self._corners() if len(self.extents) > 2 else ():
            for index in corner:
                longest = {other: self._ladder(other)[0] if other in corner else 1 for other in self.extents}
                if not self.look_at(longest).fits:
                    self._shortened(longest, index)
                elif len(corner) > 1:
                    self._slope(longest, index)
        while len(self.extents) > 1 and self.tried:
            before = self.best
            # Then to either end: what gathers nothing until a tile is very large looks as good at every edge before.
            for steps in ((4, 2, 1), (len(EDGES),)):
                self._round(steps)
            if self.best is before:
                break

    def _corners(self) -> list[tuple[str, ...]]:
        """Indices of which tiles have many coordinates, and one of all others: where several have to be small together, no step
        of one or two of them leads there."""
        lone = [{index} for inner in too_many(self.einsum).values() for index in inner]
        rest = [tuple(index for index in self.einsum.order if index not in each) for each in lone]
        return list(dict.fromkeys([self.einsum.result.indices, *((index,) for index in self.einsum.order), *rest]))

    def _round(self, steps: Sequence[int]) -> None:
        """Move the edge of one index after the other, and of one against another, until that gains nothing."""
        while True:
            before = self.best
            for step in steps:
                for index in self.einsum.order:
                    for moves in ({index: step}, {index: -step},
                                  *({index: step, other: -step} for other in self.einsum.order if other != index)):
                        self._descend(moves)
            if self.best is before:
                break

    def _descend(self, moves: Mapping[str, int]) -> None:
        """Move edges by steps on their ladders, from the best ones on and for as long as that gains."""
        while self._goes_on:
            best = self.best
            edges = dict(best.edges)
            for index, step in moves.items():
                ladder = self._ladder(index)
                at = bisect_left(ladder, -edges[index], key=lambda edge: -edge) + step
                edges[index] = ladder[min(max(at, 0), len(ladder) - 1)]
            found = [self.look_at(edges)]
            # What is expected of results is an average, but exact without loops that turn once: a smaller edge may be the one
            # that is seen not to fit.
            if not found[0].fits and all(edges[index] <= best.edges[index] for index in edges):
                found = [self._shortened(edges, other) for other in edges if other not in moves]
            if min((each.cycles for each in found), default=best.cycles) >= best.cycles:
                break

    def _slope(self, edges: Mapping[str, int], index: str) -> None:
        """Smaller edges of an index, for as long as that gains, also where these are not the best ones yet: from the best on
        it would take one step that makes one edge smaller and another one so much larger."""
        least, ladder = self.look_at(edges).cycles, self._ladder(index)
        for edge in ladder[2::2]:
            before, least = least, self.look_at({**edges, index: edge}).cycles
            if least >= before or not self._goes_on:
                break

    @property
    def _goes_on(self) -> bool:
        met = sum(each.cycles < float("inf") for each in self.tried.values())
        return met < TRIES and len(self.tried) - met < REFUSED and self.spent < self.budget

    def _shortened(self, edges: Mapping[str, int], index: str) -> Tried:
        """The largest edge of an index below this one with which everything fits, as far as is known; the smallest one if
        none does."""
        shorter = [edge for edge in self._ladder(index) if edge < edges[index]] or [edges[index]]
        at = bisect_left(shorter, True, hi=len(shorter) - 1,
                         key=lambda edge: not self._goes_on or self.look_at({**edges, index: edge}).fits)
        return self.look_at({**edges, index: shorter[at]})

    def _ladder(self, index: str) -> list[int]:
        """Edges of an index, falling: those of the list, and equal parts of the whole extent."""
        extent = max(self.extents[index], 1)
        equal = (-(-extent // parts) for parts in range(1, PARTS + 1))
        return sorted({edge for edge in EDGES if edge < extent} | {edge for edge in equal if edge <= EDGES[0]}, reverse=True)

    def _best_first(self) -> list[Tried]:
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
        least = settled(self.einsum, self.clipped(self._all(1)))
        if not found and (fault := unkept(least)):
            outer, inner = next(iter(too_many(least).items()))
            raise UserError(f"{fault}, and all are summed inside a function, so that they cannot be cut", self.einsum.text,
                            f"use a loop order with {outer} inside of {inner[0]}")
        if not found:
            uncut = "".join(f", with the whole of {index}, which is summed inside a function,"
                            for index in sorted(unsplit(self.root)))
            raise UserError(f"not even tiles of one element{uncut} fit {self.capacity} words", self.einsum.text,
                            "use an array with larger level buffers")
        return iter(found)

    def _all(self, edge: int) -> dict[str, int]:
        """One edge for all indices, but for those that need one coordinate a tile (`settled.py`)."""
        return {index: 1 if index in self._lone else edge for index in self.extents}

    @cached_property
    def _lone(self) -> set[str]:
        """The indices that need one coordinate a tile where no edge is 1."""
        found = with_lone(self.einsum, dict.fromkeys(self.extents, 2), unsplit(self.root))
        return {index for index, edge in found.items() if edge == 1}

    @property
    def _cut(self) -> set[str]:
        """The indices that can be cut."""
        return self.extents.keys() - unsplit(self.root)

    def _fits(self, edge: int) -> bool:
        try:
            return not self.whole(self._all(edge), SEARCH_ROWS)[0]
        except TooManyMatches:
            return True     # Perhaps. Where it matters, the items are listed, and refused.


def way_to_cut(edges: Mapping[str, int]) -> str:
    """What to try where other edges do: as the command line takes them, and Python does."""
    return f"use edges '{Schedule(edges=edges)}' (--schedule or schedule=)"


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
