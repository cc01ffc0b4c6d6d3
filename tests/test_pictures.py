"""Pictures come and go as arrays with y first and colours in front; what is no picture is refused in words."""

import contextlib
import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import damaged, overwritten, try_to_read
from PIL import Image

from sardonyx.hw.arch.errors import UserError
from sardonyx.pictures import READ, check_picture, read_picture, write_picture

RANDOM = np.random.default_rng(0)
GREY = RANDOM.integers(0, 256, (5, 7), dtype=np.uint8)
DEEP = RANDOM.integers(0, 65536, (5, 7), dtype=np.uint16)
COLOUR = RANDOM.integers(0, 256, (3, 5, 7), dtype=np.uint8)


@pytest.mark.parametrize(("value", "name"), [(GREY, "a.png"), (DEEP, "a.png"), (DEEP, "a.tiff"), (COLOUR, "a.png"),
                                             (COLOUR, "new/folder/a.bmp"), (DEEP.astype(np.int16), "a.npy")])
def test_what_is_written_is_read(value: np.ndarray, name: str, tmp_path: Path) -> None:
    write_picture(value, tmp_path / name)
    found, note = read_picture(tmp_path / name, value.ndim)
    assert not note
    assert found.dtype == value.dtype
    assert np.array_equal(found, value)


def test_colours_are_planes_in_front(tmp_path: Path) -> None:
    Image.fromarray(np.array([[[1, 2, 3], [4, 5, 6]]], np.uint8)).save(tmp_path / "a.png")
    assert read_picture(tmp_path / "a.png", 3)[0].tolist() == [[[1, 4]], [[2, 5]], [[3, 6]]]


@pytest.mark.parametrize("mode,grey,planes", [
    ("L", "", "grey taken as three equal planes"), ("RGB", "RGB taken as grey", ""),
    ("RGBA", "RGBA taken as grey", "RGBA without its transparency"), ("P", "P taken as grey", "P taken as RGB"),
    ("1", "black and white taken as 0 and 255", "black and white taken as three equal planes")])
def test_grey_and_colour_become_what_the_program_reads_and_the_note_says_so(mode: str, grey: str, planes: str,
                                                                            tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    Image.fromarray(np.moveaxis(COLOUR, 0, 2)).convert(mode).save(file)
    with Image.open(file) as picture:
        assert picture.mode == mode
        expected = {2: np.asarray(picture.convert("L")), 3: np.moveaxis(np.asarray(picture.convert("RGB")), 2, 0)}
    for dimensions, note in ((2, grey), (3, planes)):
        value, found = read_picture(file, dimensions)
        assert found == note
        assert np.array_equal(value, expected[dimensions])


def test_32_bits_are_read_where_16_hold_them(tmp_path: Path) -> None:
    Image.fromarray(DEEP.astype(np.int32)).save(tmp_path / "a.tiff")
    assert np.array_equal(read_picture(tmp_path / "a.tiff", 2)[0], DEEP)


@pytest.mark.parametrize("value,dimensions,text", [
    (DEEP, 3, "the picture is grey with more than 8 bits, and the program reads planes of colours\n"
              "  try: give the planes as .npy"),
    (np.array([[-1, 70000]], np.int32), 2, "the picture holds -1..70000, and 16 bits hold 0..65535\n"
                                           "  try: scale it, or give the image as .npy"),
    (np.array([[0.5, 600]], np.float32), 2, "the picture holds floating-point numbers\n"
                                            "  try: give whole numbers, as .npy or with 8 or 16 bits")])
def test_no_value_is_clipped(value: np.ndarray, dimensions: int, text: str, tmp_path: Path) -> None:
    Image.fromarray(value).save(tmp_path / "a.tiff")
    assert message(read_picture, tmp_path / "a.tiff", dimensions) == f"{tmp_path / 'a.tiff'}: {text}"


def test_16_bits_are_read_in_either_byte_order(tmp_path: Path) -> None:
    Image.fromarray(DEEP.astype(">u2")).save(tmp_path / "big.tiff")
    found, _ = read_picture(tmp_path / "big.tiff", 2)
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
    assert message(read_picture, tmp_path, 2) == (
        f"{tmp_path}: cannot read the picture: Is a directory\n  try: name a whole PNG, JPEG or TIFF file, or .npy")
    whole = tmp_path / "whole.png"
    write_picture(RANDOM.integers(0, 256, (99, 99), dtype=np.uint8), whole)
    bad.write_bytes(whole.read_bytes()[:5000])
    assert message(read_picture, bad, 2).endswith("\n  try: name a whole PNG, JPEG or TIFF file, or .npy")
    for content in ("", "no array"):
        (tmp_path / "bad.npy").write_text(content)
        assert message(read_picture, tmp_path / "bad.npy", 2) == (
            f"{tmp_path / 'bad.npy'}: this is no NumPy array of numbers\n  try: save it with numpy.save")


def png(*chunks: "tuple[bytes, bytes]") -> bytes:
    """A PNG file of chunks whose checksums are right."""
    return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(data)) + kind + data
                                           + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks)


