"""Every comparison of two pixels, each of which adds a number of its own: signed and unsigned.

Source: the unit programs of the public Amber and Onyx flows (equal, scomp, ucomp, ternary).
"""

from __future__ import annotations

import halide as hl


def build() -> hl.Func:
    """The program, of an 8-bit image `photo`; 16-bit results."""
    x, y = hl.Var("x"), hl.Var("y")
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    a, b = hl.u16(photo[x, y]), hl.u16(photo[x + 1, y])
    # As signed words these are below 0 where the pixel is dark.
    s, t = hl.i16(photo[x, y]) - 128, hl.i16(photo[x, y + 1]) - 100
    found = hl.u16(0)
    for value, condition in enumerate((a < b, a <= b, a == b, a != b, s > t, s >= t, s < -t)):
        found += hl.select(condition, hl.u16(1 << value), hl.u16(0))
    comparisons = hl.Func("comparisons")
    comparisons[x, y] = found
    return comparisons
