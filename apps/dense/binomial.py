"""A 3 x 3 binomial blur of an 8-bit grey image, rows first: the blur of the fewest PEs, and no multiplier.

    blur(x, y) = (sum of (1, 2, 1)(i) * (1, 2, 1)(j) * image(x + i, y + j)) >> 4

The weights sum up to 16, so a grey area keeps its grey. The result is two pixels narrower and lower than the image.

Source: the separable approximation of a Gaussian with sigma 0.85 that image libraries use.
"""

from __future__ import annotations

import halide as hl


def build() -> hl.Func:
    """The blur, of an 8-bit image `photo`."""
    x, y = hl.Var("x"), hl.Var("y")
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    rows = hl.Func("rows")
    rows[x, y] = hl.u16(photo[x, y]) + hl.u16(photo[x + 1, y]) * 2 + hl.u16(photo[x + 2, y])
    blur = hl.Func("blur")
    blur[x, y] = hl.u8((rows[x, y] + rows[x, y + 1] * 2 + rows[x, y + 2]) >> 4)
    return blur
