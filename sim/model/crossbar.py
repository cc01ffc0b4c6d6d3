"""How long an array of Cartesian products takes with an ideal crossbar: every product is in the queue of its bank at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...hw.arch.cartesian import Cartesian
from ...runtime.data.vectors import Part


def ideal_cycles(kind: Cartesian, parts: Sequence[Part]) -> int:
    """Cycles from the first pair of vectors to the last sum of each part, one part after the other.

    A pair of vectors a cycle; queues have no bound, and a bank adds up a product a cycle.
    """
    cycles = 0
    for part in parts:
        queues = np.zeros(kind.banks, np.int64)
        for _, at, _, to in part.pairs:
            for first in range(0, len(at), kind.left):
                for second in range(0, len(to), kind.right):
                    places = at[first:first + kind.left, None] + to[None, second:second + kind.right]
                    queues += np.bincount((places % kind.banks).ravel(), minlength=kind.banks)
                    np.maximum(queues - 1, 0, out=queues)
                    cycles += 1
        cycles += int(queues.max())
    return cycles
