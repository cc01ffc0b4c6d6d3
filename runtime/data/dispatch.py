"""Which copy of an unrolled program gets which sub-tile.

    order      in order, in turn: sub-tile k goes to copy k mod n
    sorted     in turn, those with the most nonzeros first, so that what is computed at a time is of about one size
    expected   those of the most expected cycles first, each to the copy that is expected to be the first to be free
    dynamic    those of the most expected cycles first, in turn among groups of copies that share links; in a group the first
               copy that is free takes the next

A program takes a sub-tile for each copy in a round, and a group as many as it has copies. The last rounds are filled up with
empty sub-tiles, whose results nobody reads.

Source:  Onyx JSSC VI-C for all but `expected`, which is list scheduling, longest processing time first.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...compiler.sparse.copies import Copies
from ...compiler.sparse.estimate import each_cycles
from ...compiler.sparse.normalize import normalize
from ...compiler.sparse.tiles import Tiling
from ...tensors.coordinates import Ints
from .sub_tiles import Work

ORDER, SORTED, EXPECTED, DYNAMIC = DISPATCH = ("order", "sorted", "expected", "dynamic")
# The number of an empty sub-tile.
FILL = -1
# The most words a cycle that links of copies should have to bring, so that none of them waits.
EASY = 0.5


@dataclass(frozen=True, eq=False)
class Deal:
    """Sub-tiles by the group of copies that they go to.

    Parameters
    ----------
    items, copies : tuple      Per group int64[rounds, copies of the group]: the number of a sub-tile, or `FILL`, and its copy.
                               Where the array chooses, the copy says its group only.
    cycles : float64[items]    Expected cycles of each sub-tile.
    loads : float64[copies]    Those of each copy.
    """

    items: tuple[Ints, ...]
    copies: tuple[Ints, ...]
    cycles: NDArray[np.float64]
    loads: NDArray[np.float64]

    @property
    def rounds(self) -> int:
        return max(map(len, self.items))


def balance(loads: NDArray[np.float64]) -> float:
    """What copies have to do on average, to what the busiest one has; 1 is even."""
    return float(loads.mean() / loads.max()) if loads.any() else 1.0


def groups_needed(work: Work, copies: int) -> int:
    """Groups of copies with which no link has to bring more than `EASY` words a cycle, as far as cycles are known."""
    return max(1, min(copies, math.ceil(copies * work.busiest / (EASY * max(1, work.cycles())))))


def deal(tiling: Tiling, copies: Copies, how: str) -> Deal:
    """Deal the sub-tiles of a tiling to copies."""
    assert how in DISPATCH, f"{how} is no way to deal"
    expected = each_cycles(normalize(tiling.einsum), tiling)
    sizes = expected if how in (EXPECTED, DYNAMIC) else _nonzeros(tiling) if how == SORTED else None
    order = np.arange(len(tiling)) if sizes is None else np.argsort(-sizes, kind="stable")
    chosen = _least_loaded(expected[order], copies.count) if how == EXPECTED else np.arange(len(order)) % copies.count
    loads = np.bincount(chosen, expected[order], copies.count)
    runs = [np.flatnonzero(np.isin(chosen, group)) for group in copies.groups]
    rounds = max(-(-len(run) // len(group)) for run, group in zip(runs, copies.groups, strict=True))
    filled = [_filled(chosen[run], group, rounds * len(group)) for run, group in zip(runs, copies.groups, strict=True)]
    items = [np.append(order[run], np.full(len(found) - len(run), FILL)) for run, found in zip(runs, filled, strict=True)]
    shapes = [(rounds, len(group)) for group in copies.groups]
    return Deal(tuple(each.reshape(shape) for each, shape in zip(items, shapes, strict=True)),
                tuple(each.reshape(shape) for each, shape in zip(filled, shapes, strict=True)), expected, loads)


def _nonzeros(tiling: Tiling) -> Ints:
    """Nonzeros of all operands of each sub-tile."""
    found: Ints = sum((tiles.nnz[tiling.picks[:, at]] for at, tiles in enumerate(tiling.tiles)),
                      np.zeros(len(tiling), np.int64))
    return found


def _least_loaded(cycles: NDArray[np.float64], copies: int) -> Ints:
    """The copy of each of some sub-tiles that come in turn: that which has the least to do until then."""
    heap = [(0.0, copy) for copy in range(copies)]
    found = np.zeros(len(cycles), np.int64)
    for at, more in enumerate(cycles.tolist()):
        load, found[at] = heap[0]
        heapq.heapreplace(heap, (load + more, int(found[at])))
    return found


def _filled(chosen: Ints, group: Sequence[int], length: int) -> Ints:
    """The copies of a group's sub-tiles and of the empty ones behind them, which go where the fewest are."""
    counts = [(int((chosen == copy).sum()), copy) for copy in group]
    heapq.heapify(counts)
    more = []
    for _ in range(length - len(chosen)):
        count, copy = counts[0]
        more.append(copy)
        heapq.heapreplace(counts, (count + 1, copy))
    return np.append(chosen, np.array(more, np.int64))
