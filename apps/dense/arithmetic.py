"""The forms of integer arithmetic on one pixel and its neighbour, all in one result.

    sums, differences, products, quotients and remainders by constants, shifts, absolute values and differences, least, largest
    and clamped values; signed and unsigned, wrapping in 16 bits

Source: the unit programs of the public Amber and Onyx flows (arith, absolute, uminmax, sminmax, ushift, sshift).
"""

from __future__ import annotations

import halide as hl


def build() -> hl.Func:
    """The program, of an 8-bit image `photo`; 16-bit results."""
    x, y = hl.Var("x"), hl.Var("y")
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    a, b = hl.i16(photo[x, y]), hl.i16(photo[x + 1, y])
    signed = hl.i16(hl.abs(a - b)) + hl.clamp(a - 2 * b, -100, 90) * 3 + ((b - a) >> 2) + hl.min(a - 7, b) - hl.max(a, 9 - b)
    u, v = hl.u16(photo[x, y]), hl.u16(photo[x, y + 1])
    unsigned = (u * 37 / 5) % 16 + hl.absd(u, v) + (u << 3) - (v >> 1) + hl.max(u, v) * u
    arithmetic = hl.Func("arithmetic")
    arithmetic[x, y] = hl.u16(signed) ^ unsigned
    return arithmetic
