"""A 3 x 3 Gaussian blur of an 8-bit grey image: a Halide program as any other.

    blur(x, y) = (sum of weight(i, j) * image(x + i, y + j)) >> 8

The weights are those of a normalised Gaussian with sigma 1.5, times 256 and truncated; they sum up to 253, so no sum leaves 16
bits. The result is two pixels narrower and lower than the image.

Source: the gaussian of the public Amber and Onyx flows (`gaussian`, 24 30 24, 30 37 30, 24 30 24).
"""

from __future__ import annotations

import halide as hl

WEIGHTS = ((24, 30, 24), (30, 37, 30), (24, 30, 24))


def build(photo: hl.ImageParam | None = None) -> hl.Func:
    """The blur as a Func of an 8-bit image, by default one called `photo`."""
    x, y = hl.Var("x"), hl.Var("y")
    photo = photo or hl.ImageParam(hl.UInt(8), 2, "photo")
    total = hl.u16(0)
    for j, row in enumerate(WEIGHTS):
        for i, weight in enumerate(row):
            total += hl.u16(weight) * hl.u16(photo[x + i, y + j])
    blur = hl.Func("blur")
    blur[x, y] = hl.u8(total >> 8)
    return blur
