"""Cut operands into sub-tiles in coordinate space, so that each fits the level buffers, and list the work.

Where no edge is given, one edge is used for all indices: of 65536, 49152, 32768, 24576, ..., 3, 2, 1, the one
with the least estimated cycles (`estimate.py`) among those with which every level of every tile, and of every
item's result, fits. Large tiles mean few items; small ones leave out more of the pairs of fibers that have
nothing in common. An edge that makes more than `MOST_ITEMS` items is none of them, which is known from counts
before an item is made.

A function has to see whole sums, so an index that is summed inside one is not cut. Where its whole extent does not fit, or
the user cuts it, a function of the result is left to the host, which applies it where the results of items are added.

Errors:  UserError for an edge that the user chose and that does not fit, and where all edges make too many items.
Cost:    choosing the edge for the product of a 2021 x 2021 matrix with 7310 nonzeros with itself takes 0.1 s.
Source:  Onyx JSSC IV-B (tiles of the operands, empty ones skipped); Onyx itself takes edges by hand.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sardonyx.compiler.lang.einsum import Einsum, peeled
from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.joins import TooManyMatches

from .estimate import cycles
from .normalize import Node, normalize, unsplit
from .overflow import SEARCH_ROWS, operands_overflow, results_overflow, sums_overflow
from .tiles import Tiles, Tiling, cut, meet

EDGES = (*(edge for power in range(16, 1, -1) for edge in (1 << power, 3 << (power - 2))), 2, 1)
# What an item costs besides its tokens: filling and draining the pipeline, and adding its result in the host.
ITEM_CYCLES = 100
PATIENCE = 4     # Edges in a row that make it worse, after which smaller ones are not tried.
MOST_ITEMS = 25_000_000
ITEM_BYTES = 80     # What the host needs for an item while items are listed.


def tile(einsum: Einsum, operands: Mapping[str, Coo], capacity: int,
         edges: int | Mapping[str, int] | None = None, item_cycles: int = ITEM_CYCLES) -> Tiling:
    """Cut operands (by tensor name) into tiles that fit.

    Parameters
    ----------
    capacity : int      Words of one half of a level buffer: segments, coordinates or values; also of the sums of an
                        accumulator.
    edges : int         For every index, or a dict per index (whole extents for those left out); else chosen.
    item_cycles : int   What an item costs besides its tokens, for choosing the edge.
    """
    extents = einsum.extents({name: tensor.shape for name, tensor in operands.items()})

    def search(program: Einsum) -> Tiling:
        found = _Search(program, normalize(program), operands, extents, capacity)
        return found.chosen(item_cycles) if edges is None else found.given(edges)

    inner, after = peeled(einsum)
    if unsplit(normalize(inner)) == unsplit(normalize(einsum)):
        return search(einsum)
    try:
        return search(einsum)
    except UserError as refused:
        try:
            return replace(search(inner), after=after)
        except UserError:
            raise refused from None


@dataclass(frozen=True)
class _Search:
    """What is the same with every edge."""

    einsum: Einsum
    root: Node
    operands: Mapping[str, Coo]
    extents: Mapping[str, int]
    capacity: int

    def given(self, edges: int | Mapping[str, int]) -> Tiling:
        """With the user's edges."""
        named = _checked(self.einsum, self.extents, edges)
        if not isinstance(edges, int):
            for index in sorted(unsplit(self.root)):
                if named[index] < self.extents[index]:
                    raise UserError(f"index {index} is summed inside a function, so that it cannot be cut", self.einsum.text,
                                    f"give no tile edge for {index}")
        whole, tiles = self._cut(named)
        fault = operands_overflow(tiles, whole, self.capacity) or sums_overflow(self.einsum, whole, self.capacity)
        if not fault:
            try:
                tiling = self._meet(whole, tiles)
            except TooManyMatches as many:
                raise UserError(_too_many(whole, many.count), self.einsum.text,
                                "use larger tiles, or give no edge to have it chosen") from None
            fault = results_overflow(self.root, tiling)
            if not fault:
                return tiling
        largest = next(self._fitting())
        if isinstance(edges, int):
            fix = f"use a tile edge of {largest} or less"
        else:
            cut = named.keys() - unsplit(self.root)
            fix = f"use tile={ {index: min(edge, largest) for index, edge in named.items() if index in cut} }"
        raise UserError(fault, self.einsum.text, f"{fix}, or none to have it chosen")

    def chosen(self, item_cycles: int) -> Tiling:
        """With the edge of the least estimated cycles."""
        best: Tiling | None = None
        least, worse = float("inf"), 0
        for edge in self._fitting():
            whole, tiles = self._cut(dict.fromkeys(self.extents, edge))
            try:
                tiling = self._meet(whole, tiles)
            except TooManyMatches as many:
                if best is None:
                    raise UserError(f"{_too_many(whole, many.count)}; these are the largest tiles that fit", self.einsum.text,
                                    "compute the result in parts, or use an array with larger level buffers") from None
                break
            expected = cycles(self.root, tiling, item_cycles)
            worse = 0 if expected < least else worse + 1
            if expected < least:
                best, least = tiling, expected
            if worse == PATIENCE:
                break
        assert best is not None, "some edge fits, and its cycles are finite"
        return best

    def _fitting(self) -> Iterator[int]:
        """The edges of the list with which everything fits, falling."""
        longest = max(self.extents.values(), default=1)
        larger = [edge for edge in EDGES if edge >= longest]
        candidates = [*larger[-1:], *(edge for edge in EDGES if edge < longest)]
        # Larger tiles hold more, so what fits is an end of the list.
        found = candidates[bisect_left(candidates, True, key=self._fits):]
        if not found:
            uncut = "".join(f", with the whole of {index}, which is summed inside a function,"
                            for index in sorted(unsplit(self.root)))
            raise UserError(f"not even tiles of one element{uncut} fit {self.capacity} words", self.einsum.text,
                            "use an array with larger level buffers")
        return iter(found)

    def _fits(self, edge: int) -> bool:
        whole, tiles = self._cut(dict.fromkeys(self.extents, edge))
        if operands_overflow(tiles, whole, self.capacity) or sums_overflow(self.einsum, whole, self.capacity):
            return False
        try:
            return not results_overflow(self.root, self._meet(whole, tiles), SEARCH_ROWS)
        except TooManyMatches:
            return True     # Perhaps. Where it matters, the items are listed, and refused.

    def _cut(self, edges: Mapping[str, int]) -> tuple[dict[str, int], tuple[Tiles, ...]]:
        uncut = {index: self.extents[index] for index in unsplit(self.root)}
        return cut(self.einsum, self.operands, self.extents, {**edges, **uncut})

    def _meet(self, edges: Mapping[str, int], tiles: tuple[Tiles, ...]) -> Tiling:
        return meet(self.einsum, self.root, self.extents, edges, tiles, self.capacity, MOST_ITEMS)


def _too_many(edges: Mapping[str, int], count: int) -> str:
    """What so many items would need."""
    return (f"tiles of {', '.join(f'{index} {edge}' for index, edge in edges.items())} make {count:,} sub-tiles of work, "
            f"more than {MOST_ITEMS:,}: {count * ITEM_BYTES / 1e9:,.1f} GB in the host and more than "
            f"{count * ITEM_CYCLES:,} cycles")


def _checked(einsum: Einsum, extents: Mapping[str, int], edges: int | Mapping[str, int]) -> dict[str, int]:
    """The user's edges per index, checked."""
    named = dict.fromkeys(extents, edges) if isinstance(edges, int) else dict(edges)
    for index, edge in named.items():
        if index not in extents:
            raise UserError(f"there is a tile edge for {index} but no such index", einsum.text,
                            f"name one of {', '.join(extents)}")
        if edge < 1:
            raise UserError(f"the tile edge of {index} is {edge}", einsum.text, "use 1 or more")
    return {index: named.get(index, extent) for index, extent in extents.items()}