def test_a_small_file_of_a_huge_picture_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.png"
    bomb.write_bytes(png((b"IHDR", struct.pack(">IIBBBBB", 100000, 100000, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(bytes(9)))))
    assert message(read_picture, bomb, 2) == (
        f"{bomb}: the picture has more than 178956970 pixels\n  try: cut it into smaller ones, or give the image as .npy")


@pytest.mark.parametrize("kind,data", [(b"iCCP", None), (b"tRNS", b""), (b"pHYs", b"\0"), (b"gAMA", b""), (b"cHRM", b"\0" * 5),
                                       (b"zTXt", None), (b"iTXt", b""), (b"acTL", b"\0"), (b"fcTL", b"\0"), (b"PLTE", b"\0")])
def test_a_broken_chunk_is_read_over_or_refused(kind: bytes, data: "bytes | None", tmp_path: Path) -> None:
    """data: None for 128 MiB when it is unpacked."""
    chunk = kind, b"a\0\0" + zlib.compress(bytes(1 << 27), 1) if data is None else data
    file = tmp_path / "a.png"
    file.write_bytes(png((b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 0, 0, 0, 0)), chunk,
                         (b"IDAT", zlib.compress(bytes(6))), (b"IEND", b"")))
    with contextlib.suppress(UserError):
        assert not read_picture(file, 2)[0].any()


def test_kinds_of_files_that_start_programs_are_no_pictures(tmp_path: Path) -> None:
    file = tmp_path / "a.eps"
    Image.fromarray(GREY).save(file)
    assert message(read_picture, file, 2) == \
        f"{file}: not a picture that can be read\n  try: give a PNG, JPEG or TIFF file, or .npy"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pictures")


@settings(max_examples=250)
@given(seed=st.integers(0, 1 << 32), kind=st.sampled_from(READ), damage=st.sampled_from([damaged, overwritten]))
def test_damaged_pictures_are_read_or_refused(folder: Path, seed: int, kind: str,
                                              damage: Callable[[bytes, int], bytes]) -> None:
    file = io.BytesIO()
    Image.fromarray(np.moveaxis(COLOUR, 0, 2) if seed % 2 else GREY).save(file, kind)

    def read(content: bytes) -> object:
        (folder / "a.png").write_bytes(content)
        return read_picture(folder / "a.png", 2 + seed % 2)

    try_to_read(read, file.getvalue(), seed, damage)


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


@pytest.mark.parametrize("kind", [".jpg", ".webp", ".gif", ".bmp"])
def test_a_kind_that_holds_no_16_bits_is_refused(kind: str) -> None:
    for function, value in ((check_picture, (DEEP.dtype, 2)), (write_picture, None)):
        arguments = (Path(f"a{kind}"), *value) if value else (DEEP, Path(f"a{kind}"))
        assert message(function, *arguments) == (
            f"a{kind}: {kind} does not hold 16 bits\n  try: let the name end in .png, .tiff or .npy")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert message(write_picture, GREY, tmp_path / "file" / "a.png").endswith("\n  try: name a file that can be written")
