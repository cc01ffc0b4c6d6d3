"""Every pixel doubled: the least program that moves a picture.

    double(x, y) = 2 * image(x, y)        16 bits

Source: pointwise of the public Amber and Onyx flows.
"""

from __future__ import annotations

import halide as hl


def build() -> hl.Func:
    """The program, of an 8-bit image `photo`."""
    x, y = hl.Var("x"), hl.Var("y")
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    double = hl.Func("double")
    double[x, y] = hl.u16(photo[x, y]) * 2
    return double
