"""Words that the levels of tiles need, counted without building them; and those of the results, before they
are known.

A compressed level needs a segment per fiber above plus one, and its coordinates; each of the two has a half
of the level buffer. A dense level needs nothing. Results are counted on the structure of the operands: an
upper bound that is exact unless values cancel.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx.tensors.coordinates import Ints, Rows, ordered, side_by_side, starts
from sardonyx.tensors.fibertree import Format
from sardonyx.tensors.joins import matches

from .normalize import Node, Product, Sum
from .pairing import ABSENT


def positions(owners: Ints, coords: Ints, count: int, form: Format, shape: Sequence[int]) -> Ints:
    """Positions of each level of each tile.

    `owners` and `coords` are the tile and the coordinates of every nonzero, each once, `shape` is that of all
    `count` tiles. Returns int64[count, rank].
    """
    # Of the innermost level every nonzero is a position of its own, so what is above it decides the order.
    rows = ordered(side_by_side(owners, *(coords[:, mode] for mode in form.order[:-1]))) if form.rank > 1 else owners[:, None]
    found = np.ones((count, form.rank + 1), dtype=np.int64)
    for level, mode in enumerate(form.order):
        if form.is_dense(level):
            found[:, level + 1] = found[:, level] * shape[mode]
        elif level == form.rank - 1:
            found[:, level + 1] = np.bincount(owners, minlength=count)
        else:
            first = starts(rows[:, :level + 2])
            found[:, level + 1] = np.bincount(rows[first, 0], minlength=count)
    return found[:, 1:]


def level_words(counts: Ints, form: Format) -> Ints:
    """Words each level and the values need in the fuller half of their buffer, from their `positions`."""
    above = np.column_stack((np.ones(len(counts), np.int64), counts))
    words = np.zeros((len(counts), form.rank + 1), dtype=np.int64)
    for level in range(form.rank):
        if not form.is_dense(level):
            words[:, level] = np.maximum(above[:, level] + 1, above[:, level + 1])
    words[:, -1] = above[:, -1]
    return words


def structure(node: Node, slots: Sequence[str], picks: Rows, entries: Sequence[tuple[Ints, Ints]], most: int | None = None
              ) -> tuple[tuple[str, ...], Ints]:
    """Where items can have nonzeros in a part of the expression.

    `entries` are per slot the bounds of each tile's run of nonzeros and the coordinates inside their tiles.
    Returns the indices and distinct rows (item, coordinates...). Raises TooManyMatches if more than `most` nonzeros
    meet in a product.
    """
    if isinstance(node, Product):
        names, rows = structure(node.factors[0], slots, picks, entries, most)
        for factor in node.factors[1:]:
            names, rows = _meet(names, rows, *structure(factor, slots, picks, entries, most), most)
        kept = tuple(name for name in names if name != node.contract)
        return kept, _distinct(rows[:, _columns(names, kept)])
    if isinstance(node, Sum):
        parts = [structure(term, slots, picks, entries, most) for _, term in node.terms]
        names = parts[0][0]
        return names, _distinct(np.concatenate([rows[:, _columns(other, names)] for other, rows in parts]))
    slot = slots.index(node.slot)
    return node.indices, _gather(picks[:, slot], *entries[slot])


def _gather(picks: Rows, bounds: Ints, coords: Ints) -> Ints:
    """The nonzeros of the tile that each item takes, as rows (item, coordinates...)."""
    items = np.flatnonzero(picks != ABSENT)
    first, last = bounds[picks[items]], bounds[picks[items] + 1]
    lengths = last - first
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.column_stack((np.repeat(items, lengths), coords[np.repeat(first, lengths) + within]))


def _meet(names: tuple[str, ...], rows: Ints, others: tuple[str, ...], other_rows: Ints, most: int | None
          ) -> tuple[tuple[str, ...], Ints]:
    """Rows of the same item that agree on common indices."""
    common = [name for name in names if name in others]
    added = [name for name in others if name not in common]
    at, at_other = matches(rows[:, _columns(names, common)], other_rows[:, _columns(others, common)], most)
    more = other_rows[at_other][:, _columns(others, added)[1:]]
    return (*names, *added), np.concatenate((rows[at], more), axis=1)


def _columns(names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """The column of the item and those of the names wanted."""
    return [0, *(list(names).index(name) + 1 for name in wanted)]


def _distinct(rows: Ints) -> Ints:
    rows = ordered(rows)
    return rows[starts(rows)]
