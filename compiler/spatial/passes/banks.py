"""A bank for some ports of their own: by a dimension of which each of these takes coordinates that are equal modulo the count.

Applies where such a dimension gives every port one bank. Each bank gives a word or pair a cycle.

Errors:  UserError for a number of banks that no dimension gives.
Source:  Stellar IV-D (a pipeline for each bank).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import gcd
from typing import Any

from ....hw.arch.errors import many
from ....hw.arch.private_buffer import MOST_BANKS
from ..buffer import Stored
from ..taken import Taken
from .verdict import Verdict

NAME = "banks"


def tried(stored: Stored, taken: Taken) -> tuple[int, list[int], Verdict]:
    """By which level banks are chosen, and the bank of each port: the outermost level that gives every port one."""
    count, ports = stored.buffer.banks, len(taken.sinks)
    parts = taken.parts or ((0, 0),) * ports
    apart = f", for each of {len(set(parts))} parts of fibers" if taken.parts else ""
    axes = [_axis(taken, axis) for axis in range(len(taken.reads[0][1]))]
    if count == 1:
        fitting = next((each for each in range(min(ports, MOST_BANKS), 1, -1)
                        if ports % each == 0 and _places(axes, parts, each)), 1)
        is_slow = fitting > 1 and not stored.buffer.wide
        more = f", a word or pair a cycle; {fitting} banks would give {fitting}" if is_slow else ""
        return 0, [0] * ports, Verdict(NAME, False, f"one feeds {_each(Counter(parts))}{apart}{more}")
    found = _places(axes, parts, count)
    if found is None:
        fit = [each for each in range(1, MOST_BANKS + 1) if _places(axes, parts, each)]
        those = f"1..{len(fit)}" if len(fit) == fit[-1] > 1 else " or ".join(map(str, fit))
        raise stored.mistake(f"there is no dimension by which each port of {stored.name} would have one of {count} banks"
                             + (", and each bank a port for each part of fibers" if taken.parts else ""), f"use {those}")
    axis, places = found
    return axis, places, Verdict(NAME, True, f"{count} by dimension {stored.buffer.order[axis]}, "
                                             f"{_each(Counter(zip(places, parts)))} each{apart}: as many words at once")


def _each(ports: Counter[Any]) -> str:
    """How many ports banks have."""
    least, most = min(ports.values()), max(ports.values())
    return many(most, "port") if least == most else f"{least} to {most} ports"


def _axis(taken: Taken, axis: int) -> tuple[dict[int, int], int]:
    """A coordinate of each port along a level, and what all that it takes are apart there: multiples of this number."""
    first: dict[int, int] = {}
    apart = 0
    for sink, at in taken.reads:
        for nth in range(max(1, taken.dealt)):
            apart = gcd(apart, at[axis] - first.setdefault(sink + nth, at[axis]))
    return first, apart


def _places(axes: Sequence[tuple[dict[int, int], int]], parts: Sequence[tuple[int, int]], count: int
            ) -> tuple[int, list[int]] | None:
    """The outermost level by which each port has one of so many banks, and each bank a port of each part; and the bank of each.
    """
    for axis, (first, apart) in enumerate(axes):
        places = [first[sink] % count for sink in sorted(first)]
        if apart % count == 0 and len({*zip(places, parts)}) == count * len({*parts}):
            return axis, places
    return None
