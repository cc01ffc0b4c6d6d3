"""Halide programs from Python and from the command line: the same pictures from every engine, and clear words otherwise."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import halide as hl
import numpy as np
import pytest
from halide_programs import TYPES, C, X, Y, image, name_of
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import sardonyx.halide
from sardonyx.apps.dense import gaussian
from sardonyx.cli import main
from sardonyx.hw.arch.errors import UserError
from sardonyx.pictures import read_picture, write_picture

RANDOM = np.random.default_rng(0)
PHOTO = RANDOM.integers(0, 256, (13, 18), dtype=np.uint8)
COLOUR = RANDOM.integers(0, 256, (3, 9, 14), dtype=np.uint8)
ENGINES = ("golden", "tokens", "fabric")


def func(value: hl.Expr, *args: hl.Var) -> hl.Func:
    found = hl.Func("f")
    found[args or (X, Y)] = value
    return found


def exactly(program: Any, expected: np.ndarray, **options: Any) -> None:
    """Every engine gives an array and no other, in its type."""
    for engine in ENGINES:
        found = sardonyx.halide.run(program, engine=engine, **options).value
        assert found.dtype == expected.dtype, engine
        assert found.tolist() == expected.tolist(), engine


def save(program: hl.Func, path: Path) -> Path:
    path.write_bytes(hl.serialize_pipeline(hl.Pipeline([program])))
    return path


@pytest.mark.parametrize("arch", ["tiny", "small", "amber"])
def test_a_blur_equals_halide(arch: str) -> None:
    photo = image("photo", "uint8")
    blur = gaussian.build(photo)
    photo.set(hl.Buffer(PHOTO))
    exactly(blur, np.array(blur.realize([16, 11])), inputs={"photo": PHOTO}, tile=(7, 5), arch=arch)


@pytest.mark.parametrize("lanes", [1, 2, 3, 4])
def test_lanes_and_tiles_do_not_change_the_picture(lanes: int) -> None:
    photo = image("photo", "uint8")
    sums = func(hl.u16(photo[X, Y]) + hl.u16(photo[X + 1, Y + 2]) * 3)
    exactly(sums, PHOTO[:-2, :-1].astype(np.uint16) + PHOTO[2:, 1:].astype(np.uint16) * 3, inputs={"photo": PHOTO},
            tile=(2 * lanes, 4), unroll=lanes)


@pytest.mark.parametrize("shape", [(1, 1), (1, 17), (13, 1), (7, 11), (64, 65)])
def test_pictures_of_any_size(shape: tuple[int, int]) -> None:
    photo = image("photo", "int16")
    picture = RANDOM.integers(-32768, 32768, (shape[0] + 1, shape[1]), dtype=np.int16)
    exactly(func(photo[X, Y] - photo[X, Y + 1]), picture[:-1] - picture[1:], inputs={"photo": picture})


def test_colour_planes_come_in_the_order_of_the_program() -> None:
    photo = image("photo", "uint8", 3)
    found = func(hl.u8(255) - photo[X, Y, C], X, Y, C)
    found.bound(C, 0, 3)
    exactly(found, 255 - COLOUR, inputs={"photo": COLOUR}, tile=(5, 4))
    inner = func(hl.u8(255) - photo[C, X, Y], C, X, Y)
    inner.bound(C, 0, 3)
    last = np.ascontiguousarray(np.moveaxis(COLOUR, 0, 2))
    exactly(inner, 255 - last, inputs={"photo": last}, tile=(5, 4))


def test_grids_of_one_and_three_dimensions() -> None:
    line, volume = image("line", "uint16", 1), image("volume", "uint8", 3)
    words = RANDOM.integers(0, 65536, 50, dtype=np.uint16)
    exactly(func(line[X] + line[X + 3], X), words[:-3] + words[3:], inputs={"line": words}, tile=(11,))
    cube = RANDOM.integers(0, 256, (5, 6, 7), dtype=np.uint8)
    sums = func(hl.u16(volume[X, Y, C]) + hl.u16(volume[X + 1, Y + 2, C + 1]), X, Y, C)
    expected = cube[:-1, :-2, :-1].astype(np.uint16) + cube[1:, 2:, 1:]
    exactly(sums, expected, inputs={"volume": cube})
    exactly(sums, expected, inputs={"volume": cube}, tile=(4, 2, 3))


def test_smaller_and_larger_pictures() -> None:
    photo = image("photo", "uint8")
    exactly(func(photo[2 * X + 1, 2 * Y]), PHOTO[::2, 1::2], inputs={"photo": PHOTO}, tile=(4, 3))
    larger = func(hl.select(X % 2 == 0, photo[X // 2, Y], hl.u8(7)))
    expected = np.where(np.arange(36) % 2 == 0, np.repeat(PHOTO, 2, axis=1), 7).astype(np.uint8)
    exactly(larger, expected, inputs={"photo": PHOTO}, shape=(36, 13), tile=(7, 5))


@pytest.mark.parametrize("build,expected", [
    (lambda pixel: hl.i32(pixel) - 300, lambda pixel: pixel.astype(np.int32) - 300),
    (lambda pixel: hl.i64(pixel) * -128, lambda pixel: pixel.astype(np.int64) * -128),
    (lambda pixel: hl.i32(pixel) * 257, lambda pixel: pixel.astype(np.int32) * 257),
    (lambda pixel: hl.u32(pixel) * 257, lambda pixel: pixel.astype(np.uint32) * 257)],
    ids=["negative", "negative, 64 bits", "positive, 16 bits of them", "unsigned"])
def test_results_of_wide_types_keep_their_signs(build: Any, expected: Any) -> None:
    """Values fit a word, signed or not; the type says nothing of which."""
    photo = image("photo", "uint8")
    exactly(func(build(photo[X, Y])), expected(PHOTO), inputs={"photo": PHOTO}, tile=(5, 4))


def test_planes_of_one_result_may_differ_in_sign() -> None:
    photo = image("photo", "uint8")
    both = func(hl.select(C == 0, hl.i32(photo[X, Y]) * 257, -hl.i32(photo[X, Y])), X, Y, C)
    both.bound(C, 0, 2)
    exactly(both, np.stack([PHOTO * np.int32(257), -PHOTO.astype(np.int32)]), inputs={"photo": PHOTO}, tile=(5, 4))


def test_flags_and_booleans() -> None:
    photo, mask = image("photo", "uint8"), image("mask", "bool")
    bright = func(photo[X, Y] > photo[X + 1, Y])
    exactly(bright, PHOTO[:, :-1] > PHOTO[:, 1:], inputs={"photo": PHOTO})
    exactly(func(hl.select(mask[X, Y], photo[X, Y], hl.u8(9))), np.where(PHOTO % 2 == 0, PHOTO, 9).astype(np.uint8),
            inputs={"photo": PHOTO, "mask": PHOTO % 2 == 0})


def test_a_flag_may_be_read_at_several_points() -> None:
    photo = image("photo", "uint8")
    same = hl.i16(photo[X, Y] == photo[X + 1, Y])
    chosen = func(hl.select(same + 2 < hl.i16(photo[X, Y]), hl.i16(photo[X + 2, Y]) + same, hl.i16(3)))
    few = PHOTO % 4
    equal = (few[:, :-2] == few[:, 1:-1]).astype(np.int16)
    exactly(chosen, np.where(equal + 2 < few[:, :-2], few[:, 2:] + equal, np.int16(3)), inputs={"photo": few}, tile=(5, 4))


WORDS = np.concatenate([np.arange(0, 65536, 97), [1, 2, 254, 255, 256, 32766, 32767, 32768, 32769, 65534, 65535]])


@settings(max_examples=25)
@given(st.sampled_from(["int8", "uint8", "int16", "uint16"]), st.integers(-65535, 65535), st.booleans())
@example("uint16", 7, False)
@example("uint16", 65535, False)
@example("int16", -3, True)
@example("int16", 32767, False)
@example("int8", -1, False)
def test_quotients_and_remainders_by_constants_are_those_of_halide(dtype: str, by: int, remainder: bool) -> None:
    """All but 0 and the least number of a type, whose opposite it does not have."""
    limits = np.iinfo(dtype)
    by = by % (limits.max - limits.min) + limits.min + 1
    assume(abs(by) > remainder)
    photo = image("photo", dtype)
    divisor = hl.cast(TYPES[dtype], by)
    program = func(photo[X, Y] % divisor if remainder else photo[X, Y] / divisor)
    values = WORDS.astype(dtype)[None]
    photo.set(hl.Buffer(values))
    result = sardonyx.halide.run(program, inputs={"photo": values}, engine="tokens", arch="onyx", tile=(values.size, 1))
    assert np.array_equal(result.value, np.asarray(program.realize([values.size, 1])))


def test_a_constant_buffer_is_an_image_wherever_it_begins() -> None:
    photo = image("photo", "uint8")
    shade = hl.Buffer(np.arange(12, dtype=np.uint8).reshape(3, 4))
    exactly(func(photo[X, Y] + shade[X, Y]), PHOTO[:3, :4] + np.arange(12, dtype=np.uint8).reshape(3, 4),
            inputs={"photo": PHOTO})
    shade.set_min([-1, 0])
    exactly(func(photo[X, Y] + shade[X - 1, Y]), PHOTO[:3, :4] + np.arange(12, dtype=np.uint8).reshape(3, 4),
            inputs={"photo": PHOTO}, shape=(4, 3))


def test_a_table_read_at_data_is_a_mem_tile() -> None:
    photo = image("photo", "uint8")
    curve = RANDOM.integers(0, 65536, 256, dtype=np.uint16)
    table = hl.Buffer(curve)
    expected = curve[PHOTO[:, :-1]] + PHOTO[:, 1:]
    exactly(func(table[hl.i32(photo[X, Y])] + hl.u16(photo[X + 1, Y])), expected, inputs={"photo": PHOTO}, tile=(6, 5))


def test_parameters_have_the_values_that_are_set_or_given(tmp_path: Path) -> None:
    photo, gain = image("photo", "uint8"), hl.Param(hl.UInt(8), "gain")
    scaled = func(hl.u16(photo[X, Y]) * hl.u16(gain))
    with pytest.raises(UserError) as error:
        sardonyx.halide.run(scaled, inputs={"photo": PHOTO}, engine="golden")
    assert str(error.value) == "program: no value for the parameters gain (uint8)\n  try: give a value for each by its name"
    exactly(scaled, PHOTO.astype(np.uint16) * 5, inputs={"photo": PHOTO}, params={"gain": 5})
    gain.set(3)
    exactly(scaled, PHOTO.astype(np.uint16) * 3, inputs={"photo": PHOTO})
    exactly(scaled, PHOTO.astype(np.uint16) * 5, inputs={"photo": PHOTO}, params={"gain": 5})
    exactly(save(scaled, tmp_path / "scaled.hlpipe"), PHOTO.astype(np.uint16) * 2, inputs={"photo": PHOTO}, params={"gain": 2})


def refused(program: Any, *, inputs: Any, **options: Any) -> str:
    with pytest.raises(UserError) as error:
        sardonyx.halide.run(program, inputs=inputs, engine="fabric", **options)
    return str(error.value)


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


def test_sizes_may_be_numbers_of_numpy() -> None:
    copy = func(image("photo", "uint8")[X, Y] + 1)
    exactly(copy, (PHOTO + 1)[:4, :10], inputs={"photo": PHOTO}, shape=np.array([10, 4]), tile=np.array([4, 3]),
            unroll=np.int8(2), seed=np.uint16(3))


def test_stages_are_written_into_a_folder_by_engines_that_compile(tmp_path: Path) -> None:
    copy = func(image("photo", "uint8")[X, Y] + 1)
    (tmp_path / "file").write_text("")
    assert refused(copy, inputs={"photo": PHOTO}, dump=tmp_path / "file" / "more") == (
        f"dump: {tmp_path / 'file'} is a file\n  try: name a folder, which need not be there")
    sardonyx.halide.run(copy, inputs={"photo": PHOTO}, engine="tokens", dump=str(tmp_path / "new" / "stages"))
    assert (tmp_path / "new" / "stages" / "app.bits").exists()
    with pytest.raises(UserError, match="engine golden compiles nothing that could be written"):
        sardonyx.halide.run(copy, inputs={"photo": PHOTO}, engine="golden", dump=tmp_path)


def test_images_may_be_picture_files_and_the_report_says_what_was_converted(tmp_path: Path) -> None:
    copy = func(image("photo", "uint8")[X, Y] + 1)
    write_picture(PHOTO, tmp_path / "grey.png")
    write_picture(COLOUR, tmp_path / "colour.png")
    exactly(copy, PHOTO + 1, inputs={"photo": tmp_path / "grey.png"})
    grey = sardonyx.halide.run(copy, inputs={"photo": str(tmp_path / "grey.png")}, engine="golden")
    assert "inputs" not in grey.report
    colour = sardonyx.halide.run(copy, inputs={"photo": tmp_path / "colour.png"}, engine="golden")
    assert colour.report["inputs"] == "photo: RGB taken as grey"


def test_an_extent_without_a_start_bounds_the_result_too() -> None:
    copy = func(image("photo", "uint8")[X, Y] + 1)
    copy.bound_extent(X, 5)
    exactly(copy, (PHOTO + 1)[:, :5], inputs={"photo": PHOTO})


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


@pytest.mark.parametrize("name", ["two words", "a/b", "50%", "<b>&amp;", "größe"])
def test_names_may_have_any_letters(name: str, tmp_path: Path) -> None:
    source = hl.ImageParam(hl.UInt(8), 2, name)
    copy = hl.Func(name + " doubled")
    copy[X, Y] = source[X, Y] * 2
    exactly(copy, PHOTO * 2, inputs={name: PHOTO}, dump=None)
    sardonyx.halide.run(copy, inputs={name: PHOTO}, engine="fabric", dump=tmp_path)
    ElementTree.parse(tmp_path / "array.svg")


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
        "  try: write it with halide.serialize_pipeline")
    nothing = hl.Func("nothing")
    assert refused(nothing, inputs={}) == (
        f"Func {nothing.name()}: it has no definition\n  try: define it, as f[x, y] = ...")
    with pytest.raises(UserError, match="there is no engine 'gpu'"):
        sardonyx.halide.run(func(hl.u8(1)), inputs={}, engine="gpu")


def test_the_report_says_what_was_run(tmp_path: Path) -> None:
    photo = image("photo", "uint8")
    found = sardonyx.halide.run(func(photo[X, Y] + 1), inputs={"photo": PHOTO}, engine="fabric", tile=(6, 5), unroll=2,
                                dump=tmp_path)
    keys = ("engine", "result", "arch", "tiles", "tile", "lanes", "schedule", "elements_checked")
    assert {key: found.report[key] for key in keys} == {
        "engine": "fabric", "result": "18 x 13, uint8", "arch": "small", "tiles": 9, "tile": "6 x 5",
        "lanes": "2 of at most 8: GLB tiles (9 lanes need 9 load streams and 9 store streams, 'small' has 8 with one of each)",
        "schedule": "tile 6 x 5 and 2 lanes from the arguments", "elements_checked": 234}
    assert (tmp_path / "app.bits").exists()


def test_a_program_is_run_as_it_is_scheduled() -> None:
    photo = image("photo", "uint8")
    sums = func(hl.u16(photo[X, Y]) + hl.u16(photo[X + 1, Y + 2]) * 3)
    xi, yi = hl.Var("xi"), hl.Var("yi")
    sums.tile(X, Y, xi, yi, 6, 4).unroll(xi, 3).parallel(Y)
    expected = PHOTO[:-2, :-1].astype(np.uint16) + PHOTO[2:, 1:].astype(np.uint16) * 3
    exactly(sums, expected, inputs={"photo": PHOTO})

    def report(**options: Any) -> dict[str, object]:
        found = sardonyx.halide.run(sums, inputs={"photo": PHOTO}, engine="tokens", **options).report
        return {key: str(found[key]).partition(" of ")[0] for key in ("tile", "lanes", "schedule")}
    assert report() == {"tile": "6 x 4", "lanes": "3", "schedule": (
        "tile 6 x 4 and 3 lanes from the program; not used: parallel y.y")}
    assert report(tile=(12, 5)) == {"tile": "12 x 5", "lanes": "3", "schedule": (
        "tile 12 x 5 from the arguments, 3 lanes from the program; not used: parallel y.y")}
    assert report(tile=(12, 5), unroll=2) == {"tile": "12 x 5", "lanes": "2", "schedule": (
        "tile 12 x 5 and 2 lanes from the arguments; not used: parallel y.y")}


def test_a_program_without_a_schedule_has_the_tile_of_the_fewest_cycles_and_one_lane() -> None:
    photo = image("photo", "uint8", 1)
    line = func(photo[X] + 1, X)
    words = RANDOM.integers(0, 256, 100, dtype=np.uint8)
    report = sardonyx.halide.run(line, inputs={"photo": words}, engine="tokens").report
    assert (report["tile"], report["tiles"], report["schedule"]) == ("100", 1, "tile 100 and 1 lane by default")
    line.split(X, X, hl.Var("xi"), 30)
    report = sardonyx.halide.run(line, inputs={"photo": words}, engine="tokens").report
    assert (report["tile"], report["tiles"], report["schedule"]) == (
        "30", 4, "tile 30 from the program, 1 lane by default")


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


@pytest.fixture
def blur(tmp_path: Path) -> Path:
    write_picture(PHOTO, tmp_path / "photo.png")
    return save(gaussian.build(), tmp_path / "blur.hlpipe")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_picture_is_run_from_the_command_line(blur: Path, engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    photo, out = blur.with_name("photo.png"), blur.with_name("new") / "blurred.png"
    assert main(["run", "image", str(blur), "--input", str(photo), "--output", str(out), "--engine", engine, "--tile", "8x4",
                 "--arch", "tiny", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"]["engine"] == engine
    total = sum(weight * PHOTO[j:j + 11, i:i + 16].astype(int) for j, row in enumerate(gaussian.WEIGHTS)
                for i, weight in enumerate(row))
    assert np.array_equal(read_picture(out, 2)[0], total >> 8)


def test_a_scheduled_file_needs_no_tile_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    photo, xi, yi = image("photo", "uint8"), hl.Var("xi"), hl.Var("yi")
    sums = func(hl.u16(photo[X, Y]) + hl.u16(photo[X, Y + 1]))
    sums.tile(X, Y, xi, yi, 8, 4).unroll(xi, 2)
    write_picture(PHOTO, tmp_path / "photo.png")
    line = ["run", "image", str(save(sums, tmp_path / "sums.hlpipe")), "--input", str(tmp_path / "photo.png"), "--engine",
            "tokens", "--json"]
    for options, expected in (([], "tile 8 x 4 and 2 lanes from the program"),
                              (["--unroll", "4"], "tile 8 x 4 from the program, 4 lanes from the arguments"),
                              (["--tile", "16x2", "--unroll", "1"], "tile 16 x 2 and 1 lane from the arguments")):
        assert main([*line, *options]) == 0
        assert json.loads(capsys.readouterr().out)["report"]["schedule"] == expected


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What a command that fails says."""
    assert main(["run", "image", *map(str, arguments), "--engine", "fabric"]) == 2
    return capsys.readouterr().err.strip()


