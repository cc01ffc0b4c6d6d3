"""Corners of a grey picture, by Harris: 255 where the response is at least 1 and above that of all eight neighbours.

Source: harris of the public Amber and Onyx flows (Sobel clamped to +-180, products and box sums over 64, squared trace over
16).
"""

from __future__ import annotations

from collections.abc import Mapping

import halide as hl

SOBEL = ((-1, 0, 1), (-2, 0, 2), (-1, 0, 1))
LIMIT = 180


def build() -> hl.Func:
    """The corners of an 8-bit image `photo`."""
    x, y = hl.Var("x"), hl.Var("y")
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    words = hl.Func("words")
    words[x, y] = hl.i16(photo[x, y])

    def window(source: hl.Func, weights: Mapping[tuple[int, int], int]) -> hl.Expr:
        return sum((weight * source[x + i, y + j] for (i, j), weight in weights.items() if weight), hl.i16(0))

    def clamped(name: str, weights: Mapping[tuple[int, int], int]) -> hl.Func:
        slope = hl.Func(name)
        slope[x, y] = hl.clamp(window(words, weights), hl.i16(-LIMIT), hl.i16(LIMIT))
        return slope

    across = clamped("across", {(i, j): SOBEL[j][i] for j in range(3) for i in range(3)})
    down = clamped("down", {(i, j): SOBEL[i][j] for j in range(3) for i in range(3)})
    sums = []
    for name, one, other in (("xx", across, across), ("yy", down, down), ("xy", across, down)):
        product = hl.Func(f"product_{name}")
        product[x, y] = one[x, y] * other[x, y] >> 6
        box = hl.Func(f"sum_{name}")
        box[x, y] = window(product, {(i, j): 1 for j in range(3) for i in range(3)}) >> 6
        sums.append(box[x, y])
    xx, yy, xy = sums
    response = hl.Func("response")
    response[x, y] = xx * yy - xy * xy - ((xx + yy) * (xx + yy) >> 4)
    centre = response[x + 1, y + 1]
    corner = centre >= 1
    for j in range(3):
        for i in range(3):
            if (i, j) != (1, 1):
                corner = corner & (centre > response[x + i, y + j])
    corners = hl.Func("corners")
    corners[x, y] = hl.select(corner, hl.u8(255), hl.u8(0))
    return corners
