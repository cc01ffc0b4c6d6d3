"""Whether tiles and the results of items fit the level buffers, said as a sentence if not.

Operands are counted tile by tile. Results are counted on the structure of the operands, for those items only of which
bounds from single tiles (`meetings.py`) leave it open. What an accumulator has words for follows from the edges.

Cost:    linear in the nonzeros that items in doubt take and that meet there, at most `SEARCH_ROWS` where an edge is searched.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.compiler.lang.expr import Access
from sardonyx.hw.arch.buffer import accumulated
from sardonyx.tensors.coordinates import Ints
from sardonyx.tensors.joins import TooManyMatches

from .capacity import level_words, positions, structure
from .meetings import Meetings
from .normalize import Node
from .settled import unkept
from .tiles import Tiles, Tiling

COORDINATES = 1 << 16     # A coordinate is a 16-bit word.
CHUNK_ITEMS = 1 << 18     # Items that bounds are taken of at once,
CHUNK_ROWS = 1 << 18      # nonzeros that are looked at at once,
MEETINGS = 1 << 21        # and how often they may meet, if two full tiles cannot meet as often.
SEARCH_ROWS = 1 << 26     # Nonzeros that are looked at for one edge, if it is one of many that are tried.


def operands_overflow(tiles: tuple[Tiles, ...], edges: dict[str, int], capacity: int) -> str:
    """What of the operands does not fit; empty if everything does."""
    for index, edge in edges.items():
        if edge > COORDINATES:
            return f"coordinates of {index} reach {edge - 1} but a word holds at most {COORDINATES - 1}"
    for one in tiles:
        if fault := _too_long(one.all_counts, one.access, capacity):
            return fault
    return ""


def sums_overflow(einsum: Einsum, edges: Mapping[str, int], capacity: int) -> str:
    """What of the sums does not fit that are kept while an index around them is summed; empty if everything does."""
    if fault := unkept(einsum):
        return fault
    for summed, indices in (sums for each in einsum.every for sums in each.accumulated.items()):
        for index, most in zip(indices, accumulated(capacity, len(indices)), strict=True):
            if edges[index] > most:
                return (f"sums over {summed} are kept for each {' and '.join(indices)}, with {index} below {most}, "
                        f"but {index} reaches {edges[index] - 1} in a tile")
    return ""


def results_overflow(root: Node, tiling: Tiling, rows: int | None = None) -> str:
    """What of the results does not fit; empty if everything does. `rows`: more nonzeros than these are not looked at, and
    what is in doubt then counts as too long."""
    result, capacity = tiling.einsum.result, tiling.capacity
    # What dense levels take, and the segments below them, whatever the nonzeros.
    shape = [tiling.edges[index] for index in result.indices]
    nothing = positions(np.zeros(0, np.int64), np.zeros((0, len(shape)), np.int64), 1, result.format, shape)
    if fault := _too_long(nothing, result, capacity):
        return fault
    edges = [tiling.edges[index] for index in result.stored]
    if np.prod(edges, dtype=float) <= capacity and np.prod(edges[:-1], dtype=float) < capacity:
        return ""
    doubtful, most = _doubtful(root, tiling)
    ends = np.cumsum(sum(one.nnz[tiling.picks[doubtful, at]] for at, one in enumerate(tiling.tiles)))
    if rows is not None and len(doubtful) and ends[-1] > rows:
        return f"results may need up to {int(most[0])} words and {ends[-1]} nonzeros would have to be looked at to know"
    cuts = np.flatnonzero(np.diff(ends // CHUNK_ROWS)) + 1
    meetings = max(MEETINGS, 2 * capacity ** 2)
    waiting = np.split(doubtful, cuts)[::-1] if len(doubtful) else []
    while waiting:
        items = waiting.pop()
        try:
            counts = _result_counts(root, tiling, items, meetings)
        except TooManyMatches as many:
            if len(items) == 1:
                return f"nonzeros meet {many.count} times in an item of {result.tensor}, more than {meetings}"
            waiting += np.array_split(items, 2)[::-1]
            continue
        if fault := _too_long(counts, result, capacity):
            return fault
    return ""


def _doubtful(root: Node, tiling: Tiling) -> tuple[Ints, NDArray[np.float64]]:
    """The items whose results may be too long, those with the highest bounds first, and these bounds."""
    bounds, einsum = Meetings(tiling.tiles, tiling.edges), tiling.einsum
    # A nonzero takes a whole fiber of a dense level below it.
    below = [tiling.edges[index] for index in einsum.result.stored[einsum.result.format.rank - einsum.scattered:]]
    words = int(np.prod(below)) if len(below) < einsum.result.format.rank else 1
    found, most = [np.zeros(0, np.int64)], [np.zeros(0)]
    for begin in range(0, len(tiling), CHUNK_ITEMS):
        rows = words * bounds.most_rows(root, tiling.picks[begin:begin + CHUNK_ITEMS])
        # As many segments as entries and one more. The bound is of floats, the counts are whole.
        at = np.flatnonzero(rows > tiling.capacity - 0.5)
        found.append(begin + at)
        most.append(rows[at])
    items, rows = np.concatenate(found), np.concatenate(most)
    order = np.argsort(-rows, kind="stable")
    return items[order], rows[order]


def _result_counts(root: Node, tiling: Tiling, items: Ints, meetings: int) -> Ints:
    """Positions of each level of the results of some items."""
    result = tiling.einsum.result
    slots = [tiles.access.slot for tiles in tiling.tiles]
    entries = [(tiles.bounds, tiles.coords) for tiles in tiling.tiles]
    names, rows = structure(root, slots, tiling.picks[items], entries, meetings)
    coords = rows[:, [names.index(index) + 1 for index in result.indices]]
    return positions(rows[:, 0], coords, len(items), result.format, [tiling.edges[index] for index in result.indices])


def _too_long(counts: Ints, access: Access, capacity: int) -> str:
    words = level_words(counts, access.format).max(axis=0, initial=0)
    names = [*(f"level {index} of {access.tensor} needs" for index in access.stored),
             f"the values of {access.tensor} need"]
    for name, need in zip(names, words.tolist()):
        if need > capacity:
            return f"{name} {need} words but a MEM tile holds {capacity}"
    return ""
