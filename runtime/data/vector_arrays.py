"""Operands of vectors in memory: each part's fibers as a compressed tensor, of which segments go on from tensor to tensor.

Coordinates of elements are their places. Elements come in pairs, of which segments tell the number: a vector begins with a
pair, and an element that is none is nowhere. Tensors that are alike, as those of an image that several parts
read, lie there once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...hw.arch.dma import LINE
from ...hw.arch.level_arrays import SEGMENT_BITS
from ...hw.arch.vectored import NOWHERE, Side, Vectored
from .vectors import Part, parts

SEGMENT_BYTES = SEGMENT_BITS // 8


@dataclass(frozen=True)
class Fibers:
    """Where tensors of an operand are: byte addresses, the logarithm of the bytes of a pair of values, fibers of a tensor."""

    segments: int
    coordinates: int
    values: int
    size: int
    fibers: int

    def addresses(self, tensor: int) -> tuple[int, int, int]:
        """Of the arrays of a tensor, as a request names them."""
        return self.segments + tensor * self.fibers * SEGMENT_BYTES, self.coordinates, self.values


@dataclass(frozen=True)
class Laid:
    """Operations in memory.

    Parameters
    ----------
    content : bytes      From address 0 on; the result is behind it.
    sides : tuple        Of the left operand and of the right one.
    tensors : tuple      Of each part: the tensor of either side.
    sums : tuple         Of each part: the elements of the result.
    size : int           The logarithm of the bytes of an element of the result.
    """

    content: bytes
    sides: tuple[Fibers, Fibers]
    tensors: tuple[tuple[int, int], ...]
    sums: tuple[int, ...]
    size: int

    @property
    def results(self) -> list[int]:
        """Of each part: the byte address of its elements."""
        begins = np.cumsum([0, *self.sums])[:-1] << self.size
        return [len(self.content) + int(each) for each in begins]

    @property
    def result_bytes(self) -> int:
        """Of all results."""
        return sum(self.sums) << self.size


def laid(made: Vectored, given: Mapping[str, np.ndarray], first: int, size: int) -> Laid:
    """Operations one behind the other.

    given: operands with an axis for operations in front.  first: the byte from which on there is room.
    """
    count = len(next(iter(given.values())))
    found = [part for at in range(count) for part in parts(made, {name: each[at] for name, each in given.items()}, True)]
    content, sides, tensors = bytes(first), [], []
    for nth, side in enumerate((made.left, made.right)):
        content, place, numbers = _side(content, made, side, nth, found)
        sides.append(place)
        tensors.append(numbers)
    sums = tuple(part.rows * made.row for part in found)
    return Laid(content, (sides[0], sides[1]), tuple(zip(*tensors, strict=True)), sums, size)


def _side(content: bytes, made: Vectored, side: Side, nth: int, found: Sequence[Part]) -> tuple[bytes, Fibers, list[int]]:
    """Memory with the tensors of an operand, where they are, and which one each part has."""
    known: dict[tuple[bytes, ...], int] = {}
    lengths: list[int] = []
    coordinates: list[np.ndarray] = []
    values: list[np.ndarray] = []
    numbers = []
    for part in found:
        fibers = [(pair[2 * nth], pair[2 * nth + 1]) for pair in part.pairs]
        key = tuple(each.tobytes() for fiber in fibers for each in fiber)
        if key not in known:
            known[key] = len(known)
            size = (made.kind.left, made.kind.right)[nth]
            for each, at in fibers:
                values.append(_paired(each, size, 0))
                coordinates.append(_paired(at, size, NOWHERE))
                lengths.append(len(values[-1]) // 2)
        numbers.append(known[key])
    wide = made.value_bits(side) // 8
    addresses = []
    for array, kind in ((np.cumsum([0, *lengths]), np.int32), (np.concatenate(coordinates), np.uint16),
                        (np.concatenate(values), {1: np.int8, 2: np.int16}[wide])):
        content += bytes(-len(content) % LINE)
        addresses.append(len(content))
        content += array.astype(kind).tobytes()
    content += bytes(-len(content) % LINE)
    return content, Fibers(addresses[0], addresses[1], addresses[2], (2 * wide).bit_length() - 1, made.fibers), numbers


def _paired(elements: np.ndarray, size: int, nothing: int) -> np.ndarray:
    """Elements of a fiber as pairs: those of an odd vector have one more that is none."""
    vectors = np.full((-(-len(elements) // size), -(-size // 2) * 2), nothing, np.int64)
    pad = np.full(vectors.shape[0] * size, nothing, np.int64)
    pad[:len(elements)] = elements
    vectors[:, :size] = pad.reshape(-1, size)
    last = len(elements) - size * (len(vectors) - 1)        # elements of the last vector
    return vectors.ravel()[:vectors.shape[1] * (len(vectors) - 1) + -(-last // 2) * 2] if len(elements) else vectors.ravel()
