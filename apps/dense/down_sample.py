"""The largest of every 2 x 2 pixels: half the width, half the height.

Source: down_sample of the public Amber and Onyx flows.
"""

from __future__ import annotations

import halide as hl


def build() -> hl.Func:
    """The smaller picture of an 8-bit image `photo`."""
    x, y = hl.Var("x"), hl.Var("y")
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    down = hl.Func("down")
    down[x, y] = hl.max(hl.max(photo[2 * x, 2 * y], photo[2 * x + 1, 2 * y]),
                        hl.max(photo[2 * x, 2 * y + 1], photo[2 * x + 1, 2 * y + 1]))
    return down
