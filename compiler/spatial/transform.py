"""Space-time transforms: where and when each point of an iteration space is computed.

A transform is a square matrix of whole numbers over the indices. Its first rows are the axes of space, its last ones those of
time, the slowest first: point x is computed by the PE at ``space x`` in step ``time x``. Several axes of time are one once
the bounds of the indices are known, as the digits of a number are one number.

Errors:  UserError for a matrix that is not square, not whole, or singular: two points would fall on one PE and step.
Source:  Stellar II-B. Departure: any non-singular matrix, since no PE inverts it; the code of Stellar needs a determinant of
         1 or -1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...hw.arch.errors import UserError
from ..lang.recurrence import MOST_INDICES, whole

MOST_ENTRY = 1 << 10
Row = tuple[int, ...]


@dataclass(frozen=True)
class Transform:
    """A space-time transform.

    Parameters
    ----------
    rows : sequence     The axes of space, then those of time; -1024..1024 for each index, in the order of the indices.
    time_axes : int     How many of the last rows are time; at least one row is space.
    """

    rows: tuple[Row, ...]
    time_axes: int = 1

    def __init__(self, rows: Sequence[Sequence[int]], time_axes: int = 1) -> None:
        try:
            found = tuple(tuple(whole(entry, "transform") for entry in row) for row in rows)
        except TypeError:
            raise _mistake("it is no matrix", "give a list of rows, as [[1,0,0],[0,1,0],[1,1,1]]") from None
        size = len(found)
        if size == 1:
            raise _mistake("the matrix has one row, but an array has an axis of space and one of time",
                           "use two indices at least")
        if not 2 <= size <= MOST_INDICES or any(len(row) != size for row in found):
            shape = f"{size} rows of {', '.join(str(len(row)) for row in found[:MOST_INDICES])} entries"
            raise _mistake(f"the matrix is not square of 2..{MOST_INDICES}: {shape}", "give a row and a column for each index")
        if large := [entry for row in found for entry in row if abs(entry) > MOST_ENTRY]:
            raise _mistake(f"entry {large[0]} is out of range", f"use -{MOST_ENTRY} to {MOST_ENTRY}")
        if not 1 <= whole(time_axes, "transform") < size:
            raise _mistake(f"{time_axes} of {size} rows are time", f"make 1 to {size - 1} of them time")
        object.__setattr__(self, "rows", found)
        object.__setattr__(self, "time_axes", time_axes)
        if not self.determinant:
            raise _mistake("the matrix is singular: two points would fall on one PE and step", "make its rows independent")

    @property
    def space(self) -> tuple[Row, ...]:
        """The axes of space."""
        return self.rows[:-self.time_axes]

    def placed(self, indices: Sequence[str]) -> tuple[str, ...]:
        """Those of the indices along which PEs change."""
        return tuple(index for at, index in enumerate(indices) if any(row[at] for row in self.space))

    @property
    def determinant(self) -> int:
        """Of the matrix; of so many points of space-time one is computed."""
        rows, product = [[Fraction(entry) for entry in row] for row in self.rows], Fraction(1)
        for at in range(len(rows)):
            pivot = next((n for n in range(at, len(rows)) if rows[n][at]), None)
            if pivot is None:
                return 0
            if pivot != at:
                rows[at], rows[pivot], product = rows[pivot], rows[at], -product
            product *= rows[at][at]
            for n in range(at + 1, len(rows)):
                factor = rows[n][at] / rows[at][at]
                rows[n] = [a - factor * b for a, b in zip(rows[n], rows[at])]
        return int(product)

    def position(self, point: Sequence[int]) -> Row:
        """The PE of a point, or what a distance between points is in space."""
        return tuple(dot(row, point) for row in self.space)

    def time(self, bounds: Sequence[int]) -> Row:
        """The step of a point, as a row over its indices: the axes of time as the digits of one number.

        bounds: extents of the indices; a digit has as many values as its axis takes in between.
        """
        *slower, row = self.rows[-self.time_axes:]
        weight, total = 1, row
        for axis in reversed(slower):
            weight *= 1 + sum(abs(entry) * (extent - 1) for entry, extent in zip(row, bounds))
            total = tuple(a + weight * b for a, b in zip(total, axis))
            row = axis
        return total

    def __str__(self) -> str:
        return "; ".join(" ".join(map(str, row)) for row in self.rows)


def dot(row: Sequence[int], point: Sequence[int]) -> int:
    """A row times a point."""
    return sum(a * b for a, b in zip(row, point, strict=True))


def _mistake(what: str, fix: str) -> UserError:
    return UserError(what, "transform", fix)
