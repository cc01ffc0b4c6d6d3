"""Add up the fibers of PEs by a tree of mergers, each of which adds two by their coordinates, or finds the larger values, say.

The levels of a tree that the functionality has are those of its mergers: the fibers of the innermost digit become one first,
then what is left along the next one. The fibers of a level meet in pairs, as those of a sum without a tree do.

Input:   the ends of fibers by their digits, the root first; all of a sum without a tree have one digit, of no sum none.
Output:  where the sum is, the mergers, and the links to them.
Source:  SpArch III-B, merge trees; Stellar IV-F leaves them to hand-written hardware.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...hw.arch.elastic import Link, Unit, adder
from ...hw.arch.logic import Apply, Feed
from ...hw.arch.reduction import ADD
from .points import Point

End = tuple[str, str]


def merged(ends: Mapping[Point, End], name: str, bits: int, reduction: str = ADD) -> tuple[End, list[Unit], list[Link]]:
    """The sum of fibers of values of some bits; units are called `name` and a number."""
    units: list[Unit] = []
    links: list[Link] = []
    levels = dict(ends)
    while any(levels):
        groups: dict[Point, list[End]] = {}
        for digits, end in levels.items():
            groups.setdefault(digits[:-1], []).append(end)
        for left in groups.values():
            while len(left) > 1:
                first, second = left.pop(0), left.pop(0)
                unit = Unit(f"{name}_{len(units)}", adder(bits, Apply(reduction, (Feed("x", 0), Feed("y", 0)))))
                units.append(unit)
                links += [Link(first, (unit.name, "x")), Link(second, (unit.name, "y"))]
                left.append((unit.name, "o"))
        levels = {digits: end for digits, (end,) in groups.items()}
    (end,) = levels.values()
    return end, units, links
