"""How long items take in stages at once, whose buffers hold two items and the one that is written.

A stage begins with an item when it has ended the one before and the stage before it has ended this one. It cannot end an
item while the stage behind it still holds the two before, and what finds no room beside those waits until they are read.

    load     |--0--|--1--|--2--|.....3|
    compute        |----0----|----1----|----2----|
    store                    |-0-|     |-1-|     |-2-|

Cost:    10^6 items in 0.3 s: sequences of `STEPS` items are followed side by side, each after a few items of that before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

STEPS, AHEAD = 64, 6


def over(words: Sequence[Floats], capacity: int) -> tuple[Floats, Floats]:
    """How many words of each item find no room beside the one before it, and beside the two before it, in the buffer in which
    that is most; `words`: of each buffer, item by item."""
    beside = [np.full(len(words[0]), -np.inf) for _ in range(2)]
    for each in words:
        if each.max(initial=0) * 3 <= capacity:
            continue
        together = each - capacity
        for behind, found in enumerate(beside, 1):
            together = together.copy()
            together[behind:] += each[:-behind]
            np.maximum(found, np.where(together > 0, together, -np.inf), out=found)
    return beside[0], beside[1]


def makespan(stages: Sequence[Floats], beside: Sequence[tuple[Floats, Floats]]) -> float:
    """Cycles from the first word loaded to the last one stored.

    stages: cycles of loading, computing and storing, item by item, and perhaps of more between. beside: see `over`, of what
    each stage but the last one gives to the next.
    """
    count, last_stage = len(stages[0]), len(stages) - 1
    if not count:
        return 0.0
    columns = max(1, count // STEPS)
    steps = -(-count // columns)
    ahead = AHEAD if columns > 1 else 0
    at = np.arange(steps + ahead)[:, None] - ahead + steps * np.arange(columns)
    there = (at >= 0) & (at < count)
    at[~there] = 0
    times = [np.where(there, each[at], 0.0) for each in stages]
    rooms = [[np.where(there, each[at], -np.inf) for each in two] for two in beside]
    ends = [[np.zeros(columns)] * 3 for _ in stages]        # By stage, of the last items.
    began = np.zeros(columns)
    for step in range(steps + ahead):
        if step == ahead:
            began = ends[last_stage][-1]
        before = np.zeros(columns)
        for stage in range(len(stages)):
            end = np.maximum(before, ends[stage][-1]) + times[stage][step]
            if stage < last_stage:
                last, second = ends[stage + 1][-1], ends[stage + 1][-2]
                end = np.maximum(end, second)
                end = np.maximum(end, np.maximum(last + rooms[stage][0][step], second + rooms[stage][1][step]))
            before = end
            # The next stage looks for the items before this one.
            times[stage][step] = end
        for stage in range(len(stages)):
            ends[stage] = [*ends[stage][1:], times[stage][step]]
    return float((ends[last_stage][-1] - began).sum())
