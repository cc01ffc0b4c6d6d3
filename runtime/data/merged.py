"""Between partial matrices and the streams of a merger: elements by rows and columns, with an end for each operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...hw.arch.merger import Merger

Ints: TypeAlias = NDArray[np.int64]
# Coordinates, a row times the columns of the matrix plus a column, rising, and a value for each.
Fiber: TypeAlias = tuple[Ints, Ints]
# A key and a value.
Element = tuple[int, int]


def dealt(kind: Merger, operations: Sequence[Sequence[Fiber]]) -> list[list[list[Element]]]:
    """The elements of each lane and way, from the fibers of each operation and way; ways that are not given have ends alone."""
    found: list[list[list[Element]]] = [[[] for _ in range(kind.ways)] for _ in range(kind.lanes)]
    for fibers in operations:
        for way in range(kind.ways):
            coordinates, values = fibers[way] if way < len(fibers) else (np.zeros(0, np.int64), np.zeros(0, np.int64))
            rows, columns = np.divmod(coordinates, kind.columns)
            keys = rows << kind.column_bits | columns
            for lane in range(kind.lanes):
                mine = rows % kind.lanes == lane
                found[lane][way] += [*zip(keys[mine].tolist(), values[mine].tolist()), (kind.end, 0)]
    return found


def words(kind: Merger, lanes: Sequence[Sequence[Sequence[Element]]]) -> dict[str, list[int]]:
    """The words of every input stream, by its name."""
    wraps = (1 << kind.bits) - 1
    return {kind.input(way, lane, nth): [value & wraps | key << kind.bits for key, value in fiber[nth::kind.take]]
            for lane, fibers in enumerate(lanes) for way, fiber in enumerate(fibers) for nth in range(kind.take)}


def elements(kind: Merger, streams: Mapping[str, Sequence[int]]) -> list[list[Element]]:
    """The elements of every lane, from the words of every output stream."""
    found = []
    half, wraps = 1 << kind.bits - 1, 1 << kind.bits
    for lane in range(kind.lanes):
        parts = [streams[kind.output(lane, nth)] for nth in range(kind.take)]
        longest = max(map(len, parts))
        found.append([(word >> kind.bits, (word + half) % wraps - half)
                      for at in range(longest) for part in parts if at < len(part) for word in part[at:at + 1]])
    return found


def collected(kind: Merger, lanes: Sequence[Sequence[Element]], operations: int) -> list[Fiber]:
    """The fiber of each operation; AssertionError for ends too few or too many, and for elements in no order."""
    parts: list[list[Fiber]] = [[] for _ in range(operations)]
    for lane, given in enumerate(lanes):
        pairs = np.array(given, np.int64).reshape(-1, 2)
        ends = np.flatnonzero(pairs[:, 0] == kind.end)
        assert len(ends) == operations, f"lane {lane} gave {len(ends)} of {operations} operations"
        assert ends[-1] == len(pairs) - 1, f"lane {lane} gave elements behind the last end"
        for at, (begin, end) in enumerate(zip([0, *(ends[:-1] + 1)], ends)):
            keys, values = pairs[begin:end].T
            assert np.all(np.diff(keys) > 0), f"lane {lane} gave coordinates in no order"
            rows = keys >> kind.column_bits
            assert np.all(rows % kind.lanes == lane), f"lane {lane} gave rows of others"
            parts[at].append((rows * kind.columns + (keys & (1 << kind.column_bits) - 1), values))
    found = []
    for lanes_of in parts:
        coordinates, values = (np.concatenate([each[part] for each in lanes_of]) for part in range(2))
        order = np.argsort(coordinates, kind="stable")
        found.append((coordinates[order], values[order]))
    return found
