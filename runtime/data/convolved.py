"""Between sparse images and weights and the streams of an array of Cartesian products.

A place is that of an output in the full convolution, in which the kernel may lie over the edges of the image: the sum of what
the pixel and what the weight add. So no product is left out, and each has a sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...hw.arch.cartesian import Cartesian
from ...hw.arch.errors import UserError


@dataclass(frozen=True)
class Fibers:
    """What a group of outputs takes: how many there are, and for each channel values and places of the pixels and of the
    weights that are not 0."""

    outputs: int
    pairs: tuple[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], ...]

    @property
    def products(self) -> int:
        """Of elements that are not 0."""
        return sum(len(pixels) * len(weights) for pixels, _, weights, _ in self.pairs)


def fibers(kind: Cartesian, image: np.ndarray, weights: np.ndarray) -> list[Fibers]:
    """The fibers of every group of outputs.

    image, weights: (channels, rows, columns) and (outputs, channels, rows, columns). UserError where one output does not fit.
    """
    height, width = (a + b - 1 for a, b in zip(image.shape[1:], weights.shape[2:]))
    most = kind.places // (height * width)
    if not most:
        raise UserError(f"an output has {height * width:,} sums, and the array {kind.places:,}", kind.name,
                        "give smaller images, or more words")
    found, first = [], 0
    while first < len(weights):
        count = min(most, len(weights) - first)
        # Weights of a channel are held, so that fewer outputs go together where many are not 0.
        while count > 1 and _vectors(weights[first:first + count], kind.right) > kind.stored:
            count -= 1
        if (vectors := _vectors(weights[first:first + count], kind.right)) > kind.stored:
            raise UserError(f"weights of an output and a channel are {vectors:,} vectors, and the array holds {kind.stored:,}",
                            kind.name, "give smaller kernels, or a larger store")
        found.append(Fibers(count, tuple(_pairs(image, weights[first:first + count], height, width))))
        first += count
    return found


def _vectors(weights: np.ndarray, size: int) -> int:
    return -(-int((weights != 0).sum(axis=(0, 2, 3)).max()) // size)


def _pairs(image: np.ndarray, weights: np.ndarray, height: int,
           width: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    rows, columns = weights.shape[2:]
    for channel, plane in enumerate(image):
        y, x = np.nonzero(plane)
        k, r, s = np.nonzero(weights[:, channel])
        if len(y) and len(k):
            yield (plane[y, x], y * width + x, weights[k, channel, r, s],
                   k * height * width + (rows - 1 - r) * width + columns - 1 - s)


def streams(kind: Cartesian, groups: Sequence[Fibers]) -> dict[str, list[int]]:
    """The words of each stream."""
    found: dict[str, list[int]] = {f"{side}{n}": [] for side, count in (("left", kind.left), ("right", kind.right))
                                   for n in range(count)}
    nothing = np.zeros(0, np.int64)
    for group in groups:
        pairs = group.pairs or ((nothing,) * 4,)
        for nth, (pixels, at, weights, to) in enumerate(pairs):
            ends = nth == len(pairs) - 1
            _add(kind, found, "left", kind.left, pixels, at, ends)
            _add(kind, found, "right", kind.right, weights, to, False)
    return found


def _add(kind: Cartesian, found: Mapping[str, list[int]], side: str, size: int, values: np.ndarray, places: np.ndarray,
         ends: bool) -> None:
    """A fiber, as vectors; those that mark the last one are of it alone."""
    count = max(1, -(-len(values) // size))
    words = np.zeros(count * size, np.int64)
    words[:len(values)] = values % (1 << kind.bits) | places << kind.bits | 1 << kind.bits + kind.place_bits
    words = words.reshape(count, size)
    words[-1] |= (int(ends) | 2) << kind.bits + kind.place_bits + 1
    for n in range(size):
        found[f"{side}{n}"] += words[:, n].tolist()


def collected(kind: Cartesian, outputs: Mapping[str, Sequence[int]], groups: Sequence[int],
              plane: tuple[int, int]) -> np.ndarray:
    """The outputs of all groups, (outputs, rows, columns); groups: how many outputs each has."""
    sums = np.array([outputs[f"o{n}"] for n in range(kind.banks)], np.int64)
    assert sums.shape == (kind.banks, len(groups) * kind.words), "each group gives all sums"
    by_place = sums.reshape(kind.banks, len(groups), kind.words).transpose(1, 2, 0).reshape(len(groups), -1)
    half = 1 << kind.sum_bits - 1
    size = plane[0] * plane[1]
    found = [each[:count * size].reshape(count, *plane) for each, count in zip(by_place, groups, strict=True)]
    return (np.concatenate(found) + half) % (2 * half) - half