def test_mistakes_on_the_command_line_are_named(blur: Path, capsys: pytest.CaptureFixture[str]) -> None:
    photo = blur.with_name("photo.png")
    assert command(capsys, blur) == (
        f"sardonyx: {blur}: the program reads photo, and nothing is given for photo\n  try: --input photo=FILE")
    assert command(capsys, blur, "--input", f"foto={photo}", "--input", f"photo={photo}") == (
        f"sardonyx: {blur}: the program reads no image 'foto'\n  try: its images are photo")
    assert command(capsys, blur, "--input", photo, "--input", photo) == (
        "sardonyx: --input: an image is given twice\n  try: name each: --input NAME=FILE")
    assert command(capsys, blur, "--input", photo, "--output", "a.txt") == (
        "sardonyx: a.txt: the name does not say which kind of picture to write\n  try: let it end in .png or .npy")
    assert command(capsys, blur, "--input", photo, "--tile", "8xx4").endswith(
        "'8xx4' is not a size: write width and height, as 128x64\n  try: sardonyx run image --help")
    assert command(capsys, blur, "--input", photo, "--param", "gain").endswith(
        "'gain' is not a name and a whole number: write gain=3\n  try: sardonyx run image --help")
    assert command(capsys, blur, "--input", photo, "--param", "gain=3") == (
        f"sardonyx: {blur}: parameter gain is not in the pipeline\n  try: give no parameters")
    write_picture(PHOTO.astype(np.uint16), photo)
    assert command(capsys, blur, "--input", photo) == (
        "sardonyx: image photo: the program reads uint8, the image is uint16\n"
        "  try: convert it, as with array.astype('uint8')")


