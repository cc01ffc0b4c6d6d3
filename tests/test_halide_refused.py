"""Halide programs, images and arguments that are refused, and what is said of them."""

from pathlib import Path
from typing import Any

import halide as hl
import numpy as np
import pytest
from halide_programs import C, X, Y, image, name_of
from halide_runs import COLOUR, PHOTO, exactly, func, refused

import sardonyx.halide
from sardonyx.hw.arch.errors import UserError


def test_images_must_be_those_that_the_program_reads() -> None:
    a, b = image("a", "uint8"), image("b", "uint8")
    both = func(a[X, Y] + b[X, Y])
    assert refused(both, inputs={"a": PHOTO}) == (
        "the program reads a, b, and nothing is given for b\n  try: inputs={'b': array}")
    assert refused(both, inputs={"a": PHOTO, "b": PHOTO, "c": PHOTO}) == (
        "the program reads no image 'c'\n  try: its images are a, b")
    assert refused(both, inputs={"a": PHOTO, "b": PHOTO.astype(np.uint16)}) == (
        "image b: the program reads uint8, the image is uint16\n  try: convert it, as with array.astype('uint8')")
    assert refused(both, inputs={"a": PHOTO, "b": COLOUR}) == (
        "image b: the program reads 2 dimensions, the image has 3, (3, 9, 14)\n"
        "  try: give as many, x last; a plane of colours is array[0], or array[..., 0] where colours come last")
    assert refused(both, inputs={"a": PHOTO, "foo": PHOTO}) == (
        "the program reads a, b, and nothing is given for b; it reads no image 'foo'\n  try: inputs={'b': array}")
    assert refused(func(hl.ImageParam(hl.Float(32), 2, "level")[X, Y] * 2), inputs={"level": PHOTO}) == (
        "image level: the program reads float32, and the array computes with integers\n"
        "  try: read integers of 8 or 16 bits, scaled as the program needs them")
    assert refused(both, inputs={"a": PHOTO, "b": PHOTO[:0]}) == (
        "image b: the image is empty, its shape is (0, 18)\n  try: give a larger image")


def test_images_must_be_large_enough() -> None:
    photo = image("photo", "uint8")
    sums = hl.Func("sums")
    sums[X, Y] = photo[X, Y] + photo[X + 20, Y]
    assert refused(sums, inputs={"photo": PHOTO}) == (
        f"Func {name_of(sums)}: the images do not suffice for a result of 1 x 1, the smallest: photo is read at 0..20 in "
        "dimension 0, which has 0..17\n  try: read them from 0 on, through a boundary condition, or give larger ones")
    assert refused(func(photo[X - 1, Y]), inputs={"photo": PHOTO}).split(": ", 1)[1] == (
        "the images do not suffice for a result of 1 x 1, the smallest: photo is read at -1..-1 in dimension 0, which has "
        "0..17\n  try: read them from 0 on, through a boundary condition, or give larger ones")
    assert refused(sums, inputs={"photo": PHOTO}, shape=(2, 2)).startswith(
        "input photo: the image does not cover what the program reads: dimension 0 (x) is read at 0..21 but has 0..17")


def test_results_must_have_the_shape_of_the_program() -> None:
    photo = image("photo", "uint8", 3)
    copy = func(photo[X, Y, C] + 1, X, Y, C)
    copy.bound(C, 0, 3)
    name = name_of(copy)
    assert refused(copy, inputs={"photo": COLOUR}, shape=(4, 4)) == (
        f"Func {name}: a result of 4 x 4 for dimensions x, y, c\n  try: give one positive size for each, x first")
    assert refused(copy, inputs={"photo": COLOUR}, shape=(4, 4, 2)) == (
        f"Func {name}: c is bounded to 0..2, and the result has 0..1\n  try: bound it from 0 on, and ask for 3 elements")
    later = func(photo[X, Y, C] + 1, X, Y, C)
    later.bound(C, 1, 2)
    assert refused(later, inputs={"photo": COLOUR}) == (
        f"Func {name_of(later)}: c is bounded to 1..2, and the result has 0..1\n"
        "  try: bound it from 0 on, and ask for 2 elements")


