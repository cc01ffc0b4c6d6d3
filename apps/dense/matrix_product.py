"""A product of integer matrices, four columns of the result and four terms of the sums at once.

    product(w, y) = sum over r of weights(w, r) * rows(r, y), in 16 bits

Dimensions are Halide's, x first: with NumPy arrays, ``rows @ weights``.

Source: matrix_multiplication of the public Amber and Onyx flows, 64 x 4 times 4 x 4 unrolled 4 x 4; here the terms are as
many as `TERMS`, and the widths are those of the images.
"""

from __future__ import annotations

import halide as hl

TERMS = 64
# Columns, and terms, at once.
UNROLLED = 4


def build(terms: int = TERMS, unrolled: int = UNROLLED) -> hl.Func:
    """The product of 16-bit images `weights` (terms high) and `rows` (terms wide)."""
    w, y = hl.Var("w"), hl.Var("y")
    weights, rows = hl.ImageParam(hl.Int(16), 2, "weights"), hl.ImageParam(hl.Int(16), 2, "rows")
    r = hl.RDom([(0, terms)], "r")
    product = hl.Func("product")
    product[w, y] = hl.i16(0)
    product[w, y] += weights[w, r] * rows[r, y]
    outer, inner = hl.RVar("outer"), hl.RVar("inner")
    product.update().unroll(w, unrolled).split(r, outer, inner, unrolled).unroll(inner)
    return product
