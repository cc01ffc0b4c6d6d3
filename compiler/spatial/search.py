"""Search the transforms of recurrences, and the skips that their operands allow, for arrays that are small or fast.

Space rows have entries -1, 0 and 1, the time row 0, 1 and 2; of transforms that differ by the order or the signs of space
rows, which are mirrored arrays, one is tried. They are tried from the simplest on, `MOST` at most, on the bounds given.

With skips every choice of them is tried on every transform. How long an array takes whose indices are found by values is
estimated from one density of all operands.

Input:   Unrolled; skips that are allowed; how much of operands is not 0.
Output:  Found of every transform and choice of skips that fits, and those that no other one beats in both area and time.
Cost:    2,000 transforms of 4 x 4 x 4 points take 8 s.
Source:  Stellar VII names the choice of transforms as open to search; the estimates are ours (`estimate`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from math import comb, prod

from ...hw.arch.errors import UserError
from ..lang.sparsity import Skip
from ..lang.sparsity_checks import checked
from .elastic import elastic
from .estimate import gates, path
from .estimate_elastic import duration, elastic_gates, elastic_path
from .points import Unrolled
from .project import project
from .prune import Pruned, prune
from .report import Way, ways
from .summed import handed_on
from .transform import Row, Transform
from .tree import whole

MOST = 4_000
# A register on a path, in delays of a gate: from its clock, and its setup.
REGISTER = 4.0
# Of a search; each may be taken or left.
MOST_SKIPS = 4
# How much of an operand is not 0, if nothing is said.
DENSITY = 0.1
ENTRIES, TIMES = (-1, 0, 1), (0, 1, 2)


@dataclass(frozen=True)
class Found:
    """A transform and skips, and what their array is like.

    Parameters
    ----------
    transform : Transform
    skips : tuple
    gates, pes : int            Its estimated area, and how many PEs it has.
    path : float                Its longest path, estimated in delays of a gate.
    steps, interval : int       Of an operation, and between two.
    ways : tuple                How its variables move.
    """

    transform: Transform
    skips: tuple[Skip, ...]
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
    found : tuple          Every transform, with each choice of skips, that fits, the fastest first.
    tried, left : int      Transforms, with each choice of skips, that were tried, and that were not.
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


def search(unrolled: Unrolled, tell: Callable[[int, int], None] = lambda tried, count: None, skips: Sequence[Skip] = (),
           density: float = DENSITY) -> Search:
    """Try transforms; `tell` is given how many were tried, and of how many."""
    count = len(unrolled.bounds)
    if count == 1:
        raise UserError("there is one index", "functionality",
                        "use two at least: an array has an axis of space and one of time")
    if len(skips) > MOST_SKIPS:
        raise UserError(f"there are {len(skips)} skips", "sparsity", f"give {MOST_SKIPS} or fewer to a search")
    spaces = list(_choices(unrolled, skips))
    candidates, every = list(islice(_candidates(count), MOST)), _many(count)
    found = []
    for at, rows in enumerate(candidates):
        tell(at, len(candidates))
        for space in spaces:
            try:
                found.append(_tried(unrolled, space, Transform(rows), density))
            except UserError:
                # Singular, against the order of time, or without an elastic array.
                continue
    found.sort(key=lambda each: (each.time, each.gates, each.interval))
    return Search(tuple(found), len(candidates) * len(spaces), (every - len(candidates)) * len(spaces))


def _choices(unrolled: Unrolled, skips: Sequence[Skip]) -> Iterator[Pruned]:
    """The space under every choice of skips that do not contradict each other, none first."""
    for count in range(len(skips) + 1):
        for some in combinations(skips, count):
            try:
                yield prune(unrolled, checked(some, whole(unrolled.recurrences), reduces=True))
            except UserError:
                # One alone has to be right; some together may contradict each other.
                if count == 1:
                    raise


def _tried(unrolled: Unrolled, space: Pruned, transform: Transform, density: float) -> Found:
    """The array of a transform and skips; UserError if there is none."""
    space = handed_on(space, transform)
    moved = tuple(ways(space.unrolled, transform))
    if not space.is_static:
        array = elastic(space, transform)
        steps, interval = duration(array, density)
        pes = prod(extent for index, extent in unrolled.bounds.items() if index != array.time)
        return Found(transform, space.skips, elastic_gates(array), pes, elastic_path(array), steps, interval, moved)
    if space.unrolled.partial:
        raise UserError("a sum leaves in parts", "sparsity", "leave its wire")
    spatial = project(space.unrolled, transform)
    return Found(transform, space.skips, gates(spatial), len(spatial.cells), path(spatial), spatial.steps, spatial.interval,
                 moved)


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
