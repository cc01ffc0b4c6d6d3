"""Packs configuration words (`hw/arch/packed.py`), so that fewer bytes come before a program begins.

    four products of 30 x 30 with a vector in two lanes     123 lines of 64 bits in place of 360
    of 512 x 512 in seven parts                             453 in place of 1,330
"""

from __future__ import annotations

import numpy as np

from ...hw.arch.glb import LINE_BYTES
from ...hw.arch.packed import FIRST_ROW, MASK_BITS, MOST_STEP, NEXT, PLACE, REGISTERS, SKIP

ROWS = 256


def packed(words: np.ndarray) -> np.ndarray:
    """Words of a GLB tile as `images` gives them, packed: uint64[lines], the last one filled up with zeros."""
    found, place = bytearray(), (0, 0, FIRST_ROW)
    for word in words.tolist():
        at = word >> 56, word >> 32 & 0xFFFF, word >> 48 & 0xFF
        way, step = _way(place, at)
        data = [word >> shift & 0xFF for shift in range(0, 32, 8)]
        mask = sum((byte > 0) << number for number, byte in enumerate(data))
        found += bytes((*way, step << MASK_BITS | mask, *filter(None, data)))
        place = at
    found += bytes(-len(found) % LINE_BYTES)
    return np.frombuffer(bytes(found), "<u8")


def _way(place: tuple[int, int, int], to: tuple[int, int, int]) -> tuple[list[int], int]:
    """The items that lead from a place to near another one, the fewest bytes, and the step of its row that is left; a place is
    column, register, row."""
    column, register, row = to
    absolute = [PLACE, register & 0xFF, register >> 8, (row - 1) % ROWS, column], 1
    ahead = column - place[0]
    begins = [NEXT] * ahead if ahead > 0 else []
    on = register - (0 if begins else place[1])
    if ahead < 0 or on < 0 or len(begins) + on // REGISTERS >= len(absolute[0]):
        return absolute
    begins += [REGISTERS] * (on // REGISTERS) + [on % REGISTERS] * (on % REGISTERS > 0)
    rows = (row - (FIRST_ROW if begins else place[2]) - 1) % ROWS + 1
    skips = (rows - 1) // MOST_STEP
    found = begins + [SKIP] * skips, rows - skips * MOST_STEP
    return min(found, absolute, key=lambda each: len(each[0]))
