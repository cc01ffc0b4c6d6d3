"""Sparse tensors as sorted lists of coordinates, and the order of coordinates.

`Coo` is how tensors are handed over between the front end, the tiler and the simulators: coordinates in the
order of the tensor's indices, sorted, each once, values 16-bit two's complement and never 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
# Rows that are only compared; those of many items are of 32 bits.
Rows: TypeAlias = NDArray[np.signedinteger[Any]]
VALUE_MIN, VALUE_MAX = -(1 << 15), (1 << 15) - 1


def wrap(values: NDArray[Any]) -> Ints:
    """Integers modulo 2**16, read as two's complement."""
    return ((values.astype(np.int64) + (1 << 15)) & 0xFFFF) - (1 << 15)


@dataclass(frozen=True, eq=False)
class Coo:
    """A sparse tensor: the nonzeros in lexicographic order of their coordinates.

    Parameters
    ----------
    shape : tuple                  Extents; empty for a scalar.
    coords : int64[n, rank]        Sorted, no row twice.
    values : int16[n]              Never 0.
    """

    shape: tuple[int, ...]
    coords: Ints
    values: NDArray[np.int16]

    @classmethod
    def make(cls, shape: Sequence[int], coords: Any, values: Any) -> Coo:
        """A tensor from coordinates in any order: equal ones are added, sums wrap, zeros are removed."""
        extents = tuple(int(extent) for extent in shape)
        numbers = np.asarray(values, dtype=np.int64)
        rows, sums = sum_rows(np.asarray(coords, dtype=np.int64).reshape(len(numbers), len(extents)), numbers)
        sums = wrap(sums)
        keep = sums != 0
        return cls(extents, rows[keep], sums[keep].astype(np.int16))

    @classmethod
    def empty(cls, shape: Sequence[int]) -> Coo:
        """A tensor of zeros."""
        return cls.make(shape, np.zeros((0, len(shape))), np.zeros(0))

    def diagonal(self, names: Sequence[str]) -> Coo:
        """What lies where modes of the same name have the same coordinate, a mode for each name in order of appearance."""
        first = [at for at, name in enumerate(names) if names.index(name) == at]
        if len(first) == self.rank:
            return self
        same = np.ones(self.nnz, bool)
        for at, name in enumerate(names):
            same &= self.coords[:, at] == self.coords[:, names.index(name)]
        return Coo(tuple(self.shape[at] for at in first), self.coords[same][:, first], self.values[same])

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def nnz(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, Coo) and self.shape == other.shape
                and np.array_equal(self.coords, other.coords) and np.array_equal(self.values, other.values))

    __hash__ = None  # type: ignore[assignment]


def pack(rows: Rows) -> Ints | None:
    """One number per row, ordered as the rows are; None if they do not fit one word."""
    found = pack_alike(rows)
    return None if found is None else found[0]


def pack_alike(*tables: Rows) -> tuple[Ints, ...] | None:
    """The same of several tables, the same number for rows that are equal."""
    extents = [max(int(column.max(initial=0)) for column in columns) + 1 for columns in zip(*(rows.T for rows in tables))]
    if prod(extents) >= 1 << 62:
        return None
    found = []
    for rows in tables:
        number = np.zeros(len(rows), dtype=np.int64)
        for column, extent in zip(rows.T, extents):
            number *= extent
            number += column
        found.append(number)
    return tuple(found)


def side_by_side(*columns: Ints) -> Ints:
    """Rows of columns, each of which lies in one piece: work column by column then takes half as long."""
    return np.stack(columns).T


def sort_rows(rows: Rows) -> NDArray[np.intp]:
    """A permutation that sorts rows lexicographically; equal rows in any order."""
    packed = pack(rows)
    return np.lexsort(rows.T[::-1]) if packed is None else np.argsort(packed)


def ordered(rows: Rows) -> Rows:
    """Rows sorted lexicographically; those that are sorted already are not moved."""
    packed = pack(rows)
    if packed is None:
        return rows[np.lexsort(rows.T[::-1])]
    return rows if is_sorted(packed) else rows[np.argsort(packed)]


def is_sorted(numbers: Ints) -> bool:
    """Whether no number is less than the one before it."""
    return bool((numbers[1:] >= numbers[:-1]).all())


def starts(rows: Rows) -> NDArray[np.bool_]:
    """Of sorted rows: whether each differs from the row before it (the first one does)."""
    first = np.zeros(len(rows), dtype=bool)
    first[:1] = True
    # Column by column: reductions along short rows take ten times as long.
    for column in rows.T:
        first[1:] |= column[1:] != column[:-1]
    return first


def sum_rows(rows: Ints, values: Ints) -> tuple[Ints, Ints]:
    """Distinct rows, sorted, and the sum of the values of each."""
    order = sort_rows(rows)
    rows, values = rows[order], values[order]
    first = starts(rows)
    if first.all():
        return rows, values
    return rows[first], np.add.reduceat(values, np.flatnonzero(first))
