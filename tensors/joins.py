"""Joins of tables of coordinates: which rows of two tables are equal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .coordinates import Ints, Rows, pack_alike


def keys(left: Rows, right: Rows) -> tuple[Ints, Ints]:
    """One number per row, such that rows of the two tables are equal exactly where their numbers are.

    The numbers are ordered as the rows are.
    """
    assert left.shape[1] == right.shape[1], "both tables have the columns compared"
    packed = pack_alike(left, right)
    if packed is not None:
        return packed[0], packed[1]
    number = np.unique(np.concatenate((left, right)), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return number[:len(left)], number[len(left):]


class TooManyMatches(Exception):
    """Tables have more pairs of equal rows than were asked for at most; `count` says how many."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count


def matches(left: Rows, right: Rows, most: int | None = None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """All pairs (position in left, position in right) with equal rows; ordered by left, then right.

    Raises TooManyMatches, before any pair is made, if there are more than `most`.
    """
    key_left, key_right = keys(left, right)
    order = np.argsort(key_right, kind="stable")
    ordered = key_right[order]
    low = np.searchsorted(ordered, key_left, "left")
    counts = np.searchsorted(ordered, key_left, "right") - low
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    if most is not None and total > most:
        raise TooManyMatches(total)
    # Of what there may be many of, no more than two words are held besides the result.
    at = np.arange(total)
    at += np.repeat(low - (ends - counts), counts)
    return np.repeat(np.arange(len(left)), counts), order[at]
