"""Streams over boxes of several images: some rows of one, then some of another, as weights and rows of a matrix product.

    the rows of weights that stay, 4 of 16 words, then the rows that stream past, 60 of 16 words
        boxes, one behind the other      4 x 16, 60 x 16
        loops                            16 of 1, 64 of 16: one

    columns of both, 4 and 60 of each of 16 rows
        boxes, beside each other         16 x 4, 16 x 60, in rows of 64 words
        loops                            16 of 64, 64 of 1

A DMA or a host moves the rows of boxes, at once where they are whole rows of images and stand one behind the other. A stream
may begin within the first line of its rows, as one that takes some terms of each row. The streams of a launch stand one behind
the other.

Needs:   boxes, where they stand, and the loops that read them.
Gives:   those of a launch.
Cost:    no copy of a word.
Source:  Onyx JSSC V-C (affine loops of the load unit).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...compiler.dense.map.affine import Loop
from ..commands import Box
from .load_loops import Arranged, Reads


@dataclass(frozen=True, eq=False)
class Stack(Arranged):
    """A stream over boxes.

    Parameters
    ----------
    boxes : tuple of Box     Of two dimensions.
    at : tuple of int        Where they begin in the global buffer, in words.
    held : int               Words there of all of them.
    nest : tuple             Loops that read them, innermost first.
    most : int               Loops that there are.
    first : int              The word that is read first.
    """

    boxes: tuple[Box, ...]
    at: tuple[int, ...]
    held: int
    nest: tuple[Loop, ...]
    most: int
    first: int = 0

    @property
    def count(self) -> int:
        """Words of the stream."""
        return math.prod(count for count, _ in self.nest)

    @property
    def words(self) -> np.ndarray:
        """All words of the stream, in order."""
        return Reads(self.boxes, self.nest, self.first, self.at).words

    @property
    def alike(self) -> tuple[object, ...]:
        """What is the same for those of a launch: all but which words these are."""
        return [(each.shape, each.pitch) for each in self.boxes], self.at, self.held, self.nest, self.first


def stacked(stacks: Sequence[Stack], room: int) -> tuple[Reads, int] | None:
    """What the first of some streams reads out of the boxes of all, and words from one to the next.

    None if boxes are of other shapes, take more than `room` words, or there are too few loops.
    """
    first = stacks[0]
    if any(each.alike != first.alike for each in stacks) or len(first.nest) > first.most or first.held * len(stacks) > room:
        return None
    boxes = tuple(box for each in stacks for box in each.boxes)
    at = tuple(number * first.held + begin for number in range(len(stacks)) for begin in first.at)
    return Reads(boxes, first.nest, first.first, at), first.held
