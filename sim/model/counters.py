"""What the performance counters of a tile say of the cycles of a launch, from which tokens moved and which outputs waited."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ...hw.arch.counters import Counts


def counted(moved: NDArray[np.bool_], waits: NDArray[np.bool_]) -> Counts:
    """The counts of a launch.

    moved: bool[cycles, ports], the ports at which a token moved. waits: bool[cycles], whether an output waited to be taken.
    """
    busy = moved.any(axis=1)
    if not busy.any():
        return Counts()
    first, last = np.flatnonzero(busy)[[0, -1]]
    idle, waiting = ~busy[first:last + 1], waits[first:last + 1]
    return Counts(int(moved.sum()), int(busy.sum()), int((idle & ~waiting).sum()), int((idle & waiting).sum()))


def added(counts: Iterable[Counts], bits: int) -> Counts:
    """The counts of launches, one after the other, by counters of so many bits, which stay full once they are."""
    most = (1 << bits) - 1
    total = np.array([(each.tokens, each.busy, each.starved, each.blocked) for each in counts], np.int64).reshape(-1, 4).sum(0)
    return Counts(*(min(int(value), most) for value in total))
