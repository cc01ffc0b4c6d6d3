"""Streams over rows of several images: some rows of one, then some of another, as weights and rows of a matrix product.

    the rows of weights that stay, 4 of 16 words, then the rows that stream past, 60 of 16 words
        boxes, one behind the other      4 x 16, 60 x 16
        loops                            16 of 1, 64 of 16: one

Boxes of a stream have rows of one length, which lie one behind the other: where they are whole rows of images a DMA or a host
moves each box at once. A stream may begin within the first line of its rows, as one that takes some terms of each row. The
streams of a launch stand one behind the other.

Needs:   boxes.
Gives:   the loops that read them.
Cost:    no copy of a word.
Source:  Onyx JSSC V-C (affine loops of the load unit).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..commands import Box
from .load_loops import Arranged, Reads, joined


@dataclass(frozen=True, eq=False)
class Stack(Arranged):
    """A stream over the rows of boxes.

    Parameters
    ----------
    boxes : tuple of Box     Of two dimensions, of rows of one length.
    columns : int            How many words of each row are read.
    most : int               Loops that read it at most.
    lead : int               Words of each row in front of them.
    """

    boxes: tuple[Box, ...]
    columns: int
    most: int
    lead: int = 0

    @property
    def rows(self) -> int:
        """Rows of the stream."""
        return sum(each.shape[0] for each in self.boxes)

    @property
    def count(self) -> int:
        """Words of the stream."""
        return self.columns * self.rows

    @property
    def words(self) -> np.ndarray:
        """All words of the stream, in order."""
        return np.concatenate([each.words[:, self.lead:self.lead + self.columns].reshape(-1) for each in self.boxes])


def stacked(stacks: Sequence[Stack], room: int) -> tuple[Reads, int] | None:
    """What the first of some streams reads out of the boxes of all, and words from one to the next.

    None if boxes are of other shapes, take more than `room` words, or there are too few loops.
    """
    first = stacks[0]
    shapes = [each.shape for each in first.boxes]
    loops = joined([[(first.columns, 1)], [(first.rows, 1)]], [shapes[0][1], first.rows])
    boxes = tuple(box for each in stacks for box in each.boxes)
    words = first.rows * shapes[0][1]
    alike = all([box.shape for box in each.boxes] == shapes and (each.columns, each.lead) == (first.columns, first.lead)
                for each in stacks)
    if not alike or len(loops) > first.most or words * len(stacks) > room:
        return None
    return Reads(boxes, loops, first.lead), words
