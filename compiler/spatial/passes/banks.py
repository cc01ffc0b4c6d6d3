"""A bank for some ports of their own: by a dimension of which each of these takes coordinates that are equal modulo the count.

Applies where such a dimension gives every port one bank. Each bank gives a word or pair a cycle.

Errors:  UserError for a number of banks that no dimension gives.
Source:  Stellar IV-D (a pipeline for each bank).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ....hw.arch.errors import many
from ..buffer import Stored
from ..taken import Taken
from .verdict import Verdict

NAME = "banks"


def tried(stored: Stored, taken: Taken) -> tuple[int, list[int], Verdict]:
    """By which level banks are chosen, and the bank of each port: the outermost level that gives every port one."""
    count, ports = stored.buffer.banks, len(taken.sinks)
    begins = taken.begins or (0,) * ports
    parts = f", for each of {len(set(begins))} parts of fibers" if any(begins) else ""
    if count == 1:
        fitting = next((more for more in range(ports, 1, -1) if ports % more == 0 and _places(taken, more)), 1)
        more = f"; {fitting} would do" if fitting > 1 else ""
        return 0, [0] * ports, Verdict(NAME, False, f"one feeds {_each(Counter(begins))}{parts}{more}")
    found = _places(taken, count)
    if found is None:
        raise stored.mistake(f"there is no dimension by which each port of {stored.name} would have one of {count} banks",
                             f"use as many as divide its {ports} ports, or 1")
    axis, places = found
    return axis, places, Verdict(NAME, True, f"{count} by dimension {stored.buffer.order[axis]}, "
                                             f"{_each(Counter(zip(places, begins)))} each{parts}: as many words at once")


def _each(ports: Counter[Any]) -> str:
    """How many ports banks have."""
    least, most = min(ports.values()), max(ports.values())
    return many(most, "port") if least == most else f"{least} to {most} ports"


def _places(taken: Taken, count: int) -> tuple[int, list[int]] | None:
    for axis in range(len(taken.reads[0][1])):
        places: dict[int, set[int]] = {}
        for sink, at in taken.reads:
            for nth in range(max(1, taken.dealt)):
                places.setdefault(sink + nth, set()).add(at[axis] % count)
        if all(len(each) == 1 for each in places.values()) and set().union(*places.values()) == set(range(count)):
            return axis, [min(places[sink]) for sink in range(len(taken.sinks))]
    return None
