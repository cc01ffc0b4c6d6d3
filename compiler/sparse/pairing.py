"""Work items: which sub-tiles of the operands must meet, found by joining tables of tile coordinates.

The structure of the statement is evaluated on tiles instead of entries. A product needs a tile of every
factor, so items with an empty one are left out; its factors are joined in an order in which each has indices in
common with those before it, where there is one, so that `B(i,j) * (C(i,k) * D(k,j))` looks at the tiles of C and D
only where B has some. A sum takes what terms there are; where terms are summed over
indices of their own, their tiles are taken side by side (the n-th of one with the n-th of the other), so that
each term counts once: `b(i) - C(i,j) * d(j)` subtracts b in the first item of a row of tiles only.

Errors:  TooManyMatches if there would be more items than asked for at most, before they are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sardonyx.tensors.coordinates import Ints, Rows, sort_rows, starts
from sardonyx.tensors.joins import matches

from .normalize import Node, Product, Sum, live

ABSENT = -1


@dataclass(frozen=True, eq=False)
class Items:
    """Work items: a row of coordinates for `names`, and the position of each operand's tile (or ABSENT).

    There may be millions, so numbers are of 32 bits where coordinates allow it.
    """

    names: tuple[str, ...]
    keys: Rows
    picks: Rows

    def only(self, names: Sequence[str]) -> Rows:
        """The coordinates of some of the names."""
        return self.keys[:, [self.names.index(name) for name in names]]

    def ordered(self) -> Items:
        """Sorted by coordinates, then by tiles."""
        order = sort_rows(np.concatenate((self.keys, self.picks + np.int32(1)), axis=1))
        return Items(self.names, self.keys[order], self.picks[order])


def pair(node: Node, slots: Sequence[str], tiles: Sequence[Ints], most: int | None = None) -> Items:
    """The items of a part of the expression, at most so many. `tiles` are the coordinates of the nonempty tiles of
    each slot."""
    if isinstance(node, Product):
        rest = sorted((pair(factor, slots, tiles, most) for factor in _factors(node)), key=lambda part: len(part.keys))
        found = rest.pop(0)
        while rest:
            common = [len(set(found.names) & set(part.names)) for part in rest]
            found = _meet(found, rest.pop(common.index(max(common))), most)
        names = tuple(name for name in found.names if name in live(node))
        return Items(names, found.only(names), found.picks)
    if isinstance(node, Sum):
        return _side_by_side([pair(term, slots, tiles, most) for _, term in node.terms])
    at = slots.index(node.slot)
    keys: Rows = tiles[at]
    picks = np.full((len(keys), len(slots)), ABSENT, dtype=np.int32)
    picks[:, at] = np.arange(len(picks))
    return Items(node.indices, keys.astype(np.int32) if keys.max(initial=0) < 1 << 31 else keys, picks)


def _factors(node: Product) -> list[Node]:
    """The factors of a product and of the products that are its factors. A summed index is used by one of these only."""
    return [inner for factor in node.factors
            for inner in (_factors(factor) if isinstance(factor, Product) else [factor])]


def _meet(left: Items, right: Items, most: int | None) -> Items:
    """All pairs of items that agree on common indices."""
    common = [name for name in left.names if name in right.names]
    added = [name for name in right.names if name not in common]
    at_left, at_right = matches(left.only(common), right.only(common), most)
    keys = np.concatenate((left.keys[at_left], right.only(added)[at_right]), axis=1)
    return Items((*left.names, *added), keys, np.maximum(left.picks[at_left], right.picks[at_right]))


def _side_by_side(parts: list[Items]) -> Items:
    """Items of terms merged: the n-th of each at equal coordinates become one."""
    names = parts[0].names
    ranked, chosen = [], []
    for part in parts:
        part = Items(names, part.only(names), part.picks).ordered()
        first = np.flatnonzero(starts(part.keys))
        lengths = np.diff(np.append(first, len(part.keys)))
        ranked.append(np.column_stack((part.keys, np.arange(len(part.keys)) - np.repeat(first, lengths))))
        chosen.append(part.picks)
    rows = np.concatenate(ranked)
    order = sort_rows(rows)
    rows = rows[order]
    picks = np.concatenate(chosen)[order]
    first = np.flatnonzero(starts(rows))
    merged = np.maximum.reduceat(picks, first, axis=0) if len(first) else picks
    return Items(names, rows[first, :-1], merged)
