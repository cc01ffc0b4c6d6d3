"""The camera pipeline: from the raw mosaic of an image sensor to a colour picture.

Hot pixels are suppressed, the two colours that every pixel lacks are interpolated, colours are corrected by a 3 x 3 matrix in
8.8 bits, and a table holds the curve of gamma and contrast. The mosaic has 10 bits, rows of green and red in turn above rows of
blue and green; the picture is smaller by `MARGIN` on every side.

Interpolation is that of the four planes of the mosaic, one for each place in its squares of 2 x 2. Its words are unsigned, as
in the original: what falls below 0 wraps, and becomes the largest value of a clamp. `build` reads the mosaic as it is, and
makes a pixel at a time; `quads` reads its planes, which the host has to make, and makes the four pixels of a square at a time.

Source: camera_pipeline_2x2 of the public Amber and Onyx flows, from the camera pipeline among Halide's own applications.
"""

from __future__ import annotations

from collections.abc import Sequence

import halide as hl
import numpy as np

MARGIN = 4
# The largest interpolated colour.
MOST = 10_000
# Red, green and blue of the picture from those of the sensor in 8.8 bits, and what is added, for light of 3700 K.
MATRIX = ((548, -103, 7), (-96, 373, 61), (-30, -260, 882))
OFFSETS = (-40, -29, -22)
# Entries of the curve.
LEVELS = 1024

# Planes of the mosaic: green beside red, red, blue, green beside blue.
PLANES = ("gr", "r", "b", "gb")

Places = tuple[tuple[int, int], tuple[int, int]]

x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")


def curve(gamma: float = 2.0, contrast: float = 50.0) -> hl.Buffer:
    """`LEVELS` values of 8 bits: a power, bent by two parabolas so that it is steeper in the middle."""
    power = (np.arange(LEVELS) / LEVELS) ** (1 / gamma)
    slope = 2 - 2 ** (contrast / 100)
    near = np.minimum(power, 1 - power)
    bent = (2 - 2 * slope) * near * near + slope * near
    # A Buffer made of an array would not keep it alive.
    table = hl.Buffer(hl.UInt(8), [LEVELS], "curve")
    np.asarray(table)[:] = np.clip(256 * np.where(power > 0.5, 1 - bent, bent), 0, 255).astype(np.uint8)
    return table


def func(name: str, value: hl.Expr) -> hl.Func:
    """A Func of x and y."""
    made = hl.Func(name)
    made[x, y] = value
    return made


def between(plane: hl.Func, at: Places) -> hl.Expr:
    """The average of a plane at two places."""
    one, other = (plane[x + i, y + j] for i, j in at)
    return (one + other) >> 1


def apart(plane: hl.Func, at: Places) -> hl.Expr:
    """How much a plane differs between two places."""
    return hl.absd(*(plane[x + i, y + j] for i, j in at))


def corrected(here: hl.Func, green: hl.Func, plane: hl.Func, at: Places) -> hl.Expr:
    """A plane between two places, and by how much green `here` is above the green between them."""
    return here[x, y] - between(green, at) + between(plane, at)


def demosaic(gr: hl.Func, r: hl.Func, b: hl.Func, gb: hl.Func) -> list[list[hl.Func]]:
    """Red, green and blue, each in four planes as these: green beside red, red, blue, and green beside blue."""
    left, right, up, down = (((i, j), (0, 0)) for i, j in ((-1, 0), (1, 0), (0, -1), (0, 1)))
    g_r = func("g_r", hl.select(apart(gr, right) < apart(gb, up), between(gr, right), between(gb, up)))
    g_b = func("g_b", hl.select(apart(gb, left) < apart(gr, down), between(gb, left), between(gr, down)))
    r_gr, r_gb = func("r_gr", corrected(gr, g_r, r, left)), func("r_gb", corrected(gb, g_r, r, down))
    b_gr, b_gb = func("b_gr", corrected(gr, g_b, b, up)), func("b_gb", corrected(gb, g_b, b, right))
    rising, falling = ((0, 0), (-1, 1)), ((-1, 0), (0, 1))
    r_b = func("r_b", hl.select(apart(r, rising) < apart(r, falling),
                                corrected(g_b, g_r, r, rising), corrected(g_b, g_r, r, falling)))
    rising, falling = ((0, 0), (1, -1)), ((1, 0), (0, -1))
    b_r = func("b_r", hl.select(apart(b, rising) < apart(b, falling),
                                corrected(g_r, g_b, b, rising), corrected(g_r, g_b, b, falling)))
    return [[r_gr, r, r_b, r_gb], [gr, g_r, g_b, gb], [b_gr, b_r, b, b_gb]]


