"""Twice the width and the height, every pixel four times.

Source: up_sample of the public Amber and Onyx flows, by nearest neighbours.
"""

from __future__ import annotations

import halide as hl


def build() -> hl.Func:
    """The larger picture of an 8-bit image `photo`."""
    x, y = hl.Var("x"), hl.Var("y")
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    up = hl.Func("up")
    up[x, y] = photo[x / 2, y / 2]
    return up
