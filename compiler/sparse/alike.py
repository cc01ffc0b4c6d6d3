"""How much more two operands have in common than if their coordinates were anywhere: bands, blocks, a matrix and its powers.

Of fibers with a and b coordinates out of n, a b / n are expected in both. What is counted instead, over all pairs of tiles
that meet, is how many coordinates of a level belong to both of two fibers that belong to both; the ratio of the two says how
alike the operands are at that level. A sum of a band with itself has a ratio of n / a: all is in common.

Fibers that are scanned more often than others may be longer, too: a hub has a full row and a full column, and in a product of
the matrix with itself each entry of the column takes the row. `longer` counts by how much.

Only levels whose indices, from the outermost on, are the same in both operands are counted: a row of one and a column of the
other meet in every combination, and over these the average is what is expected.

Cost:    a sort of the nonzeros for each level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from sardonyx.tensors.coordinates import Ints, ordered, side_by_side, starts
from sardonyx.tensors.joins import keys

from .tiles import Tiles


class Ratios:
    """The ratios of every two operands of a tiling, each counted when it is asked for."""

    def __init__(self, tiles: Sequence[Tiles], extents: Mapping[str, int]) -> None:
        self._tiles, self._extents = {each.access.slot: each for each in tiles}, extents
        self._known: dict[tuple[str, str], dict[str, float]] = {}
        self._longer: dict[tuple[str, str, str], float] = {}

    def ratio(self, slot: str, other: str, index: str) -> float:
        """How alike two operands are at an index; 1 where that is not known, as of what is computed."""
        if slot not in self._tiles or other not in self._tiles:
            return 1.0
        if (slot, other) not in self._known:
            self._known[slot, other] = alike(self._tiles[slot], self._tiles[other], self._extents)
        return self._known[slot, other].get(index, 1.0)

    def longer(self, slot: str, other: str, index: str) -> float:
        """How many times longer than the average the fibers of an operand below an index are, if each is scanned once for every
        entry that another operand has at its coordinate."""
        if slot not in self._tiles or other not in self._tiles:
            return 1.0
        key = slot, other, index
        if key not in self._longer:
            self._longer[key] = longer(self._tiles[slot], self._tiles[other], index)
        return self._longer[key]


def alike(one: Tiles, other: Tiles, extents: Mapping[str, int]) -> dict[str, float]:
    """By index of a level that begins alike in both: the ratio; 1 where a level is dense, as nothing is left to chance there.
    extents: of the whole operands, by index."""
    same = [index for index, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one.access.stored, other.access.stored))]
    shared = [index for index in one.access.indices if index in other.access.indices]
    left, right = keys(*(tiles.ids[:, [tiles.access.indices.index(index) for index in shared]] for tiles in (one, other)))
    numbers, at = np.unique(np.concatenate((left, right)), return_inverse=True)
    where, where_other = at[:len(left)], at[len(left):]

    @cache
    def theirs(level: int) -> NDArray[np.float64]:
        its = other.counts[:, level - 1] if level else np.ones(len(other.counts))
        return np.bincount(where_other, its, len(numbers))

    @cache
    def meeting(level: int, of: str = "") -> float:
        """Entries of both above a level in every two tiles that meet, multiplied, and divided by the places of an index."""
        mine = one.counts[:, level - 1] if level else np.ones(len(one.counts))
        mine = mine / one.places(of, extents[of])[:-1] if of else mine
        return float(np.bincount(where, mine, len(numbers)) @ theirs(level))

    found: dict[str, float] = {}
    common = meeting(0)
    for level, index in enumerate(same, 1):
        # Of what is in both at the level above, as much as entries to places.
        likely = common * meeting(level, index) / max(meeting(level - 1), 1.0)
        common = _meetings(one, other, shared, same[:level])
        dense = one.access.format.is_dense(level - 1) or other.access.format.is_dense(level - 1)
        found[index] = common / likely if likely and not dense else 1.0
    return found


def longer(one: Tiles, other: Tiles, index: str) -> float:
    """The ratio of `Ratios.longer`, over all tiles that meet."""
    level = one.access.stored.index(index)
    shared = [each for each in one.access.indices if each in other.access.indices]
    above, below = (_owned(one, one.access.stored[:deep]) for deep in (level + 1, level + 2))
    fibers, entries = (np.bincount(rows[:, 0], minlength=len(one.ids)) for rows in (above, below))
    its = np.repeat(np.arange(len(other.ids)), np.diff(other.bounds))
    mine = np.concatenate([_places(one, rows[:, 0], rows[:, 1 + level], shared) for rows in (above, below)])
    ours, theirs = keys(mine, _places(other, its, other.coords[:, other.access.indices.index(index)], shared))
    _, at = np.unique(np.concatenate((ours, theirs)), return_inverse=True)
    first, second = len(above), len(mine)
    scans = np.bincount(at[second:], minlength=int(at.max(initial=0)) + 1)
    average = entries / np.maximum(fibers, 1)
    likely = float(scans[at[:first]] @ average[above[:, 0]])
    return float(scans[at[first:second]].sum()) / likely if likely else 1.0


def _places(tiles: Tiles, owners: Ints, coords: Ints, shared: Sequence[str]) -> Ints:
    """Coordinates behind those of their tile that another operand has."""
    return np.column_stack((tiles.ids[owners][:, [tiles.access.indices.index(index) for index in shared]], coords))


def _meetings(one: Tiles, other: Tiles, shared: Sequence[str], prefix: Sequence[str]) -> float:
    """How often the coordinates of some outermost levels are the same in two tiles that meet."""
    left, right = keys(*(_distinct(tiles, shared, prefix) for tiles in (one, other)))
    # Neighbours are looked for one after the other, which stays in the cache.
    left, right = np.sort(left), np.sort(right)
    if len(left) and (left[1:] > left[:-1]).all():
        at = np.minimum(np.searchsorted(left, right), len(left) - 1)
        return float((left[at] == right).sum())
    return float((np.searchsorted(left, right, "right") - np.searchsorted(left, right)).sum())


def _distinct(tiles: Tiles, shared: Sequence[str], prefix: Sequence[str]) -> Ints:
    """Of every tile the distinct coordinates of some outermost levels, behind those of the tile that the other operand has."""
    rows = _owned(tiles, prefix)
    return side_by_side(*(tiles.ids[:, tiles.access.indices.index(index)][rows[:, 0]] for index in shared), *rows[:, 1:].T)


def _owned(tiles: Tiles, prefix: Sequence[str]) -> Ints:
    """The number of every tile and the distinct coordinates of some outermost levels in it."""
    owners = np.repeat(np.arange(len(tiles.ids)), np.diff(tiles.bounds))
    rows = ordered(side_by_side(owners, *(tiles.coords[:, tiles.access.indices.index(index)] for index in prefix)))
    # Of all levels, each nonzero has coordinates of its own.
    return rows if len(prefix) == len(tiles.access.indices) else rows[starts(rows)]
