"""Find the loop nest of a sequence of points, if it is one, or the runs that it has.

Input:   points int[n, m], n from 1.
Output:  loops, innermost first, each an extent and a distance int[m]; () for one point. None where there is no nest.
Cost:    O(n m) for each loop, and for all runs.
"""

from __future__ import annotations

import numpy as np

Loops = tuple[tuple[int, tuple[int, ...]], ...]


def loops(points: np.ndarray) -> Loops | None:
    """Of points 0 1 2 10 11 12: an extent of 3 with the distance 1, around it one of 2 with the distance 10."""
    found: list[tuple[int, tuple[int, ...]]] = []
    while len(points) > 1:
        steps = np.diff(points, axis=0)
        others = np.flatnonzero((steps != steps[0]).any(axis=1))
        extent = int(others[0]) + 1 if len(others) else len(points)
        if len(points) % extent:
            return None
        blocks = points.reshape(-1, extent, points.shape[1])
        inside = blocks[:, :1] + np.arange(extent)[None, :, None] * steps[0]
        if not np.array_equal(blocks, inside):
            return None
        found.append((extent, tuple(int(each) for each in steps[0])))
        points = blocks[:, 0]
    return tuple(found)


def runs(points: np.ndarray) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
    """Of points 0 1 2 10 7 4: from place 0 on 3 with the distance 1, and from place 3 on 3 with the distance -3."""
    found: list[tuple[int, int, tuple[int, ...]]] = []
    begin = 0
    while begin < len(points):
        steps = np.diff(points[begin:], axis=0)
        others = np.flatnonzero((steps != steps[:1]).any(axis=1))
        extent = int(others[0]) + 1 if len(others) else len(points) - begin
        found.append((begin, extent, tuple(int(each) for each in steps[0]) if len(steps) else (0,) * points.shape[1]))
        begin += extent
    return tuple(found)
