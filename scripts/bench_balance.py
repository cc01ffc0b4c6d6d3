"""Two rows of PEs, of which one has several times the work of the other, or one PE of each: the time with and without balance.
Likewise four rows, of which one takes the work of one other, or each that of all.

Source: Stellar III-D, Fig. 6: of two rows the ideal gain is 4/3 for work of 2:1, 8/5 for 4:1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sardonyx import spatial as sp

COLUMNS, OPERATIONS = 128, 30


@dataclass(frozen=True)
class Shared:
    """Cycles alone and balanced, and the pairs of a row or PE on average."""

    alone: int
    balanced: int
    load: int


def measured() -> Iterator[tuple[str, Shared, float]]:
    """What has how much work, what was found, and the ideal gain."""
    for ratio, ideal in ((2, 4 / 3), (4, 8 / 5)):
        yield (f"two rows of PEs with work {ratio}:1, 30 operations: cycles alone; with a shift; mean load of a row",
               measure(ratio), ideal)
        yield (f"two rows with PEs of work {ratio}:1 in each, 30 operations: cycles alone; with a queue of PEs; mean load of a "
               "PE", measure_apart(ratio), ideal)
        yield (f"two rows of input-stationary PEs, whose results are fibers, with work {ratio}:1, 30 operations: cycles alone; "
               "with a shift; mean load of a row", measure_fibers(ratio), ideal)
    few, every = measure_few()
    for what, found in (("shift of four PEs to four", few), ("queue of all", every)):
        yield (f"16 PEs with work 8, 5, 5 and 2, 30 operations: cycles alone; with a {what}; mean load of a PE", found, 8 / 5)


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


def measure_fibers(ratio: int) -> Shared:
    """Rows of B, of which the second one has `ratio` times the nonzeros of the first one, and those of it, too."""
    j, k = sp.indices("j k")
    (b,) = sp.inputs("B")
    alone = sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]]),
                      {"i": 2, "j": COLUMNS, "k": 2}, sparsity=[sp.skip(j, where=b(k, j) == 0)])
    random = np.random.default_rng(ratio)
    given = np.zeros((OPERATIONS, 2, COLUMNS), np.int64)
    for operation in given:
        order = random.permutation(COLUMNS)
        for row, count in zip(operation, (COLUMNS * 3 // 4 // ratio, COLUMNS * 3 // 4)):
            row[order[:count]] = random.integers(1, 99, count)
    other = random.integers(-99, 99, (OPERATIONS, 2, 2))
    shift = replace(alone, balance=[sp.shift(k, by=-1, where=j >= COLUMNS // 2)])
    without, shared = (each.run("tokens", A=other, B=given) for each in (alone, shift))
    assert np.array_equal(without.value, shared.value), "a shift changes no result"
    assert without.cycles and shared.cycles, "the engine counts cycles"
    return Shared(without.cycles, shared.cycles, int(np.count_nonzero(given)) // 2)


def measure_apart(ratio: int) -> Shared:
    """Four PEs, in each row one with `ratio` times the nonzeros of the other one, each on its own by a queue."""
    i, j, k = sp.indices("i j k")
    (a,) = sp.inputs("A")
    alone = sp.Design(sp.functionality("C(i,j) = A(i,j,k) * B(k,j)"), sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]]),
                      {"i": 2, "j": 2, "k": COLUMNS}, sparsity=[sp.skip(k, where=a(i, j, k) == 0)])
    random = np.random.default_rng(ratio)
    given = np.zeros((OPERATIONS, 2, 2, COLUMNS), np.int64)
    for fiber, place in ((fiber, place) for fiber in given for place in np.ndindex(2, 2)):
        count = COLUMNS * 3 // 4 // (ratio if sum(place) % 2 else 1)
        fiber[place][random.permutation(COLUMNS)[:count]] = random.integers(1, 99, count)
    other = random.integers(-99, 99, (OPERATIONS, COLUMNS, 2))
    queue = replace(alone, balance=[sp.work_queue(i, where=k >= COLUMNS // 2, grain="pe")])
    without, shared = (each.run("tokens", A=given, B=other) for each in (alone, queue))
    assert np.array_equal(without.value, shared.value), "a balance changes no result"
    assert without.cycles and shared.cycles, "the engine counts cycles"
    return Shared(without.cycles, shared.cycles, int(np.count_nonzero(given)) // 4)


def measure_few() -> tuple[Shared, Shared]:
    """Four rows of four PEs, of which the first has a quarter of the nonzeros of the last one, others between: the first row
    takes work of the last one alone, or any PE that of any other one."""
    i, j, k = sp.indices("i j k")
    (a,) = sp.inputs("A")
    alone = sp.Design(sp.functionality("C(i,j) = A(i,j,k) * B(k,j)"), sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]]),
                      {"i": 4, "j": 4, "k": COLUMNS}, sparsity=[sp.skip(k, where=a(i, j, k) == 0)])
    random = np.random.default_rng(2)
    given = np.zeros((OPERATIONS, 4, 4, COLUMNS), np.int64)
    for operation, row, column in np.ndindex(OPERATIONS, 4, 4):
        count = COLUMNS * 3 // 32 * (2, 5, 5, 8)[row]
        given[operation, row, column][random.permutation(COLUMNS)[:count]] = random.integers(1, 99, count)
    other = random.integers(-99, 99, (OPERATIONS, COLUMNS, 4))
    moves = k >= COLUMNS // 2
    without, *shared = (replace(alone, balance=balance).run("tokens", A=given, B=other) for balance in (
        (), [sp.shift(i, to=0, where=moves & (i == 3), grain="pe")], [sp.work_queue(i, where=moves, grain="pe")]))
    assert all(np.array_equal(without.value, each.value) for each in shared), "a balance changes no result"
    found = [Shared(without.cycles, each.cycles, int(np.count_nonzero(given)) // 16) for each in shared
             if without.cycles and each.cycles]
    few, every = found
    return few, every
