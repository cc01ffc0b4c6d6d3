"""Between operands and the streams of an array in which nonzeros meet in vectors: fibers, part by part of the result.

Operands are of one operation here.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...hw.arch.cartesian import Cartesian
from ...hw.arch.errors import UserError
from ...hw.arch.vectored import Side, Vectored

# Values and places of the left fiber, and of the right one.
Pair = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
NOTHING = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Part:
    """What the sums hold at once: how many places of the result's outermost dimension, and the fibers that meet for it."""

    rows: int
    pairs: tuple[Pair, ...]

    @property
    def products(self) -> int:
        """Of elements that meet."""
        return sum(len(left) * len(right) for left, _, right, _ in self.pairs)


def parts(made: Vectored, operands: Mapping[str, np.ndarray], every: bool = False) -> list[Part]:
    """All parts of an operation. UserError where a fiber of the smallest part is not held.

    every: fibers without elements, too, as many of each part as `Vectored.fibers`.
    """
    found, first = [], 0
    end = made.result.shape[0] if made.part else 1
    stored = made.kind.stored
    while first < end:
        count = min(made.most, end - first) if made.part else 1
        # Fibers of the right side are held, so that less is done at once where they are long.
        while (vectors := _vectors(made, operands, range(first, first + count))) > stored and count > 1:
            count -= 1
        if vectors > stored:
            raise UserError(f"a fiber of {made.right.tensor.name} has {vectors:,} vectors, and its buffer holds {stored:,}",
                            made.kind.name, "give it a larger buffer, or less elements that are not 0")
        pairs = [*_pairs(made, operands, range(first, first + count), every)]
        found.append(Part(count, (*pairs, *((NOTHING,) * 4,) * (made.fibers - len(pairs) if every else 0))))
        first += count
    return found


def _cut(made: Vectored, side: Side, array: np.ndarray, rows: range) -> np.ndarray:
    """What of an operand a part has; its indices shared first, in their order, then those along fibers."""
    if made.part in side.indices:
        array = array.take(np.arange(rows.start, rows.stop), axis=side.indices.index(made.part))
    order = [index for index in made.shared if index in side.indices] + [*side.along]
    return array.transpose([side.indices.index(index) for index in order])


def _there(side: Side, array: np.ndarray) -> np.ndarray:
    return array != 0 if side.sparse else np.ones(array.shape, bool)


def _vectors(made: Vectored, operands: Mapping[str, np.ndarray], rows: range) -> int:
    """Of the longest fiber of the right side."""
    there = _there(made.right, _cut(made, made.right, operands[made.right.tensor.name], rows))
    along = tuple(range(there.ndim - len(made.right.along), there.ndim))
    return -(-int(there.sum(axis=along).max()) // made.kind.right)


def _pairs(made: Vectored, operands: Mapping[str, np.ndarray], rows: range, every: bool) -> Iterator[Pair]:
    """The fibers of a part, or those that have elements."""
    sides = (made.left, made.right)
    arrays = [_cut(made, side, operands[side.tensor.name], rows) for side in sides]
    bounds = {index: len(rows) if made.part and index == made.part else extent for index, extent in made.bounds}
    for at in itertools.product(*(range(bounds[index]) for index in made.shared)):
        names = dict(zip(made.shared, at))
        left, right = (_fiber(side, array[tuple(names[index] for index in made.shared if index in side.indices)], names)
                       for side, array in zip(sides, arrays))
        if every or (len(left[0]) and len(right[0])):
            yield *left, *right


def _fiber(side: Side, array: np.ndarray, shared: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """The values and places of a fiber."""
    at = np.nonzero(_there(side, array))
    factors = dict(side.factors)
    places = np.full(len(at[0]), side.constant + sum(factors.get(index, 0) * each for index, each in shared.items()), np.int64)
    for index, axis in zip(side.along, at):
        places += factors.get(index, 0) * axis
    return array[at], places


def streams(kind: Cartesian, found: Sequence[Part]) -> dict[str, list[int]]:
    """The words of each stream."""
    words: dict[str, list[int]] = {f"{side}{n}": [] for side, count in (("left", kind.left), ("right", kind.right))
                                   for n in range(count)}
    for part in found:
        pairs = part.pairs or ((NOTHING,) * 4,)
        for nth, (left, at, right, to) in enumerate(pairs):
            _add(kind, words, "left", left, at, nth == len(pairs) - 1)
            _add(kind, words, "right", right, to, False)
    return words


def _add(kind: Cartesian, found: Mapping[str, list[int]], side: str, values: np.ndarray, places: np.ndarray,
         ends: bool) -> None:
    """A fiber, as vectors; those that mark the last one are of it alone."""
    size, bits = (kind.left, kind.left_bits) if side == "left" else (kind.right, kind.right_bits)
    count = max(1, -(-len(values) // size))
    words = np.zeros(count * size, np.int64)
    words[:len(values)] = values % (1 << bits) | places << bits | 1 << bits + kind.place_bits
    words = words.reshape(count, size)
    words[-1] |= (int(ends) | 2) << bits + kind.place_bits + 1
    for n in range(size):
        found[f"{side}{n}"] += words[:, n].tolist()


def collected(made: Vectored, outputs: Mapping[str, Sequence[int]], rows: Sequence[int]) -> np.ndarray:
    """The result from the sums of all parts, of each how many places of the outermost dimension it has."""
    kind = made.kind
    sums = np.array([outputs[f"o{n}"] for n in range(kind.banks)], np.int64)
    assert sums.shape == (kind.banks, len(rows) * kind.words), "each part gives all sums"
    by_place = sums.reshape(kind.banks, len(rows), kind.words).transpose(1, 2, 0).reshape(len(rows), -1)
    half = 1 << kind.sum_bits - 1
    found = np.concatenate([each[:count * made.row] for each, count in zip(by_place, rows, strict=True)])
    return ((found + half) % (2 * half) - half).reshape(made.result.shape)