def test_the_result_may_be_smaller_than_the_pictures_allow(blur: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "image", str(blur), "--input", str(blur.with_name("photo.png")), "--engine", "fabric", "--shape", "5x3",
                 "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"]["result"] == "5 x 3, uint8"


def test_parameters_come_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    photo, gain = image("photo", "uint8"), hl.Param(hl.UInt(8), "gain")
    program = save(func(hl.u16(photo[X, Y]) * hl.u16(gain)), tmp_path / "scaled.hlpipe")
    write_picture(PHOTO, tmp_path / "photo.png")
    assert main(["run", "image", str(program), "--input", str(tmp_path / "photo.png"), "--param", "gain=0x10", "--engine",
                 "fabric", "--output", str(tmp_path / "scaled.npy")]) == 0
    assert np.array_equal(np.load(tmp_path / "scaled.npy"), PHOTO.astype(np.uint16) * 16)


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


def box(side: int) -> hl.Func:
    """The sum of all words of a square."""
    photo = image("photo", "uint8")
    return func(sum((hl.u16(photo[X + i, Y + j]) for j in range(side) for i in range(side)), hl.u16(0)))


def test_a_large_box_of_a_small_picture_runs_in_tiles_wider_than_the_result() -> None:
    """In rows of 40 points, 15 of which are kept, words wait longer than register files and shorter than MEM tiles allow. Each
    sum in a chain of 14 makes them wait."""
    photo = RANDOM.integers(0, 256, (24, 40), dtype=np.uint8)
    report = sardonyx.halide.run(box(15), inputs={"photo": photo}, engine="fabric", arch="onyx").report
    assert report["tile"] in ("48 x 10", "64 x 10")
    assert report["tiles_used"]["pe"] < 160


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


def test_programs_that_we_ship_are_listed_and_run_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                         capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    write_picture(PHOTO, Path("photo.png"))
    assert main(["run", "image", "--list"]) == 0
    text = capsys.readouterr().out
    assert "gaussian        A 3 x 3 Gaussian blur of an 8-bit grey image: a Halide program as any other\n" in text
    assert main(["run", "image", "gaussian", "--input", "photo.png", "--output", "blurred.png", "--engine", "tokens"]) == 0
    assert Path("blurred.png").exists()


def test_programs_that_are_not_there_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert command(capsys) == "sardonyx run image: no program is named\n  try: sardonyx run image --list"
    assert command(capsys, "gausian", "--input", "photo.png") == (
        "sardonyx: gausian: cannot be read: No such file or directory\n"
        "  try: write it with halide.serialize_pipeline; if a program that we ship is meant, gaussian")
    Path("gaussian").write_text("")
    assert command(capsys, "gaussian", "--input", "photo.png") == (
        "sardonyx: gaussian: 'gaussian' is a program that we ship, and a file here\n  try: write ./gaussian for the file")
