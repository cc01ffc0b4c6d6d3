"""Brighter by two, and the mean of every 2 x 2 pixels.

Source: brighten_and_blur of the public Amber and Onyx flows.
"""

from __future__ import annotations

import halide as hl


def build() -> hl.Func:
    """The mean, of an 8-bit image `photo`."""
    x, y = hl.Var("x"), hl.Var("y")
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    bright = hl.Func("bright")
    bright[x, y] = hl.u16(photo[x, y]) * 2
    box = hl.Func("box")
    box[x, y] = (bright[x, y] + bright[x + 1, y] + bright[x, y + 1] + bright[x + 1, y + 1]) / 4
    return box
