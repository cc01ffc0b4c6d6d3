"""Halide programs on the command line."""

import json
from pathlib import Path

import halide as hl
import numpy as np
import pytest
from halide_programs import X, Y, image
from halide_runs import ENGINES, PHOTO, func, save

from sardonyx.apps.dense import gaussian
from sardonyx.cli import main
from sardonyx.pictures import read_picture, write_picture


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
