"""Refuse arrays of too many PEs or steps.

Input:   the transform, the extents of the indices, and points that the array has: all of them, or some that are known before.
Errors:  UserError for more than `MOST_CELLS` PEs or `MOST_STEPS` steps.
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod

import numpy as np

from ...hw.arch.errors import UserError
from ...hw.arch.spatial import MOST_CELLS, MOST_STEPS
from .points import Point
from .transform import Transform


def may_be_too_large(transform: Transform, extents: Point) -> bool:
    """Whether an array would be too large if it had all points of a space; an error of its transform is told elsewhere."""
    if len(transform.rows) != len(extents):
        return False
    steps, *axes = (1 + sum(abs(entry) * (extent - 1) for entry, extent in zip(row, extents))
                    for row in (transform.time(extents), *transform.space))
    return steps > MOST_STEPS or prod(axes) > MOST_CELLS


def refuse_too_large(transform: Transform, extents: Point, points: Collection[Point]) -> None:
    """UserError if an array that has these points, and maybe more, is too large."""
    at = np.array([*points], np.int64)
    # Digits of many axes of time may need more than a word has.
    row = transform.time(extents)
    times = at @ np.array(row, np.int64 if max(map(abs, row)) < 1 << 40 else object)
    check(len({*map(tuple, (at @ np.array(transform.space, np.int64).T).tolist())}), int(1 + times.max() - times.min()),
          "at least ")


def check(cells: int, steps: int, least: str = "") -> None:
    """UserError for so many PEs and steps, if they are too many."""
    if cells > MOST_CELLS or steps > MOST_STEPS:
        raise UserError(f"the array has {least}{cells:,} PEs and {steps:,} steps", "bounds",
                        f"choose smaller bounds: at most {MOST_CELLS:,} PEs and {MOST_STEPS:,} steps")
