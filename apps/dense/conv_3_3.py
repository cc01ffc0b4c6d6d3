"""A 3 x 3 convolution with unequal weights, the low byte of each sum.

The sum runs over a reduction domain, and the weights are a Func of their own: how most Halide programs are written.

Source: conv_3_3 of the public Amber and Onyx flows (columns 11 12 13, 0 0 16, 17 18 19).
"""

from __future__ import annotations

import halide as hl

COLUMNS = ((11, 12, 13), (0, 0, 16), (17, 18, 19))


def build() -> hl.Func:
    """The convolution of an 8-bit image `photo`."""
    x, y = hl.Var("x"), hl.Var("y")
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    weight = hl.Func("weight")
    weight[x, y] = hl.u16(0)
    for i, column in enumerate(COLUMNS):
        for j, value in enumerate(column):
            weight[i, j] = hl.u16(value)
    window = hl.RDom([(0, 3), (0, 3)], "window")
    total = hl.Func("total")
    total[x, y] = hl.u16(0)
    total[x, y] += weight[window.x, window.y] * hl.u16(photo[x + window.x, y + window.y])
    conv = hl.Func("conv")
    conv[x, y] = hl.u8(total[x, y])
    return conv
