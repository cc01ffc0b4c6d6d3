"""Unsharp masking of a colour picture: every colour times the ratio of the sharpened grey to the grey.

Grey is (77 R + 150 G + 29 B) >> 8; its 7 x 7 Gaussian blur (sigma 1.5) is taken from twice the grey; the ratio to the grey
comes from a table of 256 / grey, in 8.8 bits. Bright overshoot wraps, as in the original.

Source: unsharp of the public Amber and Onyx flows.
"""

from __future__ import annotations

import math

import halide as hl

RADIUS = 3


def weights(radius: int = RADIUS, sigma: float = 1.5) -> list[list[int]]:
    """A normalised Gaussian times 256, truncated."""
    line = [math.exp(-i * i / (2 * sigma * sigma)) for i in range(-radius, radius + 1)]
    total = sum(line) ** 2
    return [[int(256 * a * b / total) for a in line] for b in line]


def build() -> hl.Func:
    """The sharper picture of an image `photo` of three 8-bit planes."""
    x, y, c, i = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.Var("i")
    photo = hl.ImageParam(hl.UInt(8), 3, "photo")
    colour = hl.Func("colour")
    colour[x, y, c] = hl.u16(photo[x, y, c])
    grey = hl.Func("grey")
    grey[x, y] = (77 * colour[x, y, 0] + 150 * colour[x, y, 1] + 29 * colour[x, y, 2]) >> 8
    total = hl.u16(0)
    for dy, row in enumerate(weights()):
        for dx, weight in enumerate(row):
            total += weight * grey[x + dx, y + dy]
    blur = hl.Func("blur")
    blur[x, y] = total >> 8
    centre = grey[x + RADIUS, y + RADIUS]
    sharp = hl.u16(hl.clamp(2 * hl.i16(centre) - hl.i16(blur[x, y]), hl.i16(0), hl.i16(255)))
    reciprocal = hl.Func("reciprocal")
    reciprocal[i] = hl.u16(256 // hl.max(i, 1))
    ratio = hl.Func("ratio")
    ratio[x, y] = sharp * reciprocal[hl.clamp(hl.i32(centre), 0, 255)]
    unsharp = hl.Func("unsharp")
    unsharp[x, y, c] = hl.u8(hl.u32(ratio[x, y]) * hl.u32(colour[x + RADIUS, y + RADIUS, c]) >> 8)
    unsharp.bound(c, 0, 3)
    return unsharp
