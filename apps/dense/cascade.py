"""Two blurs, one behind the other.

Source: cascade of the public Amber and Onyx flows (twice 1 2 1, 2 4 2, 1 2 1 over 16).
"""

from __future__ import annotations

import halide as hl

WEIGHTS = ((1, 2, 1), (2, 4, 2), (1, 2, 1))


def build() -> hl.Func:
    """The second blur of an 8-bit image `photo`."""
    x, y = hl.Var("x"), hl.Var("y")
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    words = hl.Func("words")
    words[x, y] = hl.u16(photo[x, y])
    first, second = hl.Func("first"), hl.Func("second")
    for source, blur in ((words, first), (first, second)):
        total = hl.u16(0)
        for j, row in enumerate(WEIGHTS):
            for i, weight in enumerate(row):
                total += weight * source[x + i, y + j]
        blur[x, y] = total / 16
    return second
