"""The camera pipeline against NumPy, plane by plane, and against Halide; from its bitstream and in Verilog."""

from __future__ import annotations

from collections.abc import Callable

import halide as hl
import numpy as np
import pytest
import skimage.data

import sardonyx.halide
from sardonyx.apps.dense import camera

MATRIX = np.array([[548, -103, 7], [-96, 373, 61], [-30, -260, 882]])


def moved(plane: np.ndarray, dx: int, dy: int) -> np.ndarray:
    """A plane read (dx, dy) further on; what comes from beyond its edges is cut away at the end."""
    return np.roll(plane, (-dy, -dx), (0, 1))


def unsigned(plane: np.ndarray) -> np.ndarray:
    """Colours as they are limited: what is below 0 has wrapped."""
    return np.minimum(plane, 10_000)


def golden(raw: np.ndarray, limited: Callable[[np.ndarray], np.ndarray] = unsigned) -> np.ndarray:
    """The picture of the whole squares of a mosaic, in words of 16 bits that wrap: three planes without the margin of 4."""
    rows, columns = (side // 2 * 2 for side in raw.shape)
    raw = raw[:rows, :columns]
    most = np.maximum.reduce([moved(raw, *by) for by in ((-2, 0), (2, 0), (0, -2), (0, 2))])
    still = np.minimum(raw, most)
    gr, r, b, gb = still[::2, ::2], still[::2, 1::2], still[1::2, ::2], still[1::2, 1::2]

    def closer(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray], of_one: np.ndarray,
               of_other: np.ndarray) -> np.ndarray:
        distances = [np.abs(p.astype(int) - q) for p, q in (one, other)]
        return np.where(distances[0] < distances[1], of_one, of_other)

    def mean(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        return (p + q) >> 1

    g_r = closer((gr, moved(gr, 1, 0)), (gb, moved(gb, 0, -1)), mean(gr, moved(gr, 1, 0)), mean(gb, moved(gb, 0, -1)))
    g_b = closer((gb, moved(gb, -1, 0)), (gr, moved(gr, 0, 1)), mean(gb, moved(gb, -1, 0)), mean(gr, moved(gr, 0, 1)))
    r_gr = gr - mean(g_r, moved(g_r, -1, 0)) + mean(r, moved(r, -1, 0))
    b_gr = gr - mean(g_b, moved(g_b, 0, -1)) + mean(b, moved(b, 0, -1))
    r_gb = gb - mean(g_r, moved(g_r, 0, 1)) + mean(r, moved(r, 0, 1))
    b_gb = gb - mean(g_b, moved(g_b, 1, 0)) + mean(b, moved(b, 1, 0))
    r_b = closer((r, moved(r, -1, 1)), (moved(r, -1, 0), moved(r, 0, 1)),
                 g_b - mean(g_r, moved(g_r, -1, 1)) + mean(r, moved(r, -1, 1)),
                 g_b - mean(moved(g_r, -1, 0), moved(g_r, 0, 1)) + mean(moved(r, -1, 0), moved(r, 0, 1)))
    b_r = closer((b, moved(b, 1, -1)), (moved(b, 1, 0), moved(b, 0, -1)),
                 g_r - mean(g_b, moved(g_b, 1, -1)) + mean(b, moved(b, 1, -1)),
                 g_r - mean(moved(g_b, 1, 0), moved(g_b, 0, -1)) + mean(moved(b, 1, 0), moved(b, 0, -1)))
    sensed = np.zeros((3, *raw.shape), int)
    for colour, planes in enumerate(((r_gr, r, r_b, r_gb), (gr, g_r, g_b, gb), (b_gr, b_r, b, b_gb))):
        for at, plane in enumerate(planes):
            sensed[colour, at // 2::2, at % 2::2] = limited(plane)
    products = (MATRIX[:, :, None, None] * sensed >> 8).sum(axis=1) + np.array([-40, -29, -22])[:, None, None]
    levels = np.clip(products.astype(np.int16), 0, 1023) / 1024
    root, bend = np.sqrt(levels), 2 * np.sqrt(2) - 2
    dark = bend * root * root + (1 - bend / 2) * root
    light = 1 - (bend * (1 - root) ** 2 + (1 - bend / 2) * (1 - root))
    picture = np.clip(256 * np.where(root > 0.5, light, dark), 0, 255).astype(np.uint8)
    return picture[:, 4:-4, 4:-4]


def planes_of(raw: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.stack([raw[j::2, i::2] for j in (0, 1) for i in (0, 1)]))


def realized(program: hl.Func, raw: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """What Halide's own compiler makes of it."""
    file = hl.serialize_pipeline(hl.Pipeline([program]), get_params=True)
    parameters = dict(file[1])
    parameters["photo"].set_buffer(hl.Buffer(raw))
    return np.asarray(hl.deserialize_pipeline(file[0], parameters).realize(list(shape[::-1])))


def photograph(rows: int, columns: int) -> np.ndarray:
    """The mosaic of a part of a photograph that has edges along which green overshoots."""
    return camera.mosaic(skimage.data.coffee()[100:100 + rows, 60:60 + columns])


def noise(rows: int, columns: int, bits: int = 10) -> np.ndarray:
    return np.random.default_rng(rows).integers(0, 1 << bits, (rows, columns)).astype(np.uint16)


def squares_of(planes: np.ndarray) -> np.ndarray:
    """The picture of what `quads` gives."""
    _, colours, rows, columns = planes.shape
    return planes.reshape(2, 2, colours, rows, columns).transpose(2, 3, 0, 4, 1).reshape(colours, 2 * rows, 2 * columns)


@pytest.mark.parametrize("raw", [noise(10, 10), noise(12, 11), noise(27, 31), noise(28, 30, bits=16), photograph(40, 50)],
                         ids=lambda raw: "x".join(map(str, raw.shape)))
def test_a_picture_is_what_numpy_and_halide_make_of_a_mosaic(raw: np.ndarray) -> None:
    """Tiles begin at odd places and reach beyond the picture."""
    found = sardonyx.halide.run(camera.build(), inputs={"photo": raw}, engine="tokens", arch="onyx", tile=(13, 11))
    np.testing.assert_array_equal(found.value, golden(raw))
    np.testing.assert_array_equal(found.value, realized(camera.build(), raw, found.value.shape))


@pytest.mark.parametrize("raw", [noise(10, 10), noise(28, 30, bits=16), photograph(40, 50)],
                         ids=lambda raw: "x".join(map(str, raw.shape)))
def test_squares_at_a_time_are_the_same_picture(raw: np.ndarray) -> None:
    found = sardonyx.halide.run(camera.quads(), inputs={"photo": planes_of(raw)}, engine="tokens", arch="onyx", tile=(7, 5))
    np.testing.assert_array_equal(squares_of(found.value), golden(raw))
    np.testing.assert_array_equal(found.value, realized(camera.quads(), planes_of(raw), found.value.shape))


def test_what_falls_below_zero_wraps() -> None:
    """Along edges of a photograph: a pipeline of signed words would make another picture."""
    raw = photograph(100, 150)
    other = golden(raw, lambda plane: np.clip(plane.astype(np.int16), 0, 10_000))
    assert 0.001 < np.mean(np.any(golden(raw) != other, axis=0)) < 0.05


def test_the_picture_is_that_of_the_mosaic() -> None:
    """Where the mosaic is that of a picture, the pipeline gives it back, but for what it interpolates."""
    picture = skimage.data.astronaut()
    found = np.moveaxis(golden(camera.mosaic(picture)), 0, 2)
    assert np.median(np.abs(found.astype(int) - picture[4:-4, 4:-4])) <= 1


@pytest.mark.parametrize("lanes", [1, 2, 3])
def test_it_runs_from_the_bitstream_of_onyx(lanes: int) -> None:
    raw = photograph(30, 40)
    found = sardonyx.halide.run(camera.build(), inputs={"photo": raw}, engine="fabric", arch="onyx", tile=(18, 13),
                                unroll=lanes)
    np.testing.assert_array_equal(found.value, golden(raw))
    assert found.report["tiles_used"]["pe"] <= 73 * lanes


def test_squares_at_a_time_take_fewer_pes_than_on_the_published_array() -> None:
    """208 on Onyx, for 12 values a cycle."""
    raw = photograph(30, 40)
    found = sardonyx.halide.run(camera.quads(), inputs={"photo": planes_of(raw)}, engine="fabric", arch="onyx", tile=(16, 11))
    np.testing.assert_array_equal(squares_of(found.value), golden(raw))
    assert found.report["tiles_used"]["pe"] <= 180


@pytest.mark.slow
@pytest.mark.parametrize("lanes,columns", [(1, 48), (2, 28), (4, 18)])
def test_it_runs_in_verilog(lanes: int, columns: int) -> None:
    """Four tiles of 40 x 30 with a margin of 8, in each stripe, the last ones beyond the picture; 9 rows are in delay lines."""
    raw = photograph(60, 84)
    found = sardonyx.halide.run(camera.build(), inputs={"photo": raw}, engine="rtl", arch="onyx", tile=(40, 30), unroll=lanes)
    np.testing.assert_array_equal(found.value, golden(raw))
    assert found.cycles is not None and 4 * columns * 38 <= found.cycles <= 4 * (columns * 47 + 200)


@pytest.mark.slow
def test_squares_at_a_time_run_in_verilog() -> None:
    raw = photograph(60, 84)
    found = sardonyx.halide.run(camera.quads(), inputs={"photo": planes_of(raw)}, engine="rtl", arch="onyx", tile=(20, 15))
    np.testing.assert_array_equal(squares_of(found.value), golden(raw))
    assert found.cycles is not None and 4 * 24 * 19 <= found.cycles <= 4 * (24 * 24 + 200)
