"""Two rows of PEs, of which one has several times the work of the other: the time with and without load balancing.

Source: Stellar III-D, Fig. 6: of two rows the ideal gain is 4/3 for work of 2:1, 8/5 for 4:1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sardonyx import spatial as sp

COLUMNS, OPERATIONS = 128, 30


@dataclass(frozen=True)
class Shared:
    """Cycles alone and with a shift, and the pairs of a row on average."""

    alone: int
    shifted: int
    load: int


def measure(ratio: int) -> Shared:
    """Random operands whose second row has `ratio` times the nonzeros of the first one; results are the same."""
    i, k = sp.indices("i k")
    (a,) = sp.inputs("A")
    alone = sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]]),
                      {"i": 2, "j": 1, "k": COLUMNS}, sparsity=[sp.skip(k, where=a(i, k) == 0)])
    random = np.random.default_rng(ratio)
    given = np.zeros((OPERATIONS, 2, COLUMNS), np.int64)
    for operation in given:
        for row, count in zip(operation, (COLUMNS * 3 // 4 // ratio, COLUMNS * 3 // 4)):
            row[random.choice(COLUMNS, count, replace=False)] = random.integers(1, 99, count)
    other = random.integers(-99, 99, (OPERATIONS, COLUMNS, 1))
    shift = replace(alone, balance=[sp.shift(i, by=-1, where=k >= COLUMNS // 2)])
    without, shared = (each.run("tokens", A=given, B=other) for each in (alone, shift))
    assert np.array_equal(without.value, shared.value), "a shift changes no result"
    assert without.cycles and shared.cycles, "the engine counts cycles"
    return Shared(without.cycles, shared.cycles, int(np.count_nonzero(given)) // 2)
