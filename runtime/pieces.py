"""What a launch gives, and which rows of it are taken while it computes: those of a last one else move alone, and those of the
one before it in front of them.

Input:   a program, places of its streams, how they are written.
Output:  `Read`s; for each that is stored row after row the rows that go early, and those that are left.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..compiler.dense.map.affine import Loop
from ..compiler.ir.program import Program
from ..hw.arch.glb import LANES
from .commands import Landing, Read
from .data.result import Writes
from .place import Place

# Rows of the last tile go in so many pieces, the last one when the launch has ended. The processor takes some 170 cycles to ask
# for one. Those of tiles before it go in HALVES where they would be in its way: for more of them the processor has no time.
PIECES, HALVES = 4, 2
# A launch has a piece for so many cycles at most: the processor is as late as it takes for one.
PIECE_CYCLES = 500
# Of the words that a store has counted so many may be on their way to their bank: those of two lines (hw/glb/deserialiser.py).
ON_THEIR_WAY = 2 * LANES


def reads(program: Program, place: Place, writes: Mapping[str, Writes], pictures: Mapping[str, np.ndarray],
          transactions: int, slots: Mapping[str, int]) -> Iterator[Read]:
    """What the store streams of a launch give. writes: of static ones. pictures: of which images they are parts. slots: words
    of a block of those whose blocks have numbers."""
    for each in program.stores:
        how = writes.get(each.name)
        box = how.box if how else None
        landing = Landing(pictures[box.image or each.name], box.corner, box.shape, how.pitch) if how and box else None
        words = (landing.words if landing is not None else each.count * transactions if each.loops else
                 slots[each.name] * each.blocks * transactions if each.blocks else None)
        # Each element is stored once.
        rises = how is not None and transactions == 1 and rising(how.loops)
        yield Read(each.name, place.address(each), words, landing,
                   rises and landing is not None and each.count == math.prod(landing.shape))


@dataclass(frozen=True)
class Piece:
    """Rows of a result, from a byte address of the global buffer on.

    read : Read      Of these rows.
    stored : int     16-bit words that the stream has counted when they are in their bank.
    """

    read: Read
    stored: int


def rising(loops: Sequence[Loop]) -> bool:
    """Whether loops, the innermost one first, go on from each address to a higher one."""
    reach = 0
    for extent, stride in loops:
        if extent > 1 and stride <= reach:
            return False
        reach += (extent - 1) * stride
    return True


def pieces(read: Read, parts: int) -> tuple[list[Piece], Read]:
    """What of a result goes early, all but the last of so many parts, and the rest; nothing early unless it is rows that are
    stored one after the other, and enough of them are left that the store counts on until the others are in their bank."""
    landing = read.landing
    if landing is None or not read.rising or len(landing.shape) != 2 or landing.shape[0] < parts:
        return [], read
    rows, width = landing.shape
    borders = [rows * number // parts for number in range(parts + 1)]
    if width * (rows - borders[-2]) < ON_THEIR_WAY:
        return [], read
    *early, rest = [_rows(read, landing, first, last - first) for first, last in itertools.pairwise(borders)]
    return [Piece(each, width * last + ON_THEIR_WAY) for each, last in zip(early, borders[1:], strict=False)], rest


def _rows(read: Read, landing: Landing, first: int, count: int) -> Read:
    """Some rows of what is read."""
    y, x = landing.corner
    part = replace(landing, corner=(y + first, x), shape=(count, landing.shape[1]))
    return replace(read, address=read.address + 2 * landing.pitch * first, words=part.words, landing=part)