def test_tiles_and_lanes_must_fit() -> None:
    photo = image("photo", "uint8")
    copy = func(photo[X, Y] + 1)
    assert refused(copy, inputs={"photo": PHOTO}, tile=(5, 4), unroll=2) == (
        f"Func {name_of(copy)}: 5 columns of a tile do not divide into 2 lanes\n  try: change the tile or unroll")
    assert refused(copy, inputs={"photo": PHOTO}, tile=(5,)) == (
        f"Func {name_of(copy)}: a tile of 5 for results over x, y\n  try: give 2 positive sizes, one for each of x, y")


@pytest.mark.parametrize("name,value,text", [
    ("unroll", 0, "it is 0, but has to be 1 or more\n  try: give a whole number, 1 or more"),
    ("unroll", "2", "it is '2', which is no whole number\n  try: give a whole number, 1 or more"),
    ("tile", 4, "it is 4, which is no sequence of sizes\n  try: give sizes, x first, as tile=(64, 64)"),
    ("tile", (2.5, 3), "it is 2.5, which is no whole number\n  try: give a whole number, 1 or more"),
    ("shape", np.array(4), "it is array(4), which is no sequence of sizes\n  try: give sizes, x first, as shape=(64, 64)"),
    ("shape", "44", "it is '44', which is no sequence of sizes\n  try: give sizes, x first, as shape=(64, 64)"),
    ("shape", (-1, 4), "it is -1, but has to be 1 or more\n  try: give a whole number, 1 or more"),
    ("seed", "a", "it is 'a', which is no whole number\n  try: give a whole number, 0 or more"),
    ("arch", 5, "it is of type int, which is no machine\n"
                "  try: name one of tiny, small, sparse, fpga, amber, onyx or a .json file, or give an Arch"),
    ("inputs", [PHOTO], "it is of type list, which says no names\n  try: give a dictionary, inputs={'name': ...}"),
    ("params", np.arange(2), "it is of type ndarray, which says no names\n  try: give a dictionary, params={'name': ...}"),
    ("params", [("a", 1)], "it is of type list, which says no names\n  try: give a dictionary, params={'name': ...}")])
def test_an_argument_that_is_no_such_value_is_named(name: str, value: object, text: str) -> None:
    copy = func(image("photo", "uint8")[X, Y] + 1)
    with pytest.raises(UserError) as error:
        sardonyx.halide.run(copy, **{"inputs": {"photo": PHOTO}, "engine": "golden", name: value})
    assert str(error.value) == f"{name}: {text}"


def test_a_parameter_is_a_number() -> None:
    copy = func(image("photo", "uint8")[X, Y] + 1)
    assert refused(copy, inputs={"photo": PHOTO}, params={"gain": "x"}) == (
        "params['gain']: it is 'x', which is no number\n  try: give a number")


@pytest.mark.parametrize("bound,text", [
    (lambda photo: photo.dim(0).set_bounds(0, 64), "dimension 0 has elements 0..63, the image has 0..17"),
    (lambda photo: photo.dim(1).set_extent(5), "dimension 1 has elements 0..4, the image has 0..12"),
    (lambda photo: photo.dim(1).set_min(3), "dimension 1 begins at 3, the image has 0..12")])
def test_images_are_what_the_program_says_of_them(bound: Any, text: str) -> None:
    photo = image("photo", "uint8")
    bound(photo)
    assert refused(func(photo[X, Y] + 1), inputs={"photo": PHOTO}) == (
        f"image photo: the program says that {text}\n"
        "  try: give such an image, or change set_bounds, set_min or set_extent in the program")
    wide = image("photo", "uint8")
    wide.dim(0).set_bounds(0, 18)
    wide.dim(1).set_extent(wide.dim(0).extent() - 5)
    exactly(func(wide[X, Y] + 1), PHOTO + 1, inputs={"photo": PHOTO})


def test_one_output_at_a_time() -> None:
    photo = image("photo", "uint8")
    a, b = hl.Func("first"), hl.Func("second")
    a[X, Y], b[X, Y] = photo[X, Y] + 1, photo[X, Y] + 2
    names = f"{name_of(a)}, {name_of(b)}"
    assert refused(hl.Pipeline([a, b]), inputs={"photo": PHOTO}) == (
        f"the program has 2 outputs, {names}\n  try: run the Funcs one by one")


