"""Conditions joined by and, or, not and exclusive or: bright pixels at an edge or dark ones away from it, unless two are even.

Source: the unit program boolean_ops of the public Amber and Onyx flows.
"""

from __future__ import annotations

import halide as hl


def build() -> hl.Func:
    """The program, of an 8-bit image `photo`; 8-bit results, 255 where the conditions hold."""
    x, y = hl.Var("x"), hl.Var("y")
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    here, right, below = photo[x, y], photo[x + 1, y], photo[x, y + 1]
    bright, dark, edge = here > 160, here < 40, hl.absd(here, right) > 20
    even = (here + below) % 2 == 0
    chosen = (bright & edge) | (dark & ~edge)
    booleans = hl.Func("booleans")
    booleans[x, y] = hl.select(chosen != even, hl.u8(255), hl.u8(0))
    return booleans
