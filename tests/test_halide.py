"""Halide programs from Python and from the command line: the same pictures from every engine, and clear words otherwise."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import halide as hl
import numpy as np
import pytest
from halide_programs import TYPES, C, X, Y, image
from halide_runs import COLOUR, PHOTO, RANDOM, exactly, func, refused, save
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import sardonyx.halide
from sardonyx.apps.dense import gaussian
from sardonyx.hw.arch.errors import UserError
from sardonyx.pictures import write_picture


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


@pytest.mark.parametrize("name", ["two words", "a/b", "50%", "<b>&amp;", "größe"])
def test_names_may_have_any_letters(name: str, tmp_path: Path) -> None:
    source = hl.ImageParam(hl.UInt(8), 2, name)
    copy = hl.Func(name + " doubled")
    copy[X, Y] = source[X, Y] * 2
    exactly(copy, PHOTO * 2, inputs={name: PHOTO}, dump=None)
    sardonyx.halide.run(copy, inputs={name: PHOTO}, engine="fabric", dump=tmp_path)
    ElementTree.parse(tmp_path / "array.svg")


def test_the_report_says_what_was_run(tmp_path: Path) -> None:
    photo = image("photo", "uint8")
    found = sardonyx.halide.run(func(photo[X, Y] + 1), inputs={"photo": PHOTO}, engine="fabric", tile=(6, 5), unroll=2,
                                dump=tmp_path)
    keys = ("engine", "result", "arch", "tiles", "tile", "lanes", "schedule", "elements_checked")
    assert {key: found.report[key] for key in keys} == {
        "engine": "fabric", "result": "18 x 13, uint8", "arch": "small", "tiles": 9, "tile": "6 x 5",
        "lanes": "2 of at most 8: GLB tiles (9 lanes need 9 load streams and 9 store streams, 'small' has 8 with one of "
                 "each)",
        "schedule": "tile 6 x 5 and 2 lanes from the arguments", "elements_checked": 234}
    assert (tmp_path / "app.bits").exists()


def test_lanes_are_stripes_whichever_loop_the_program_unrolls() -> None:
    """However narrow they are."""
    photo = image("photo", "uint8")
    xi, yi, stripe = hl.Var("xi"), hl.Var("yi"), hl.Var("stripe")
    for scheduled in (False, True):
        sums = func(hl.u16(photo[X, Y]) + hl.u16(photo[X + 2, Y]) * 3)
        sums.tile(X, Y, xi, yi, 8, 4)
        if scheduled:
            sums.split(xi, stripe, xi, 2).unroll(stripe)
        else:
            sums.unroll(xi, 4)
        found = sardonyx.halide.run(sums, inputs={"photo": PHOTO}, engine="fabric")
        np.testing.assert_array_equal(found.value, PHOTO[:, :-2].astype(np.uint16) + PHOTO[:, 2:].astype(np.uint16) * 3)
        assert str(found.report["lanes"]).startswith("4 of at most ")
        assert found.report["schedule"] == "tile 8 x 4 and 4 lanes from the program"


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