def test_what_is_no_program_or_engine_is_refused(tmp_path: Path) -> None:
    assert refused(7, inputs={}) == (
        "a value of type int is no Halide program\n  try: give a halide.Func, a halide.Pipeline or a .hlpipe file")
    assert refused(tmp_path / "gone.hlpipe", inputs={}) == (
        f"{tmp_path / 'gone.hlpipe'}: cannot be read: No such file or directory\n"
        "  try: write it with halide.serialize_pipeline; if a program that we ship is meant, "
        "sardonyx run image --list names them")
    nothing = hl.Func("nothing")
    assert refused(nothing, inputs={}) == (
        f"Func {nothing.name()}: it has no definition\n  try: define it, as f[x, y] = ...")
    with pytest.raises(UserError, match="there is no engine 'gpu'"):
        sardonyx.halide.run(func(hl.u8(1)), inputs={}, engine="gpu")


def test_a_schedule_that_is_no_walk_of_the_array_is_refused_unless_arguments_say_more() -> None:
    photo = image("photo", "uint8")
    turned = func(photo[X, Y] + 1).reorder(Y, X)
    assert refused(turned, inputs={"photo": PHOTO}) == (
        f"Func {name_of(turned)}, pure definition: the loops of a tile are y, x from the innermost on, but the array walks x, "
        "then y\n  try: reorder them, or give tile and unroll as arguments")
    exactly(turned, PHOTO + 1, inputs={"photo": PHOTO}, tile=(6, 5))


def test_lanes_that_do_not_fit_name_what_is_short_and_how_many_do() -> None:
    photo = image("photo", "uint8")
    wide = func(photo[X, Y] + 1).unroll(X, 9)
    assert refused(wide, inputs={"photo": PHOTO}) == (
        f"Func {name_of(wide)}: 9 lanes do not fit: GLB tiles "
        "(9 lanes need 9 load streams and 9 store streams, 'small' has 8 with one of each)\n"
        "  try: unroll by 8 at most, or use a larger machine")
    exactly(wide, PHOTO + 1, inputs={"photo": PHOTO}, unroll=2)


@pytest.mark.parametrize("kind,dimensions", [("uint8", 2), ("uint16", 2), ("uint8", 1)])
def test_two_images_of_one_name_are_refused(kind: str, dimensions: int) -> None:
    """A serialized pipeline holds one of them; with equal types both would read the same array."""
    x, y, output = hl.Var("x"), hl.Var("y"), hl.Func("both_images")
    types = {"uint8": hl.UInt(8), "uint16": hl.UInt(16)}
    one, other = hl.ImageParam(hl.UInt(8), 2, "photo"), hl.ImageParam(types[kind], dimensions, "photo")
    output[x, y] = hl.u16(one[x, y]) + hl.u16(other[(x, y)[:dimensions]])
    with pytest.raises(UserError) as error:
        sardonyx.halide.run(output, inputs={"photo": np.ones((2, 2), np.uint8)}, engine="golden")
    assert str(error.value) == ("program: two parameters are called photo\n"
                                "  try: give each ImageParam and Param a name of its own")


def test_a_parameter_has_64_bits_at_most() -> None:
    with pytest.raises(UserError) as error:
        sardonyx.halide.run(b"", inputs={}, params={"gain": 10 ** 30})
    assert str(error.value) == ("params['gain']: it is 1000000000000000000000000000000, and no parameter has more than 64 "
                                "bits\n  try: give a smaller number")


def test_an_image_of_bfloat16_is_refused() -> None:
    level = hl.ImageParam(hl.BFloat(16), 2, "level")
    with pytest.raises(UserError) as error:
        sardonyx.halide.run(func(level[X, Y]), inputs={"level": np.zeros((3, 3), np.uint16)}, engine="golden")
    assert str(error.value) == (
        "image level: the program reads bfloat16, and the array computes with integers; bfloat16 is not there yet\n"
        "  try: read integers of 8 or 16 bits, scaled as the program needs them")


def test_a_program_too_large_for_every_preset_is_not_sent_to_one_of_them() -> None:
    photo = image("photo", "uint8")
    value = hl.u16(photo[X, Y])
    for step in range(400):
        value = (value * 3 + 1) ^ (step + 1)
    program = func(value)
    with pytest.raises(UserError) as error:
        sardonyx.halide.run(program, inputs={"photo": np.zeros((3, 3), np.uint8)}, engine="tokens", arch="onyx")
    assert str(error.value) == (
        f"Func {name_of(program)}: the program is too large for 'onyx': it needs 800 PE tiles, has 384\n"
        "  try: describe a machine of more columns and rows, or compute the expression in parts")