def interleaved(planes: Sequence[hl.Func]) -> hl.Func:
    """A picture of its planes: top left, top right, bottom left, bottom right."""
    values = [plane[x / 2, y / 2] for plane in planes]
    left = x % 2 == 0
    return func("interleaved", hl.select(y % 2 == 0, hl.select(left, *values[:2]), hl.select(left, *values[2:])))


def developed(sensed: Sequence[hl.Func], table: hl.Buffer) -> list[hl.Expr]:
    """Red, green and blue of the picture from those of the sensor; table: the curve."""
    words = [hl.i16(hl.clamp(colour[x, y], hl.u16(0), hl.u16(MOST))) for colour in sensed]
    values = []
    for weights, offset in zip(MATRIX, OFFSETS, strict=True):
        total = hl.i16(offset)
        for weight, word in zip(weights, words, strict=True):
            total += hl.i16(hl.i32(word) * weight >> 8)
        values.append(table[hl.i32(hl.clamp(total, hl.i16(0), hl.i16(LEVELS - 1)))])
    return values


def cool(here: hl.Expr, *neighbours: hl.Expr) -> hl.Expr:
    """A pixel, at most as bright as the brightest of its neighbours of the same colour."""
    return hl.clamp(here, hl.u16(0), hl.max(*neighbours))


def build() -> hl.Func:
    """The picture, three planes of 8 bits, of a mosaic `photo` of whole squares, words of 16 bits of which 10 are used."""
    photo = hl.ImageParam(hl.UInt(16), 2, "photo")
    still = func("still", cool(photo[x, y], *(photo[x + i, y + j] for i, j in ((-2, 0), (2, 0), (0, -2), (0, 2)))))
    planes = [func(name, still[2 * x + i + MARGIN, 2 * y + j + MARGIN])
              for name, (i, j) in zip(PLANES, ((0, 0), (1, 0), (0, 1), (1, 1)), strict=True)]
    camera, table = hl.Func("camera"), curve()
    camera[x, y, c] = hl.mux(c, developed([interleaved(colour) for colour in demosaic(*planes)], table))
    camera.bound(c, 0, 3)
    return camera


def quads() -> hl.Func:
    """The same, of a mosaic in four planes: the colours of pixel q of every square, (x, y, c, q)."""
    photo = hl.ImageParam(hl.UInt(16), 3, "photo")
    u, v = x + MARGIN // 2, y + MARGIN // 2
    planes = [func(name, cool(photo[u, v, p], *(photo[u + i, v + j, p] for i, j in ((-1, 0), (1, 0), (0, -1), (0, 1)))))
              for p, name in enumerate(PLANES)]
    camera, q, table = hl.Func("camera"), hl.Var("q"), curve()
    camera[x, y, c, q] = hl.mux(q, [hl.mux(c, developed(colours, table)) for colours in zip(*demosaic(*planes), strict=True)])
    camera.bound(c, 0, 3).bound(q, 0, 4)
    return camera


def mosaic(picture: np.ndarray) -> np.ndarray:
    """What the sensor sees where the picture is one of 8 bits (y, x, red green blue): one colour of each pixel, in 10 bits."""
    levels = np.interp(picture, np.asarray(curve()), np.arange(LEVELS)) - OFFSETS
    sensed = np.clip(levels @ np.linalg.inv(np.array(MATRIX) / 256).T, 0, LEVELS - 1).astype(np.uint16)
    seen = sensed[..., 1]
    seen[::2, 1::2], seen[1::2, ::2] = sensed[::2, 1::2, 0], sensed[1::2, ::2, 2]
    return np.ascontiguousarray(seen)
