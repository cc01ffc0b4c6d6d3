"""How many nonzeros the results of items can have at most, from counts of single tiles: what is below needs no closer look.

With b(k) and c(k) nonzeros of two tiles at k, sum_k b(k) c(k) pairs of them meet, which is at most
sqrt(sum_k b(k)^2) sqrt(sum_k c(k)^2): a number of each tile alone (Cauchy and Schwarz). Two tiles of 1000 random
nonzeros at 2000 places meet 500 times, and the bound says 1500; 1000 times 1000 would say a million.

A product with a part that is no operand has at most as many rows as that part, times the most nonzeros that the other
tile has at one place. No part has more rows than its tile has places, or than a factor that holds all its indices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sardonyx.tensors.coordinates import Rows, ordered, side_by_side, starts
from sardonyx.tensors.fibertree import DENSE

from .normalize import Node, Product, Sum, live
from .tiles import Tiles, Tiling

CHUNK = 1 << 18     # Items at once.

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Part:
    """A part of the expression: its indices, the most rows of every item, and the operand if it is one."""

    names: tuple[str, ...]
    rows: Floats
    operand: int | None = None


class Meetings:
    """Bounds for items on these tiles."""

    def __init__(self, tiles: Sequence[Tiles], edges: Mapping[str, int]) -> None:
        self.tiles, self.edges = tiles, edges
        self._known: dict[tuple[int, tuple[str, ...]], tuple[Floats, Floats]] = {}

    def most_rows(self, node: Node, picks: Rows) -> Floats:
        """The most nonzeros of a part, item by item."""
        return self._part(node, picks).rows

    def _part(self, node: Node, picks: Rows) -> Part:
        if isinstance(node, Sum):
            terms = [self._part(term, picks) for _, term in node.terms]
            total = np.add.reduce([term.rows for term in terms])
            return Part(terms[0].names, np.minimum(total, _places(terms[0].names, self.edges)))
        if not isinstance(node, Product):
            at = [one.access.slot for one in self.tiles].index(node.slot)
            return Part(node.indices, self.tiles[at].nnz[picks[:, at]].astype(np.float64), at)
        parts = [self._part(factor, picks) for factor in node.factors]
        found = parts[0]
        for part in parts[1:]:
            names = tuple(dict.fromkeys((*found.names, *part.names)))
            found = Part(names, np.minimum(self._pairs(found, part, picks), _places(names, self.edges)))
        kept = live(node)
        rows = np.minimum(found.rows, _places(kept, self.edges))
        for part in parts:
            if kept <= set(part.names):
                rows = np.minimum(rows, part.rows)
        return Part(tuple(name for name in found.names if name in kept), rows, found.operand if len(parts) == 1 else None)

    def _pairs(self, left: Part, right: Part, picks: Rows) -> Floats:
        """The most rows of two parts that meet."""
        common = [name for name in left.names if name in right.names]
        if left.operand is not None and right.operand is not None:
            squares = [self._crowds(at, common)[0][picks[:, at]] for at in (left.operand, right.operand)]
            return np.sqrt(squares[0]) * np.sqrt(squares[1])
        for part, other in ((left, right), (right, left)):
            if part.operand is not None:
                return other.rows * self._crowds(part.operand, common)[1][picks[:, part.operand]]
        return left.rows * right.rows

    def _crowds(self, operand: int, names: Sequence[str]) -> tuple[Floats, Floats]:
        """`_crowds` of an operand, once."""
        key = operand, tuple(names)
        if key not in self._known:
            self._known[key] = _crowds(self.tiles[operand], names)
        return self._known[key]


def most_words(root: Node, tiling: Tiling) -> dict[str, int]:
    """The most words that a block of each store stream can have: as by its shape, and by what can meet in any item."""
    return shape_words(tiling, max((int(rows.max(initial=0)) for rows in most_rows(root, tiling)), default=0))


def most_rows(root: Node, tiling: Tiling) -> Iterator[NDArray[np.int64]]:
    """The most nonzeros of the result, item by item, of many items at once."""
    bounds = Meetings(tiling.tiles, tiling.edges)
    for begin in range(0, len(tiling), CHUNK):
        # The bound is of floats, the counts are whole.
        yield (bounds.most_rows(root, tiling.picks[begin:begin + CHUNK]) + 0.5).astype(np.int64)


def shape_words(tiling: Tiling, rows: int | None = None) -> dict[str, int]:
    """The most words that a block of each store stream can have: its lengths, and as many segments, coordinates and values as
    the shape of the result's tiles and a half of a level buffer allow; rows: most nonzeros, if that is known. The outermost
    level has no segments."""
    result, half = tiling.einsum.result, tiling.capacity
    # Dense levels have places without nonzeros.
    limit = half if rows is None or DENSE in result.format.letters else min(half, rows)
    fibers, most = 1, dict[str, int]()
    for level, index in enumerate(result.stored):
        entries = min(fibers * tiling.edges[index], limit)
        if not result.format.is_dense(level):
            most[f"{result.slot}{level}"] = 1 + entries + (1 + min(fibers + 1, half) if level else 0)
        fibers = entries
    return most | {f"{result.slot}_vals": 1 + fibers}


def _crowds(tiles: Tiles, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Of each tile, and at last of an absent one: the nonzeros at every place of some indices, squared and summed; and the
    most at one of them."""
    columns = [tiles.coords[:, tiles.access.indices.index(name)] for name in names]
    owners = np.repeat(np.arange(len(tiles.ids)), np.diff(tiles.bounds))
    rows = ordered(side_by_side(owners, *columns))
    first = np.flatnonzero(starts(rows))
    crowds = np.diff(np.append(first, len(rows))).astype(np.float64)
    owners = rows[first, 0]
    squares = np.bincount(owners, crowds ** 2, len(tiles.ids))
    largest = np.maximum.reduceat(crowds, np.flatnonzero(starts(owners[:, None]))) if len(crowds) else crowds
    return np.append(squares, 0), np.append(largest, 0)


def _places(names: Sequence[str] | frozenset[str], edges: Mapping[str, int]) -> float:
    return float(np.prod([edges[name] for name in names], dtype=float))
