"""Images read beyond their edges and at other computed places: the host moves elements, every engine gives Halide's picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import halide as hl
import numpy as np
import pytest
from halide_edges import EDGES, MODES, OUTSIDE, cross, edged, exactly, func, graph_of, padded
from halide_programs import TYPES, C, X, Y, image, load, noise
from hypothesis import given, settings
from hypothesis import strategies as st
from stencil_machine import STENCILS

import sardonyx.halide
from sardonyx.apps.dense import blur_edges, gaussian
from sardonyx.compiler.ir.dataflow import to_text

# The five conditions.


@pytest.mark.parametrize("size", [(1, 1), (7, 11)])
@pytest.mark.parametrize("kind", MODES)
def test_a_stencil_with_a_boundary_condition_is_as_large_as_its_image(kind: str, size: tuple[int, int]) -> None:
    photo = image("photo", "uint8")
    picture = noise("uint8", size)
    program = func(cross(edged(kind, photo)))
    report = exactly(program, photo, picture, tile=(5, 4))
    assert report["elements_checked"] == size[0] * size[1]
    assert len(graph_of(program, photo=size[::-1]).inputs) == 1


@pytest.mark.parametrize("kind", MODES)
def test_neighbours_share_one_stream(kind: str) -> None:
    graph = graph_of(func(cross(edged(kind, image("photo", "uint8")))), photo=(11, 7))
    assert list(graph.inputs) == list(graph.gathered) == ["photo_gathered"]


def test_a_dump_shows_what_the_host_gathers() -> None:
    photo = image("photo", "uint8")
    graph = graph_of(func(edged("repeat_edge", photo)[X - 1, Y]), photo=(11, 7))
    assert to_text(graph).splitlines()[:3] == [
        "grid x y", "gathered photo_gathered(x, y) = photo(max(min(x, 10), 0), max(min(y, 6), 0))",
        "input photo_gathered: photo_gathered, 8 bits"]


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint16"])
def test_elements_of_every_type(dtype: str) -> None:
    photo = image("photo", dtype)
    edge = edged("mirror_interior", photo)
    exactly(func(hl.max(edge[X - 2, Y], edge[X, Y + 1]) - edge[X, Y]), photo, noise(dtype, (6, 9)))
    outside = EDGES.constant_exterior(photo, -5 if dtype.startswith("int") else 5)
    exactly(func(outside[X - 1, Y] - outside[X, Y + 1]), photo, noise(dtype, (6, 9)))


def test_flags_beyond_the_edges() -> None:
    mask = image("mask", "bool")
    edge = EDGES.constant_exterior(mask, True)
    exactly(func(edge[X - 1, Y] & edge[X, Y + 1]), mask, noise("bool", (6, 9)))


@pytest.mark.parametrize("lanes", [2, 3, 4])
def test_lanes_and_tiles_beyond_the_picture(lanes: int) -> None:
    photo = image("photo", "uint8")
    exactly(func(cross(edged("mirror_image", photo))), photo, noise("uint8", (5, 13)), tile=(2 * lanes, 3), unroll=lanes,
            arch="onyx")


def test_a_result_larger_than_its_image() -> None:
    photo = image("photo", "uint8")
    exactly(func(edged("repeat_image", photo)[X - 3, Y]), photo, noise("uint8", (3, 4)), shape=(19, 8), tile=(6, 5))


def test_one_direction_only() -> None:
    photo = image("photo", "uint8")
    edge = edged("repeat_edge", photo, [(0, 9), (hl.Expr(), hl.Expr())])
    exactly(func(hl.u16(edge[X - 1, Y]) + hl.u16(edge[X + 1, Y + 2])), photo, noise("uint8", (6, 9)), shape=(9, 4))


def test_colour_planes_are_gathered_one_by_one() -> None:
    photo = image("photo", "uint8", 3)
    edge = edged("repeat_edge", photo)
    program = func(hl.u16(edge[X - 1, Y, C]) + hl.u16(edge[X, Y + 1, C]), X, Y, C)
    program.bound(C, 0, 3)
    exactly(program, photo, noise("uint8", (3, 5, 7)), tile=(4, 3))
    assert list(graph_of(program, photo=(7, 5, 3)).inputs) == ["photo_gathered", "photo_gathered_2", "photo_gathered_3"]


def test_two_conditions_of_one_image_are_two_streams() -> None:
    photo = image("photo", "uint8")
    one, other = edged("repeat_edge", photo), edged("constant_exterior", photo)
    program = func(hl.absd(one[X - 1, Y], other[X - 1, Y]) + photo[X, Y])
    exactly(program, photo, noise("uint8", (7, 5)))
    assert len(graph_of(program, photo=(5, 7)).inputs) == 3     # and the image itself


def test_a_chain_of_stencils_on_images_with_edges() -> None:
    photo, blur, sharp = image("photo", "uint8"), hl.Func("blur"), hl.Func("sharp")
    edge = edged("mirror_interior", photo)
    blur[X, Y] = (hl.i16(edge[X - 1, Y]) + hl.i16(edge[X, Y]) * 2 + hl.i16(edge[X + 1, Y])) >> 2
    sharp[X, Y] = 3 * hl.i16(edged("repeat_edge", photo)[X, Y - 1]) - blur[X, Y - 1] - blur[X, Y + 1]
    exactly(sharp, photo, noise("uint8", (7, 11)), tile=(6, 4))


def test_a_constant_buffer_has_edges_too() -> None:
    photo, shade = image("photo", "uint8"), hl.Buffer(np.arange(6, dtype=np.uint8).reshape(2, 3))
    shade.set_min([-1, 1])
    exactly(func(photo[X, Y] + edged("repeat_edge", shade)[X, Y]), photo, noise("uint8", (5, 6)))


# Indices that the program computes.


@pytest.mark.parametrize("build", [
    lambda photo: photo[hl.clamp(X - 2, 0, 8), hl.clamp(Y + 1, 0, 6)],
    lambda photo: photo[hl.max(X - 1, 0), Y],
    lambda photo: photo[hl.clamp(hl.select(X < 2, 1 - X, hl.select(X < 11, X - 2, 19 - X)), 0, 8), Y],
    lambda photo: photo[hl.clamp(X + Y, 0, 8), Y],
    lambda photo: photo[hl.clamp(Y, 0, 8), hl.clamp(X, 0, 6)],
    lambda photo: photo[hl.clamp(8 - X, 0, 8), Y],
    lambda photo: photo[X // 4 * 4, Y // 3 * 3],
    lambda photo: photo[X % 5, Y],
    lambda photo: photo[hl.clamp((X + 1) // 2, 0, 8), Y // 2],
    lambda photo: photo[hl.clamp(X * 2 - 1, 0, 8), Y],
    lambda photo: photo[hl.clamp(X, 0, 8), 3],
    lambda photo: photo[hl.i32(hl.abs(X - 3)) % 9, Y],
    lambda photo: photo[hl.clamp(X // 2 - X // 3, 0, 8), Y],
    lambda photo: hl.select(X + Y < 5, photo[X, Y], photo[8 - hl.min(X, 8), Y]),
], ids=["clamp", "one side", "folded by hand", "shear", "transposed", "backwards", "mosaic", "remainder", "enlarged", "reduced",
        "a row", "distance", "different divisors", "either half"])
def test_places_that_the_program_computes(build: Any) -> None:
    photo = image("photo", "uint8")
    program = func(hl.u16(build(photo)) * 2 + 1)
    exactly(program, photo, noise("uint8", (7, 9)), shape=(9, 7), tile=(5, 4))
    assert len(graph_of(program, photo=(9, 7)).gathered) == 1


def test_coordinates_that_differ_by_a_shift_are_one_image() -> None:
    """A reflection by hand reads both x and -x, and is still the same image for all neighbours."""
    photo, folded = image("photo", "uint8"), hl.Func("folded")
    folded[X, Y] = photo[hl.clamp(hl.select(X < 0, -X, hl.select(X > 8, 16 - X, X)), 0, 8), Y]
    program = func(hl.u16(folded[X - 1, Y]) + hl.u16(folded[X, Y]) + hl.u16(folded[X + 1, Y]))
    assert list(graph_of(program, photo=(9, 7)).inputs) == ["photo_gathered"]
    exactly(program, photo, noise("uint8", (7, 9)))


def test_a_reduced_image_that_is_enlarged_again() -> None:
    """The remainders of x / 2 are told apart where an image is read at multiples of it, through a boundary condition too."""
    photo, down = image("photo", "uint8"), hl.Func("down")
    edge = edged("repeat_edge", photo)
    down[X, Y] = (hl.u16(edge[2 * X - 1, Y]) + hl.u16(edge[2 * X + 1, Y])) / 2
    program = func(down[X // 2, Y])
    exactly(program, photo, noise("uint8", (5, 9)), shape=(9, 5))
    assert {stream.divide for stream in graph_of(program, photo=(9, 5)).inputs.values()} == {(1, 1)}


# Conditions on coordinates.


def test_the_frame_of_a_picture_is_copied_and_its_inside_computed() -> None:
    photo = image("photo", "uint8")
    edge = edged("repeat_edge", photo)
    inside = (X > 0) & (X < 8) & (Y > 0) & (Y < 6)
    program = func(hl.select(inside, (edge[X - 1, Y] / 2 + edge[X + 1, Y] / 2), photo[X, Y]))
    exactly(program, photo, noise("uint8", (7, 9)), tile=(5, 4))
    assert sorted(graph_of(program, photo=(9, 7)).gathered) == ["mask", "photo_gathered"]


def test_a_condition_on_coordinates_and_data() -> None:
    photo = image("photo", "uint8")
    bright = photo[X, Y] > photo[X, Y + 1]
    exactly(func(hl.select((X < 4) & bright | (Y == 2), photo[X, Y], hl.u8(3))), photo, noise("uint8", (7, 9)))
    exactly(func(hl.select(X < Y, bright, photo[X, Y] > 7)), photo, noise("uint8", (7, 9)))


def test_a_condition_on_coordinates_decides_what_is_selected_by_it_inside() -> None:
    photo = image("photo", "uint8")
    half, quarter = photo[X, Y] / 2, photo[X, Y] / 4
    inside = hl.select(X < 4, half, hl.select(X < 2, photo[X, Y], quarter))
    report = exactly(func(hl.select(X < 4, inside, hl.select(X < 6, quarter, inside))), photo, noise("uint8", (7, 9)))
    # Two shifts, and a flag and a select for each of X < 4, X < 6 and X < 2.
    assert report["tiles_used"]["pe"] == 8


# Images that are walked in another way.

ODD: dict[str, tuple[Callable[..., Any], int]] = {
    "transposed": (lambda a, v, w: a[Y, X] + 1, 2),
    "a transposed stencil": (lambda a, v, w: a[Y, X] + a[Y + 1, X] * 2 + a[Y, X + 1], 2),
    "backwards": (lambda a, v, w: a[13 - X, Y] + a[X, 8 - Y], 3),
    "a diagonal": (lambda a, v, w: a[X, X % 4] + a[X, Y], 3),
    "a weight for each row": (lambda a, v, w: a[X, Y] * v[Y], 3),
    "a weight for each column and the next": (lambda a, v, w: a[X, Y] * w[X] + w[X + 1], 3),
    "two lines": (lambda a, v, w: v[Y] + w[X], 3),
    "one element for all": (lambda a, v, w: a[X, Y] * a[3, 2], 3)}


@pytest.mark.parametrize("name", ODD)
def test_images_may_be_walked_along_some_loops_only_and_in_any_order(name: str) -> None:
    build, streams = ODD[name]
    source, rows, columns = image("a", "uint8"), image("v", "uint8", 1), image("w", "uint8", 1)
    given = {"a": noise("uint8", (9, 14)), "v": noise("uint8", (9,)), "w": noise("uint8", (14,))}
    for param in (source, rows, columns):
        param.set(hl.Buffer(given[param.name()]))
    program = func(build(source, rows, columns))
    used = {each.name for each in load(program).inputs.values()}
    for engine in ("tokens", "fabric"):
        result = sardonyx.halide.run(program, inputs={each: given[each] for each in used}, engine=engine, shape=(7, 5),
                                     tile=(3, 4))
        assert np.array_equal(result.value, np.asarray(program.realize([7, 5]))), engine
    # One more stores the result.
    assert len(graph_of(program, **{each: given[each].shape[::-1] for each in used}).inputs) == streams - 1


def test_a_kernel_may_be_an_image() -> None:
    """A stream for each of its elements, of one word that is read again and again."""
    photo, kernel = image("photo", "uint8"), image("kernel", "uint8")
    picture, weights = noise("uint8", (9, 14)), noise("uint8", (3, 3)) % 9
    program = func(sum((hl.u16(photo[X + i, Y + j]) * hl.u16(kernel[i, j]) for i in range(3) for j in range(3)), hl.u16(0)))
    photo.set(hl.Buffer(picture))
    kernel.set(hl.Buffer(weights))
    result = sardonyx.halide.run(program, inputs={"photo": picture, "kernel": weights}, engine="fabric", arch="onyx")
    assert np.array_equal(result.value, np.asarray(program.realize([12, 7])))
    assert len(graph_of(program, photo=(14, 9), kernel=(3, 3)).inputs) == 1 + 9


# What is computed, beyond its edges.


def test_a_computed_func_beyond_its_edges_takes_a_stream_for_each_neighbour_that_it_reads() -> None:
    photo, sums = image("photo", "uint8"), hl.Func("sums")
    sums[X, Y] = hl.u16(photo[X, Y]) + hl.u16(photo[X + 1, Y])
    for kind, streams in (("repeat_edge", 2), ("constant_exterior", 3)):
        edge = edged(kind, sums, [(0, 8), (0, 7)])
        program = func(edge[X - 1, Y] + edge[X + 1, Y])
        exactly(program, photo, noise("uint8", (7, 9)), shape=(8, 7))
        assert len(graph_of(program, photo=(9, 7)).inputs) == streams


# The program of the library, in Verilog; and any others.


def test_the_blur_of_a_whole_picture_in_verilog() -> None:
    picture = noise("uint8", (22, 31))
    for engine in ("golden", "tokens", "fabric", "rtl-full"):
        result = sardonyx.halide.run(blur_edges.build(), inputs={"photo": picture}, engine=engine, arch=STENCILS, tile=(20, 15))
        wide = np.pad(picture, 1, mode="edge").astype(int)
        total = sum(weight * wide[j:j + 22, i:i + 31] for j, row in enumerate(gaussian.WEIGHTS) for i, weight in enumerate(row))
        np.testing.assert_array_equal(result.value, total >> 8, engine)


offsets = st.tuples(st.integers(-3, 3), st.integers(-3, 3))


@settings(max_examples=20)
@given(st.sampled_from(sorted(MODES)), st.sampled_from(sorted(MODES)), st.lists(offsets, min_size=1, max_size=4),
       st.lists(offsets, max_size=3), st.sampled_from(["uint8", "int8", "uint16"]), st.integers(1, 9), st.integers(1, 7),
       st.integers(1, 5), st.integers(1, 5), st.integers(1, 2), st.sampled_from(["tokens", "fabric"]))
def test_random_stencils_with_random_edges_equal_numpy(one: str, other: str, first: list[tuple[int, int]],
                                                       second: list[tuple[int, int]], dtype: str, width: int, height: int,
                                                       columns: int, rows: int, lanes: int,
                                                       engine: str) -> None:
    photo, picture = hl.ImageParam(TYPES[dtype], 2, "photo"), noise(dtype, (height, width))
    value: Any = hl.u16(0)
    expected = np.zeros((height, width), int)
    for kind, places in ((one, first), (other, second)):
        outside = OUTSIDE - 256 if dtype == "int8" else OUTSIDE
        edge = EDGES.constant_exterior(photo, outside) if kind == "constant_exterior" else getattr(EDGES, kind)(photo)
        wide = np.pad(picture, 3, constant_values=outside) if kind == "constant_exterior" else padded(kind, picture, 3)
        for weight, (i, j) in enumerate(places, 2):
            value += hl.u16(edge[X + i, Y + j]) * weight
            expected += weight * wide[j + 3:j + 3 + height, i + 3:i + 3 + width].astype(int)
    result = sardonyx.halide.run(func(value), inputs={"photo": picture}, engine=engine, tile=(columns * lanes, rows),
                                 unroll=lanes)
    np.testing.assert_array_equal(result.value, expected % 65536)
