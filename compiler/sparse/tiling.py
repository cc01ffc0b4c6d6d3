"""Cut operands into sub-tiles in coordinate space, so that each fits the level buffers, and list the work.

Every index variable has an edge; a tile holds the coordinates of one multiple of it, counted from the tile's
corner. Only tiles with nonzeros exist. The program is run once per work item, and the results that belong to
the same output tile are added (`combine`).

Where no edge is given, one edge is used for all indices: of 65536, 49152, 32768, 24576, ..., 3, 2, 1, the one
with the least estimated cycles (`estimate.py`) among those with which every level of every tile, and of every
item's result, fits. Large tiles mean few items; small ones leave out more of the pairs of fibers that have
nothing in common.

Errors:  UserError for an edge that the user chose and that does not fit.
Cost:    choosing the edge for the product of a 2021 x 2021 matrix with 7310 nonzeros with itself takes 0.1 s.
Source:  Onyx JSSC IV-B (tiles of the operands, empty ones skipped); Onyx itself takes edges by hand.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.compiler.lang.expr import Access
from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors.coordinates import Coo, Ints, sort_rows, starts

from .capacity import level_words, positions, structure
from .estimate import Estimate
from .normalize import Node, normalize
from .pairing import ABSENT, Items, pair

COORDINATES = 1 << 16     # A coordinate is a 16-bit word.
EDGES = (*(edge for power in range(16, 1, -1) for edge in (1 << power, 3 << (power - 2))), 2, 1)
# What an item costs besides its tokens: filling and draining the pipeline, and adding its result in the host.
ITEM_CYCLES = 100
PATIENCE = 4     # Edges in a row that make it worse, after which smaller ones are not tried.


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
    """

    access: Access
    edges: tuple[int, ...]
    ids: Ints
    bounds: Ints
    coords: Ints
    values: Ints
    counts: Ints

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
    einsum : Einsum
    shape : tuple                     Of the whole result.
    edges : dict                      Per index variable.
    tiles : tuple                     Per operand slot, in the order of the statement.
    picks : int64[items, slots]       The tile each item takes of each operand, or ABSENT.
    outputs : int64[items, rank]      The result tile each item adds to; items of one stand together.
    capacity : int                    Words of one half of a level buffer, in which everything fits.
    """

    einsum: Einsum
    shape: tuple[int, ...]
    edges: Mapping[str, int]
    tiles: tuple[Tiles, ...]
    picks: Ints
    outputs: Ints
    capacity: int

    def __len__(self) -> int:
        return len(self.picks)

    def operands(self, item: int) -> dict[str, Coo]:
        """The tiles of an item, by slot; their shapes agree."""
        return {tiles.access.slot: tiles.tile(pick)
                for tiles, pick in zip(self.tiles, self.picks[item].tolist())}

    def result_shape(self, item: int) -> tuple[int, ...]:
        """The shape of the part of the whole result that an item adds to: less than a tile at the far end."""
        edges = [self.edges[index] for index in self.einsum.result.indices]
        return tuple(min(edge, extent - at * edge) for edge, extent, at in
                     zip(edges, self.shape, self.outputs[item].tolist()))

    def combine(self, results: Iterable[Coo]) -> Coo:
        """The whole result from those of all items, in order. Sums wrap."""
        edges = np.array([self.edges[index] for index in self.einsum.result.indices], np.int64)
        coords, values = [np.zeros((0, len(edges)), np.int64)], [np.zeros(0, np.int64)]
        for output, result in zip(self.outputs, results, strict=True):
            coords.append(result.coords + output * edges)
            values.append(result.values.astype(np.int64))
        return Coo.make(self.shape, np.concatenate(coords), np.concatenate(values))


def tile(einsum: Einsum, operands: Mapping[str, Coo], capacity: int,
         edges: int | Mapping[str, int] | None = None, item_cycles: int = ITEM_CYCLES) -> Tiling:
    """Cut operands (by tensor name) into tiles that fit.

    Parameters
    ----------
    capacity : int      Words of one half of a level buffer: segments, coordinates or values.
    edges : int         For every index, or a dict per index (whole extents for those left out); else chosen.
    item_cycles : int   What an item costs besides its tokens, for choosing the edge.
    """
    extents = einsum.extents({name: tensor.shape for name, tensor in operands.items()})
    root = normalize(einsum)
    if edges is not None:
        tiling = _cut(einsum, root, operands, extents, _given(einsum, extents, edges), capacity)
        fault = _overflow(root, tiling, capacity)
        if fault:
            largest = _edges_that_fit(einsum, root, operands, extents, capacity)[0]
            raise UserError(fault, einsum.text,
                            f"use a tile edge of {largest} or less, or none to have it chosen")
        return tiling
    best: Tiling | None = None
    least, worse = float("inf"), 0
    for edge in _edges_that_fit(einsum, root, operands, extents, capacity):
        tiling = _cut(einsum, root, operands, extents, dict.fromkeys(extents, edge), capacity)
        expected = cycles(root, tiling, item_cycles)
        worse = 0 if expected < least else worse + 1
        if expected < least:
            best, least = tiling, expected
        if worse == PATIENCE:
            break
    assert best is not None, "some edge fits, and its cycles are finite"
    return best


def _edges_that_fit(einsum: Einsum, root: Node, operands: Mapping[str, Coo], extents: dict[str, int],
                    capacity: int
                    ) -> list[int]:
    """The edges of the list with which everything fits, falling."""
    longest = max(extents.values(), default=1)
    larger = [edge for edge in EDGES if edge >= longest]
    candidates = [*larger[-1:], *(edge for edge in EDGES if edge < longest)]

    def fits(edge: int) -> bool:
        return not _overflow(root, _cut(einsum, root, operands, extents, dict.fromkeys(extents, edge), capacity), capacity)

    # Larger tiles hold more, so what fits is an end of the list.
    found = candidates[bisect_left(candidates, True, key=fits):]
    if not found:
        raise UserError(f"not even tiles of one element fit {capacity} words", einsum.text,
                        "use an array with larger level buffers")
    return found


def cycles(root: Node, tiling: Tiling, item_cycles: int) -> float:
    """Estimated cycles of all items."""
    busiest = np.zeros(len(tiling))
    lengths = {}
    for tiles, picks in zip(tiling.tiles, tiling.picks.T):
        above = np.column_stack((np.ones(len(tiles.counts), np.int64), tiles.counts))
        average = np.concatenate((tiles.counts / np.maximum(above[:, :-1], 1),
                                  np.zeros((1, tiles.counts.shape[1]))))
        for level, index in enumerate(tiles.access.stored):
            lengths[tiles.access.slot, index] = average[picks, level]
        words = np.append(above.sum(axis=1), 0)      # No block is longer than all positions together.
        busiest = np.maximum(busiest, words[picks])
    estimate = Estimate(lengths, tiling.edges, busiest).cycles(root, tiling.einsum.result.stored)
    return float(estimate.sum()) + item_cycles * len(tiling)


def _given(einsum: Einsum, extents: dict[str, int], edges: int | Mapping[str, int]) -> dict[str, int]:
    """The user's edges per index, checked."""
    named = dict.fromkeys(extents, edges) if isinstance(edges, int) else dict(edges)
    for index, edge in named.items():
        if index not in extents:
            raise UserError(f"there is a tile edge for {index} but no such index", einsum.text,
                            f"name one of {', '.join(extents)}")
        if edge < 1:
            raise UserError(f"the tile edge of {index} is {edge}", einsum.text, "use 1 or more")
    return {index: named.get(index, extent) for index, extent in extents.items()}


