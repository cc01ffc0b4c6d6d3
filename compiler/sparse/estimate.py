"""Cycles that work items should take: the tokens of their busiest stream, from the sizes of their tiles.

Every primitive moves one token a cycle and all work at once, so the longest stream sets the time. A level is
scanned once for every turn of the loops around it; its fibers are taken to be of average length.
Intersections are taken to keep all of the shorter side, unions to have nothing in common. Loading a level
takes a cycle a word and runs beside the work before it.

The product of `west2021` with its transpose, in tokens of the busiest streams, estimated and counted: in
tiles of 128, 2.43 and 2.82 million; of 64, 1.54 and 1.45; of 32, 0.95 and 0.92.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sardonyx.compiler.lang.einsum import Einsum

from .normalize import Node, Product, Sum, leaves, nested
from .tiles import Tiling

CHUNK = 1 << 18     # Items at once.
# Cycles of an accumulator for each value: to add it, and its share of the sum that leaves.
ACCUMULATION = 3


def cycles(root: Node, tiling: Tiling, item_cycles: int) -> float:
    """Estimated cycles of all items; `item_cycles` is what each costs besides its tokens."""
    return float(sum(part.sum() for part in _chunks(root, tiling))) + item_cycles * len(tiling)


def each_cycles(root: Node, tiling: Tiling, item_cycles: int) -> NDArray[np.float64]:
    """Estimated cycles of each item, as of `cycles`."""
    return np.concatenate([np.zeros(0), *_chunks(root, tiling)]) + item_cycles


def _chunks(root: Node, tiling: Tiling) -> Iterator[NDArray[np.float64]]:
    """Cycles of each item besides what all cost, for many items at once."""
    averages, words = [], []
    for tiles in tiling.tiles:
        above = np.column_stack((np.ones(len(tiles.counts), np.int64), tiles.counts))
        averages.append(np.concatenate((tiles.counts / np.maximum(above[:, :-1], 1), np.zeros((1, tiles.counts.shape[1])))))
        words.append(np.append(above.sum(axis=1), 0))      # No block is longer than all positions together.
    if tiling.einsum.accumulated:
        root, _ = nested(tiling.einsum)
    for begin in range(0, len(tiling), CHUNK):
        picks = tiling.picks[begin:begin + CHUNK]
        busiest = np.maximum.reduce([count[picks[:, at]] for at, count in enumerate(words)]).astype(np.float64)
        lengths = {(tiles.access.slot, index): averages[at][picks[:, at], level]
                   for at, tiles in enumerate(tiling.tiles) for level, index in enumerate(tiles.access.stored)}
        yield Estimate(lengths, tiling.edges, busiest).cycles(root, tiling.einsum)


@dataclass
class Estimate:
    """The estimate for all items at once; every number is an array with one entry per item.

    Parameters
    ----------
    lengths : dict    Per slot and index: the average length of that level's fibers, 0 for an absent tile.
    edges : dict      Per index: the most coordinates a fiber can have.
    busiest           Tokens of the longest stream so far.
    """

    lengths: Mapping[tuple[str, str], NDArray[np.float64]]
    edges: Mapping[str, int]
    busiest: NDArray[np.float64]

    def cycles(self, root: Node, einsum: Einsum) -> NDArray[np.float64]:
        """Cycles of every item."""
        turns = np.ones(len(self.busiest))
        for index in einsum.nest:
            turns = self._loop(root, index, turns)
        if einsum.accumulated:
            self.busiest = np.maximum(self.busiest, ACCUMULATION * turns)
        self._sums(root, turns)
        return self.busiest

    def _loop(self, part: Node, index: str, turns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Take a part through a loop that is entered `turns` times; how often its inside is."""
        joined = self._joined(part, index)
        assert joined is not None, "a loop spans a part that uses its index"
        for access in leaves(part):
            length = self.lengths.get((access.slot, index), joined)
            self.busiest = np.maximum(self.busiest, turns * (length + 1))
        return turns * joined

    def _joined(self, part: Node, index: str) -> NDArray[np.float64] | None:
        """The average number of coordinates a part has at a loop; None if it does not depend on the index."""
        if isinstance(part, Product):
            found = [self._joined(factor, index) for factor in part.factors]
            lengths = [length for length in found if length is not None]
            return np.minimum.reduce(lengths) if lengths else None
        if isinstance(part, Sum):
            found = [self._joined(term, index) for _, term in part.terms]
            lengths = [length for length in found if length is not None]
            return np.minimum(np.add.reduce(lengths), self.edges[index]) if lengths else None
        return self.lengths.get((part.slot, index))

    def _sums(self, part: Node, turns: NDArray[np.float64]) -> None:
        """Take the products inside a part through their own loops."""
        if isinstance(part, Product):
            inside = self._loop(part, part.contract, turns) if part.contract else turns
            for factor in part.factors:
                self._sums(factor, inside)
        elif isinstance(part, Sum):
            for _, term in part.terms:
                self._sums(term, turns)
