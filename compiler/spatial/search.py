"""Search the transforms of recurrences for arrays that are small or fast.

Space rows have entries -1, 0 and 1, the time row 0, 1 and 2; of transforms that differ by the order or the signs of space
rows, which are mirrored arrays, one is tried. They are tried from the simplest on, `MOST` at most, on the bounds given.

Input:   Unrolled.
Output:  Found of every transform that fits, and those that no other one beats in both area and time.
Cost:    2,000 transforms of 4 x 4 x 4 points take 8 s.
Source:  Stellar VII names the choice of transforms as open to search; the estimates are ours (`estimate`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import comb

from ...hw.arch.errors import UserError
from .estimate import gates, path
from .points import Unrolled
from .project import project
from .report import Way, ways
from .transform import Row, Transform

MOST = 4_000
# A register on a path, in delays of a gate: from its clock, and its setup.
REGISTER = 4.0
ENTRIES, TIMES = (-1, 0, 1), (0, 1, 2)


@dataclass(frozen=True)
class Found:
    """A transform, and what its array is like.

    Parameters
    ----------
    transform : Transform
    gates, pes : int            Its estimated area, and how many PEs it has.
    path : float                Its longest path, estimated in delays of a gate.
    steps, interval : int       Of an operation, and between two.
    ways : tuple                How its variables move.
    """

    transform: Transform
    gates: int
    pes: int
    path: float
    steps: int
    interval: int
    ways: tuple[Way, ...]

    @property
    def time(self) -> float:
        """Of an operation, estimated in delays of a gate: its steps, each as long as the longest path and a register."""
        return self.steps * (self.path + REGISTER)


@dataclass(frozen=True)
class Search:
    """What a search found.

    Parameters
    ----------
    found : tuple          Every transform that fits, the fastest first.
    tried, left : int      Transforms that were tried, and that were not.
    """

    found: tuple[Found, ...]
    tried: int
    left: int

    @property
    def best(self) -> tuple[Found, ...]:
        """Those than which none is as small and as fast, but for one of the same numbers."""
        front: list[Found] = []
        for each in self.found:
            if not front or each.gates < front[-1].gates:
                front.append(each)
        return tuple(front)


def search(unrolled: Unrolled, tell: Callable[[int, int], None] = lambda tried, count: None) -> Search:
    """Try transforms; `tell` is given how many were tried, and of how many."""
    count = len(unrolled.bounds)
    if count == 1:
        raise UserError("there is one index", "functionality",
                        "use two at least: an array has an axis of space and one of time")
    candidates, every = list(islice(_candidates(count), MOST)), _many(count)
    found = []
    for at, rows in enumerate(candidates):
        tell(at, len(candidates))
        try:
            transform = Transform(rows)
            spatial = project(unrolled, transform)
        except UserError:
            # Singular, or against the order of time: no array.
            continue
        found.append(Found(transform, gates(spatial), len(spatial.cells), path(spatial), spatial.steps, spatial.interval,
                           tuple(ways(unrolled, transform))))
    found.sort(key=lambda each: (each.time, each.gates, each.interval))
    return Search(tuple(found), len(candidates), every - len(candidates))


def _candidates(count: int) -> Iterator[tuple[Row, ...]]:
    """Transforms of so many indices, the simplest first."""
    rows = product(ENTRIES, repeat=count)
    axes = sorted((row for row in rows if next((each for each in row if each), 0) > 0), key=_weight)
    times = sorted((row for row in product(TIMES, repeat=count) if any(row)), key=_weight)
    # A simple space with any time comes before a less simple one.
    weights = range(count - 1, (count - 1) * count + 1)
    spaces = (space for total in weights for space in _of_weight(axes, count - 1, total))
    return ((*space, time) for space in spaces for time in times)


def _many(count: int) -> int:
    """How many candidates there are."""
    return comb((len(ENTRIES)**count - 1) // 2, count - 1) * (len(TIMES)**count - 1)


def _of_weight(axes: Sequence[Row], count: int, total: int) -> Iterator[tuple[Row, ...]]:
    """Choices of so many axes, which stand the lightest first, that weigh as much together."""
    if not count:
        if not total:
            yield ()
        return
    for at, axis in enumerate(axes):
        if count * _weight(axis) > total:
            return
        for rest in _of_weight(axes[at + 1:], count - 1, total - _weight(axis)):
            yield (axis, *rest)


def _weight(row: Sequence[int]) -> int:
    return sum(map(abs, row))
