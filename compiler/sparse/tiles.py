"""Operands cut into tiles, and the list of the work on them.

Every index variable has an edge; a tile holds the coordinates of one multiple of it, counted from the tile's
corner. Only tiles with nonzeros exist. The program is run once per work item, and the results that belong to
the same output tile are added (`combine`).

Cost:    a tensor of 10^6 nonzeros is cut in 0.5 s and stands as 25 bytes a nonzero and mode; an item is 4 bytes
         for each operand and each index of the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sardonyx.compiler.lang.einsum import Einsum, with_sizes
from sardonyx.compiler.lang.expr import Access, Expr
from sardonyx.compiler.lang.terms import with_value
from sardonyx.tensors.coordinates import Coo, Ints, Rows, is_sorted, pack, sort_rows, starts

from .capacity import positions
from .normalize import Node
from .pairing import ABSENT, Items, pair

MERGED = 1 << 18    # Nonzeros of results below which they are not added up before the end.


class Cut(NamedTuple):
    """How a tensor is cut.

    ids : int64[n, rank]    Tile coordinates.
    edges : int64[rank]     Of a tile.
    modes : tuple           Those of the tensor that the program has.
    """

    ids: Ints
    edges: Ints
    modes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Tiles:
    """The nonempty tiles of one operand.

    Parameters
    ----------
    access : Access         The operand's slot, indices and format.
    edges : tuple           Per mode: the shape of every tile.
    ids : int64[n, rank]    Tile coordinates, sorted.
    bounds : int64[n+1]     Tile t holds nonzeros bounds[t] to bounds[t+1].
    coords, values          The nonzeros, by tile; coordinates count from the tile's corner.
    counts : int64[n, rank] Positions of each stored level of each tile.
    tensor : Cut            Of the whole tensor, where the program leaves out modes of it (`narrow.py`).
    """

    access: Access
    edges: tuple[int, ...]
    ids: Ints
    bounds: Ints
    coords: Ints
    values: Ints
    counts: Ints
    tensor: Cut | None = None

    @property
    def whole(self) -> Cut:
        """How the whole tensor is cut."""
        return self.tensor or Cut(self.ids, np.array(self.edges, np.int64), tuple(range(len(self.edges))))

    @property
    def nnz(self) -> Ints:
        """Nonzeros of each tile, and at last of an absent one: its number is -1."""
        return np.append(np.diff(self.bounds), 0)

    @property
    def all_counts(self) -> Ints:
        """Positions of each tile, and at last of an absent one: dense levels make it as long as any."""
        nothing = np.zeros(0, np.int64), np.zeros((0, len(self.edges)), np.int64)
        return np.concatenate((self.counts, positions(*nothing, 1, self.access.format, self.edges)))

    def places(self, index: str, extent: int) -> Ints:
        """Coordinates of an index inside the tensor, of this extent, that each tile has: fewer at the far end. At last of an
        absent one."""
        mode = self.access.indices.index(index)
        return np.append(np.minimum(self.edges[mode], extent - self.ids[:, mode] * self.edges[mode]), self.edges[mode])

    def tile(self, number: int) -> Coo:
        """A tile; for ABSENT one without nonzeros. All have one shape, also at the far end of the tensor."""
        if number == ABSENT:
            return Coo.empty(self.edges)
        run = slice(self.bounds[number], self.bounds[number + 1])
        return Coo(self.edges, self.coords[run], self.values[run].astype(np.int16))


@dataclass(frozen=True, eq=False)
class Tiling:
    """A program's work on tiles.

    Parameters
    ----------
    einsum : Einsum                   What the program computes of each item.
    shape : tuple                     Of the whole result.
    edges : dict                      Per index variable.
    tiles : tuple                     Per operand slot, in the order of the statement.
    picks : int32[items, slots]       The tile each item takes of each operand, or ABSENT.
    outputs : int32[items, rank]      The result tile each item adds to; items of one stand together.
    capacity : int                    Words of one half of a level buffer, in which everything fits.
    extents : dict                    Per index variable: of the whole operands.
    after : Expr                      What the host makes of every value of the result once its items are added, if anything,
                                      in terms of the result.
    statement : Einsum                What items are parts of, where their program leaves out indices of it (`narrow.py`).
    """

    einsum: Einsum
    shape: tuple[int, ...]
    edges: Mapping[str, int]
    tiles: tuple[Tiles, ...]
    picks: Rows
    outputs: Rows
    capacity: int
    extents: Mapping[str, int]
    after: Expr | None = None
    statement: Einsum | None = None

    def __len__(self) -> int:
        return len(self.picks)

    @property
    def whole(self) -> Einsum:
        """The statement whose parts items are, with all its indices."""
        return self.statement or self.einsum

    def operands(self, item: int) -> dict[str, Coo]:
        """The tiles of an item, by slot; their shapes agree."""
        return {tiles.access.slot: tiles.tile(pick)
                for tiles, pick in zip(self.tiles, self.picks[item].tolist())}

    def result_shape(self, item: int) -> tuple[int, ...]:
        """The shape of what an item gives: less than a tile at the far end."""
        whole = zip(self.whole.result.indices, self.shape, self.outputs[item].tolist(), strict=True)
        return tuple(min(self.edges[index], extent - at * self.edges[index]) for index, extent, at in whole
                     if index in self.einsum.result.indices)

    def combine(self, results: Iterable[Coo]) -> Coo:
        """The whole result from those of all items, in order. Sums wrap."""
        total = Total(self)
        for result in results:
            total.add(result)
        return total.whole()


class Total:
    """The whole result while those of items come in, in order.

    What is there is added up whenever it has become twice as much, so that not much more than the result is held.
    """

    def __init__(self, tiling: Tiling) -> None:
        self.tiling = tiling
        indices = tiling.whole.result.indices
        self._edges = np.array([tiling.edges[index] for index in indices], np.int64)
        # The modes that items have; of all others a tile has one coordinate.
        self._modes = [mode for mode, index in enumerate(indices) if index in tiling.einsum.result.indices]
        self._items = 0
        self._parts = [Coo.empty(tiling.shape)]
        self._merged, self._more = 0, 0

    def add(self, result: Coo) -> None:
        """Take the result of the next item."""
        self.add_items(Coo((1, *result.shape), np.insert(result.coords, 0, 0, axis=1), result.values))

    def add_items(self, results: Coo) -> None:
        """Take those of the next items: one tensor, whose outermost index is the item."""
        coords = self.tiling.outputs[self._items + results.coords[:, 0]] * self._edges
        coords[:, self._modes] += results.coords[:, 1:]
        self._items += results.shape[0]
        self._parts.append(Coo(self.tiling.shape, coords, results.values))
        self._more += results.nnz
        if self._more > max(self._merged, MERGED):
            self._parts = [self._sum()]
            self._merged, self._more = self._parts[0].nnz, 0

    def whole(self) -> Coo:
        """The whole result, when all have come."""
        assert self._items == len(self.tiling), f"{self._items} of {len(self.tiling)} items gave a result"
        return _applied(self.tiling.after, self._sum())

    def _sum(self) -> Coo:
        return Coo.make(self.tiling.shape, np.concatenate([part.coords for part in self._parts]),
                        np.concatenate([part.values for part in self._parts]))


def _applied(after: Expr | None, tensor: Coo) -> Coo:
    """What is made of the values of a tensor; zeros give 0."""
    if after is None:
        return tensor
    values, which = np.unique(tensor.values, return_inverse=True)
    made = np.array([with_value(after, value) for value in values.tolist()], np.int64)
    return Coo.make(tensor.shape, tensor.coords, made[which])


def cut(einsum: Einsum, operands: Mapping[str, Coo], extents: Mapping[str, int], edges: Mapping[str, int]
        ) -> tuple[dict[str, int], tuple[Tiles, ...]]:
    """The edges, not longer than what they cut, and the tiles of every operand slot."""
    edges = {index: min(edge, max(extents[index], 1)) for index, edge in edges.items()}
    return edges, tuple(cut_one(access, operands[access.tensor].diagonal(access.modes), edges) for access in einsum.operands)


def meet(einsum: Einsum, root: Node, extents: Mapping[str, int], edges: Mapping[str, int], tiles: tuple[Tiles, ...],
         capacity: int, most: int) -> Tiling:
    """Pair the tiles. Raises TooManyMatches for more than `most` items."""
    result = einsum.result
    items = pair(root, [one.access.slot for one in tiles], [one.ids for one in tiles], most)
    work = Items(result.indices, items.only(result.indices), items.picks).ordered()
    shape = tuple(extents[index] for index in result.indices)
    return Tiling(with_sizes(einsum, edges), shape, edges, tiles, work.picks, work.keys, capacity, dict(extents))


def cut_one(access: Access, tensor: Coo, edges: Mapping[str, int]) -> Tiles:
    """Sort the nonzeros of an operand into tiles."""
    lengths = tuple(edges[index] for index in access.indices)
    # Column by column: a division by one number takes a fifth of one by many, and rows are gathered slowly.
    rows = np.empty((2 * tensor.rank, tensor.nnz), np.int64).T
    for mode, edge in enumerate(lengths):
        rows[:, mode] = tensor.coords[:, mode] // edge
        rows[:, tensor.rank + mode] = tensor.coords[:, mode] - rows[:, mode] * edge
    values, packed = tensor.values, pack(rows)
    if packed is None or not is_sorted(packed):
        order = sort_rows(rows) if packed is None else np.argsort(packed)
        values = values[order]
        for column in rows.T:
            column[:] = column[order]
    ids, coords = rows[:, :tensor.rank], np.ascontiguousarray(rows[:, tensor.rank:])
    begins = starts(ids)
    first = np.flatnonzero(begins).astype(np.int64)
    counts = positions(np.cumsum(begins) - 1, coords, len(first), access.format, lengths)
    return Tiles(access, lengths, np.ascontiguousarray(ids[first]), np.append(first, len(ids)), coords, values.astype(np.int64),
                 counts)
