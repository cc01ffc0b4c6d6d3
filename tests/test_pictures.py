"""Pictures come and go as arrays with y first and colours in front; what is no picture is refused in words."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sardonyx.hw.arch.errors import UserError
from sardonyx.pictures import check_picture, read_picture, write_picture

RANDOM = np.random.default_rng(0)
GREY = RANDOM.integers(0, 256, (5, 7), dtype=np.uint8)
DEEP = RANDOM.integers(0, 65536, (5, 7), dtype=np.uint16)
COLOUR = RANDOM.integers(0, 256, (3, 5, 7), dtype=np.uint8)


@pytest.mark.parametrize(("value", "name"), [(GREY, "a.png"), (DEEP, "a.png"), (DEEP, "a.tiff"), (COLOUR, "a.png"),
                                             (COLOUR, "new/folder/a.bmp"), (DEEP.astype(np.int16), "a.npy")])
def test_what_is_written_is_read(value: np.ndarray, name: str, tmp_path: Path) -> None:
    write_picture(value, tmp_path / name)
    found = read_picture(tmp_path / name, value.ndim)
    assert found.dtype == value.dtype
    assert np.array_equal(found, value)


def test_colours_are_planes_in_front(tmp_path: Path) -> None:
    Image.fromarray(np.array([[[1, 2, 3], [4, 5, 6]]], np.uint8)).save(tmp_path / "a.png")
    assert read_picture(tmp_path / "a.png", 3).tolist() == [[[1, 4]], [[2, 5]], [[3, 6]]]


def test_grey_and_colour_become_what_the_program_reads(tmp_path: Path) -> None:
    write_picture(GREY, tmp_path / "grey.png")
    assert np.array_equal(read_picture(tmp_path / "grey.png", 3), np.stack([GREY] * 3))
    write_picture(COLOUR, tmp_path / "colour.png")
    assert read_picture(tmp_path / "colour.png", 2).shape == (5, 7)


def test_16_bits_are_read_in_either_byte_order(tmp_path: Path) -> None:
    Image.fromarray(DEEP.astype(">u2")).save(tmp_path / "big.tiff")
    found = read_picture(tmp_path / "big.tiff", 2)
    assert found.dtype == np.uint16
    assert np.array_equal(found, DEEP)


def message(function: object, *args: object) -> str:
    with pytest.raises(UserError) as error:
        function(*args)  # type: ignore[operator]
    return str(error.value)


def test_files_that_are_no_pictures_are_refused(tmp_path: Path) -> None:
    bad = tmp_path / "bad.png"
    bad.write_text("no picture")
    assert message(read_picture, bad, 2) == \
        f"{bad}: not a picture that can be read\n  try: give a PNG, JPEG or TIFF file, or .npy"
    gone = tmp_path / "gone.png"
    assert message(read_picture, gone, 2) == \
        f"{gone}: cannot read the picture: No such file or directory\n  try: name a file that is there"
    bad.rename(tmp_path / "bad.npy")
    assert message(read_picture, tmp_path / "bad.npy", 2).endswith("\n  try: write it with numpy.save")


def test_a_picture_has_two_or_three_dimensions(tmp_path: Path) -> None:
    assert message(read_picture, tmp_path / "a.png", 4) == (
        f"{tmp_path / 'a.png'}: the program reads an image of 4 dimensions, a picture has 2 (grey) or 3 (colour)\n"
        "  try: give the image as .npy")


@pytest.mark.parametrize(("dtype", "dimensions"), [("int16", 2), ("uint16", 3), ("uint8", 1), ("bool", 2)])
def test_results_that_are_no_pictures_are_refused(dtype: str, dimensions: int) -> None:
    assert message(check_picture, Path("a.png"), np.dtype(dtype), dimensions) == (
        f"a.png: a result of {dtype} with {dimensions} dimensions is no picture\n  try: give a file name that ends in .npy")
    check_picture(Path("a.npy"), np.dtype(dtype), dimensions)


def test_names_say_which_kind_of_picture(tmp_path: Path) -> None:
    for name in ("a", "a.txt"):
        assert message(write_picture, GREY, Path(name)) == (
            f"{name}: the name does not say which kind of picture to write\n  try: let it end in .png or .npy")


def test_two_planes_are_no_picture(tmp_path: Path) -> None:
    assert message(write_picture, COLOUR[:2], tmp_path / "a.png") == (
        f"{tmp_path / 'a.png'}: a result of uint8 with 2 planes is no picture\n  try: give a file name that ends in .npy")


def test_a_kind_that_holds_no_16_bits_is_refused(tmp_path: Path) -> None:
    text = message(write_picture, DEEP, tmp_path / "a.jpg")
    assert text.startswith(f"{tmp_path / 'a.jpg'}: cannot write the picture: ")
    assert text.endswith("\n  try: name another file; 16 bits go into .png or .tiff")
