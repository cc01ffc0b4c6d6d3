"""What lanes of an outer product do, operation by operation: lists of runs that grow, and lists whose runs become one.

Operations are done in the order of their numbers, which changes the order of nodes in lists, and nothing else; `model.outer`
has when lanes do what. A run is `int64[n, 2]`: coordinates that rise, and values.

Source:  OuterSPACE IV-A and IV-B; `hw.arch.outer_product` for limits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
import scipy.sparse

from ...hw.arch.cartesian import LEFT, RIGHT
from ...hw.arch.logic import OPERATIONS
from ...hw.arch.outer_product import RUNS, OuterProduct
from .cartesian import value as given_by

HALF = 1 << 31


def fibers(matrix: scipy.sparse.csc_array | scipy.sparse.csr_array) -> list[np.ndarray]:
    """The columns of a matrix, or its rows: coordinates and values."""
    pairs = np.column_stack([matrix.indices, matrix.data]).astype(np.int64)
    return np.split(pairs, matrix.indptr[1:-1])


def multiplied(kind: OuterProduct, columns: Sequence[np.ndarray], rows: Sequence[np.ndarray],
               height: int) -> list[list[np.ndarray]]:
    """The lists that columns of one operand, coordinates of lists, and rows of the other one leave; the last node first."""
    lists: list[list[np.ndarray]] = [[] for _ in range(height)]
    half = kind.pairs // 2
    for column, row in zip(columns, rows, strict=True):
        for at in range(0, len(row), half):
            part = row[at:at + half]
            for place, factor in column.tolist():
                found = [given_by(kind.value, {LEFT: factor, RIGHT: int(each)}) for each in part[:, 1]]
                lists[place].insert(0, np.column_stack([part[:, 0], _wrapped(np.array(found, np.int64))]))
    return lists


def merged(kind: OuterProduct, runs: Sequence[np.ndarray]) -> tuple[np.ndarray, int]:
    """The row that a list becomes, and how often two runs became one; AssertionError for one that has no room.

    Elements come one by one into half of the memory; runs are cut where coordinates do not rise. When it is full, or there are
    as many runs as may be, the two oldest become one behind the last, until one is left.
    """
    half = kind.pairs // 2
    waiting: deque[list[tuple[int, int]]] = deque()
    held, count = 0, 0
    meaning = OPERATIONS[kind.reduction].meaning
    came = deque((int(place), meaning(kind.first, int(value))) for run in runs for place, value in run)
    while came:
        opened = False      # a run that is merged does not go on
        while came and held < half:
            if not opened or came[0][0] <= waiting[-1][-1][0]:
                if len(waiting) == RUNS - 1:
                    break
                waiting.append([])
            waiting[-1].append(came.popleft())
            opened, held = True, held + 1
        while len(waiting) > 1:
            both = [*waiting.popleft(), *waiting.popleft()]
            sums: dict[int, int] = {}
            for place, value in sorted(both):
                sums[place] = meaning(sums[place], value) if place in sums else value
            waiting.append(list(sums.items()))
            held -= len(both) - len(sums)
            count += 1
        assert not came or held < half, "a row has no room in a lane"
    row = np.array(waiting[0] if waiting else [], np.int64).reshape(-1, 2)
    return np.column_stack([row[:, 0], _wrapped(row[:, 1])]), count


def _wrapped(values: np.ndarray) -> np.ndarray:
    found: np.ndarray = (values + HALF) % (2 * HALF) - HALF
    return found