def _cut(einsum: Einsum, root: Node, operands: Mapping[str, Coo], extents: dict[str, int],
         edges: dict[str, int], capacity: int) -> Tiling:
    """Cut with these edges and pair the tiles."""
    edges = {index: min(edge, max(extents[index], 1)) for index, edge in edges.items()}
    tiles = tuple(_tiles(access, operands[access.tensor], edges) for access in einsum.operands)
    slots = [access.slot for access in einsum.operands]
    items = pair(root, slots, [one.ids for one in tiles])
    result = einsum.result
    work = Items(result.indices, items.only(result.indices), items.picks).ordered()
    shape = tuple(extents[index] for index in result.indices)
    return Tiling(einsum, shape, edges, tiles, work.picks, work.keys, capacity)


def _tiles(access: Access, tensor: Coo, edges: Mapping[str, int]) -> Tiles:
    """Sort the nonzeros of an operand into tiles."""
    lengths = tuple(edges[index] for index in access.indices)
    divisor = np.array(lengths, np.int64)
    ids = tensor.coords // divisor
    rows = np.concatenate((ids, tensor.coords - ids * divisor), axis=1)
    order = sort_rows(rows)
    ids = ids[order]
    begins = starts(ids)
    first = np.flatnonzero(begins).astype(np.int64)
    coords = rows[order, tensor.rank:]
    counts = positions(np.cumsum(begins) - 1, coords, len(first), access.format, lengths)
    return Tiles(access, lengths, ids[first], np.append(first, len(ids)), coords,
                 tensor.values[order].astype(np.int64), counts)


def _overflow(root: Node, tiling: Tiling, capacity: int) -> str:
    """What does not fit, as a sentence; empty if everything does."""
    for index, edge in tiling.edges.items():
        if edge > COORDINATES:
            return f"coordinates of {index} reach {edge - 1} but a word holds at most {COORDINATES - 1}"
    for tiles in tiling.tiles:
        # A tile without nonzeros counts too: dense levels make it as long as any.
        nothing = np.zeros(0, np.int64), np.zeros((0, len(tiles.edges)), np.int64)
        absent = positions(*nothing, 1, tiles.access.format, tiles.edges)
        counts = np.concatenate((tiles.counts, absent))
        fault = _too_long(counts, tiles.access, capacity)
        if fault:
            return fault
    return _result_overflow(root, tiling, capacity)


def _result_overflow(root: Node, tiling: Tiling, capacity: int) -> str:
    """The same for the results of the items."""
    result = tiling.einsum.result
    edges = [tiling.edges[index] for index in result.stored]
    if np.prod(edges, dtype=float) <= capacity and np.prod(edges[:-1], dtype=float) < capacity:
        return ""
    slots = [tiles.access.slot for tiles in tiling.tiles]
    entries = [(tiles.bounds, tiles.coords) for tiles in tiling.tiles]
    names, rows = structure(root, slots, tiling.picks, entries)
    coords = rows[:, [names.index(index) + 1 for index in result.indices]]
    counts = positions(rows[:, 0], coords, len(tiling), result.format, edges)
    return _too_long(counts, result, capacity)


def _too_long(counts: Ints, access: Access, capacity: int) -> str:
    words = level_words(counts, access.format).max(axis=0, initial=0)
    names = [*(f"level {index} of {access.tensor} needs" for index in access.stored),
             f"the values of {access.tensor} need"]
    for name, need in zip(names, words.tolist()):
        if need > capacity:
            return f"{name} {need} words but a MEM tile holds {capacity}"
    return ""
