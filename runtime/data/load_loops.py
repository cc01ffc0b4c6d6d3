"""What the load DMA reads: the words of a stream that the global buffer holds, and the loops that walk them.

A stream over a grid often has words more than once: an enlarged image has each in several columns and rows, one that does not
depend on a dimension has it in all of this, a mask repeats. Such words are held once.

    elements 0 0 1 1 2 2 of a row, the same for four rows:  held 0 1 2, loops of 2, 3 and 4 with strides 0, 1 and 0

Needs:   the element that every point reads, in each dimension.
Gives:   the elements that are held in each dimension, and loops.
Source:  Onyx JSSC V-C (affine loops of the load unit).
"""

from __future__ import annotations

import functools
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...compiler.dense.map.affine import Loop, nest
from ..commands import Box


@dataclass(frozen=True)
class Reads:
    """A stream: for every iteration of the loops, the word at `first` and the sum of stride * iteration.

    Parameters
    ----------
    held : uint16 array | tuple of Box      Words in the global buffer; or boxes of images.
    loops : tuple of (int, int)  Iterations and stride in words of every loop, innermost first.
    first : int                  Of the words that are held, the one that is read first.
    at : tuple of int            Where boxes begin, in words; by default they stand one behind the other.
    """

    held: np.ndarray | tuple[Box, ...]
    loops: tuple[Loop, ...]
    first: int = 0
    at: tuple[int, ...] = ()

    @property
    def pieces(self) -> tuple[tuple[int, np.ndarray, Box | None], ...]:
        """Words that come together, in which word of the stream's place, and the boxes they are."""
        if not isinstance(self.held, tuple):
            return (0, self.held, None),
        at = self.at or [0, *itertools.accumulate(each.reach for each in self.held)]
        return tuple((begin, each.words, each) for begin, each in zip(at, self.held, strict=False))

    @property
    def size(self) -> int:
        """Words in the global buffer."""
        return max(begin + (words.size if box is None else box.reach) for begin, words, box in self.pieces)

    @property
    def count(self) -> int:
        """Words of the stream."""
        return math.prod(count for count, _ in self.loops)

    @property
    def words(self) -> np.ndarray:
        """All words of the stream, in order."""
        steps = [stride * np.arange(count) for count, stride in reversed(self.loops)]
        return self.memory[self.first + functools.reduce(np.add.outer, steps, np.zeros(1, int)).reshape(-1)]

    @property
    def memory(self) -> np.ndarray:
        """The words in the global buffer, with zeros where none come."""
        if not isinstance(self.held, tuple):
            return self.held.reshape(-1)
        memory = np.zeros(self.size, np.uint16)
        for begin, words, box in self.pieces:
            assert box is not None, "they are boxes"
            for number, row in enumerate(words.reshape(-1, box.shape[-1])):
                memory[begin + number * box.pitch:][:len(row)] = row
        return memory

    @property
    def apart(self) -> Reads:
        """Itself: its words are arranged for this stream alone; see `Window.apart`."""
        return self


class Arranged(ABC):
    """Words that lie somewhere, and are read from there, or arranged one after the other for a stream."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many they are."""

    @property
    @abstractmethod
    def words(self) -> np.ndarray:
        """All of them, in order."""

    @property
    def size(self) -> int:
        """Words in the global buffer, if they are arranged."""
        return self.count

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops, if they are arranged."""
        return ((self.count, 1),)

    @property
    def apart(self) -> Reads:
        """The stream with words that are arranged for it."""
        return in_order(self.words)


def in_order(words: np.ndarray) -> Reads:
    """A stream of words that are held one after the other."""
    return Reads(words, ((len(words), 1),))


def repeated(words: np.ndarray, count: int) -> Reads:
    """A stream of so many blocks one after the other, of which one is held if all are alike, as the extents of dense levels
    are."""
    one, rest = divmod(len(words), count)
    if count == 1 or rest or not one or not (words.reshape(count, one) == words[:one]).all():
        return in_order(words)
    return Reads(words[:one], ((one, 1), (count, 0)))


def held_once(dims: Sequence[np.ndarray], most: int) -> tuple[list[np.ndarray], tuple[Loop, ...]]:
    """The elements to hold in each dimension, x first, and at most `most` loops that read from them those of `dims`.

    If that takes more loops, elements of some dimensions are held as often as they are read: first those of which this adds
    the least.
    """
    once = {dim: found for dim, elements in enumerate(dims) if (found := _once(elements)) is not None}
    while True:
        held = [once[dim][0] if dim in once else elements for dim, elements in enumerate(dims)]
        loops = joined([once[dim][1] if dim in once else [(len(elements), 1)] for dim, elements in enumerate(dims)],
                       [len(each) for each in held])
        if len(loops) <= most:
            return held, loops
        del once[min(once, key=lambda dim: len(dims[dim]) / len(once[dim][0]))]


def _once(elements: np.ndarray) -> tuple[np.ndarray, list[Loop]] | None:
    """Each element once, as they come, and the loops that read all from these; None if there are no such loops."""
    held, first, places = np.unique(elements, return_index=True, return_inverse=True)
    order = np.argsort(first)
    loops = nest(np.argsort(order)[places])
    return None if loops is None else (held[order], loops)


def joined(nests: Sequence[Sequence[Loop]], sizes: Sequence[int]) -> tuple[Loop, ...]:
    """One nest from those of all dimensions, of which so many elements are held each; loops that go on where the one inside
    them ends as one."""
    loops: list[Loop] = []
    pitch = 1
    for each, size in zip(nests, sizes, strict=True):
        for count, stride in each:
            if loops and stride * pitch == math.prod(loops[-1]):
                loops[-1] = loops[-1][0] * count, loops[-1][1]
            elif count > 1:
                loops.append((count, stride * pitch))
        pitch *= size
    return tuple(loops) or ((1, 1),)
