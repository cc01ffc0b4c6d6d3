"""Streams that read an image as it lies in memory: for every tile a window of it.

What a launch needs of the image comes into the global buffer as a box: rows one behind the other, each word once, also where
the windows of its tiles overlap. The load DMA walks a window by its loops, and the windows of a launch by one more:

    image of 20 columns, two tiles with windows of 6 x 3 from columns 5 and 8 on, row 2 for both

        box          columns 4..15, rows 2..4: 12 words a row
        first word   1
        loops        6 of 1, 3 of 12; windows: 2 of 3

A row begins at a line of 8 bytes, in the box as in the image, so that a DMA or a host moves it as it is. Nobody arranges words.
Boxes of windows of one size have one size, wherever these begin, so that registers keep what they say. Windows can be arranged
too, each word where it is read (`apart`), as streams are that are no windows.

Needs:   an image as words, and in each dimension the place that every point reads.
Gives:   the box of some windows, the loops that read it; None where loops cannot.
Cost:    no copy of a word.
Source:  Onyx JSSC V-C (affine loops of the load unit).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...compiler.dense.map.affine import Loop, nest
from ...hw.arch.glb import LANES
from ..commands import Box
from .load_loops import Reads, held_once, joined


@dataclass(frozen=True, eq=False)
class Window:
    """A stream over an image.

    Parameters
    ----------
    image : uint16 array     ``[.., y, x]``, as of `Box`.
    places : tuple of int arrays     For each dimension, x first, the place in the image that every point reads.
    most : int               Loops that read it at most.
    lead : int               Most words between the begin of a line and the first word that a window of the stream reads in it.
    """

    image: np.ndarray
    places: tuple[np.ndarray, ...]
    most: int
    lead: int = LANES - 1

    @property
    def count(self) -> int:
        """Words of the stream."""
        return math.prod(map(len, self.places))

    @property
    def words(self) -> np.ndarray:
        """All words of the stream, in order."""
        return self._at(self.places)

    @property
    def size(self) -> int:
        """Words in the global buffer, if it is arranged."""
        return math.prod(map(len, self._once[0]))

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops, if it is arranged."""
        return self._once[1]

    @property
    def apart(self) -> Reads:
        """The stream with words that are arranged for it."""
        return Reads(self._at(self._once[0]), self.loops)

    @cached_property
    def extents(self) -> tuple[tuple[int, int, int], ...]:
        """In each dimension, x first, the lowest place, the highest one, and that of the first point."""
        return tuple((int(each.min()), int(each.max()), int(each[0])) for each in self.places)

    @cached_property
    def nests(self) -> tuple[tuple[Loop, ...], ...] | None:
        """In each dimension, x first, the loops that walk the image; None if there are none."""
        found = [nest(each - each[0]) for each in self.places]
        return None if None in found else tuple(tuple(each) for each in found if each is not None)

    @cached_property
    def _once(self) -> tuple[list[np.ndarray], tuple[Loop, ...]]:
        return held_once(self.places, self.most)

    def _at(self, places: Sequence[np.ndarray]) -> np.ndarray:
        return self.image[np.ix_(*places[::-1])].reshape(-1)


def boxed(windows: Sequence[Window], room: int) -> tuple[Reads, int] | None:
    """What the first of some windows reads out of the box of all, and words from one to the next.

    None if no loops do that, or if the box takes more than `room` words.
    """
    first = windows[0]
    if first.nests is None or any(each.image is not first.image or each.nests != first.nests for each in windows):
        return None
    corner, shape = [], []
    for dim in range(len(first.places)):
        low = min(each.extents[dim][0] for each in windows)
        size = max(each.extents[dim][1] for each in windows) + 1 - low
        if dim == 0:
            row = first.image.shape[-1]
            size = min(filled(size + first.lead), row)
            low = min(low // LANES * LANES, row - size)
        corner.append(low)
        shape.append(size)
    words = math.prod(shape)
    loops = joined(first.nests, shape)
    if len(loops) > first.most or words > room:
        return None
    pitch = [math.prod(shape[:dim]) for dim in range(len(shape))]
    begins = [sum((first - low) * step for (_, _, first), low, step in zip(each.extents, corner, pitch, strict=True))
              for each in windows]
    steps = set(np.diff(begins).tolist())
    if len(steps) > 1:
        return None
    box = Box(first.image, tuple(corner[::-1]), tuple(shape[::-1]))
    return Reads((box,), loops, begins[0]), steps.pop() if steps else 0


def in_step(windows: Sequence[Window]) -> int:
    """How many of the first windows are in one step in each dimension."""
    firsts = np.array([[first for _, _, first in each.extents] for each in windows])
    steps = np.diff(firsts, axis=0)
    others = np.flatnonzero((steps != steps[:1]).any(axis=1))
    return int(others[0]) + 1 if len(others) else len(windows)


def filled(size: int) -> int:
    """Words of a row that is filled up to lines."""
    return -(-size // LANES) * LANES


def rows(words: np.ndarray) -> np.ndarray:
    """An image whose rows are filled up to lines with zeros."""
    return np.ascontiguousarray(np.pad(words, [(0, 0)] * (words.ndim - 1) + [(0, -words.shape[-1] % LANES)]), np.uint16)
