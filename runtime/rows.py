"""Rows of images as the system DMA moves them between memory outside and the global buffer.

    rows 4..6 of an image of 16 words a row, words 6..9 of each; in the global buffer in rows of 8 words:

        outside     bytes 140, 172, 204
        there       bytes 4, 20, 36
        8 bytes each, both from the same byte of a line on

What lies one behind the other on both sides is one row.

Input:   part of an image, `Box` or `Landing`.
Output:  `Rows`, one for each place in the dimensions above y, of as many as a transfer may have.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

from ..compiler.ir.transfer import WORD_BYTES
from ..hw.arch.glb import LINE_BYTES
from ..hw.arch.system import MORE_ROWS_BITS
from .commands import Box, Landing
from .data.window import filled

MOST_ROWS = 1 << MORE_ROWS_BITS     # of a transfer


class Rows(NamedTuple):
    """How many rows, the bytes of one, where the first begins and from one to the next: outside, and in the global buffer."""

    number: int
    size: int
    outside: int
    outside_pitch: int
    glb: int
    glb_pitch: int


def rows(part: Box | Landing) -> Iterator[Rows]:
    """The bytes of a part, counted from the begin of its image and from its place in the global buffer."""
    whole, corner, shape = part.image.shape[::-1], part.corner[::-1], part.shape[::-1]
    held = (part.pitch, *shape[1:])
    outside, glb = ([WORD_BYTES * math.prod(sides[:dim]) for dim in range(len(sides))] for sides in (whole, held))
    begin = sum(pitch * first for pitch, first in zip(outside, corner, strict=True))
    # Rows that are whole lie one behind the other, with what fills them up.
    sizes = (whole[0], *shape[1:]) if corner[0] == 0 and filled(shape[0]) == part.pitch == whole[0] else shape
    # In the global buffer they may stand apart.
    inner = next((dim for dim in range(len(sizes)) if sizes[dim] != whole[dim] or part.pitch != whole[0]), len(sizes) - 1)
    size, rest = sizes[inner] * outside[inner], [*zip(sizes, outside, glb, strict=True)][inner + 1:]
    (count, one, other), above = rest[0] if rest else (1, size, size), rest[1:]
    for place in itertools.product(*(range(side) for side, _, _ in above[::-1])):
        moved = [(at * one, at * other) for at, (_, one, other) in zip(place[::-1], above, strict=True)]
        for first in range(0, count, MOST_ROWS):
            yield Rows(min(MOST_ROWS, count - first), size, begin + first * one + sum(at for at, _ in moved), one,
                       WORD_BYTES * part.lead + first * other + sum(at for _, at in moved), other)


def lines(part: Box | Landing) -> int:
    """64-bit lines of memory outside in which a part lies, those of two rows counted twice."""
    return sum(each.number * -(-(each.outside % LINE_BYTES + each.size) // LINE_BYTES) for each in rows(part))
