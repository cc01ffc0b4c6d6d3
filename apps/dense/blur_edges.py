"""The 3 x 3 Gaussian blur of `gaussian` on the whole image: beyond its edges the pixels at the edges are repeated.

    blur(x, y) = (sum of weight(i, j) * edge(x + i - 1, y + j - 1)) >> 8

The result has the size of the image. The boundary condition costs nothing on the array: the host repeats the pixels when it
makes the words of the load stream.
"""

from __future__ import annotations

import halide as hl

from .gaussian import WEIGHTS


def build() -> hl.Func:
    """The blur as a Func of an 8-bit image `photo`."""
    x, y = hl.Var("x"), hl.Var("y")
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    edge = hl.BoundaryConditions.repeat_edge(photo)
    total = hl.u16(0)
    for j, row in enumerate(WEIGHTS):
        for i, weight in enumerate(row):
            total += hl.u16(weight) * hl.u16(edge[x + i - 1, y + j - 1])
    blur = hl.Func("blur_edges")
    blur[x, y] = hl.u8(total >> 8)
    return blur
