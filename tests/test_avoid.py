"""What programs are told to avoid: texts and pairs as masks, on the way from the interface to a result."""

import json
from pathlib import Path

import numpy as np
import pytest

import sardonyx
from sardonyx.avoid import FORMS, avoiding, mask
from sardonyx.cli import main
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.mask import Mask

SMALL, ONYX = presets.get("small"), presets.get("onyx")


@pytest.mark.parametrize("value,expected", [
    (None, Mask()), ("", Mask()), ([], Mask()), ("3,5", Mask(((3, 5),))), ([(3, 5), "4,0"], Mask(((3, 5), (4, 0)))),
    ([np.array([3, 5])], Mask(((3, 5),))), ({(1, 2)}, Mask(((1, 2),))), ("1-2,3-4", Mask.block([1, 2], [3, 4])),
    ("glb:1 glb:3-4", Mask(glb=(1, 3, 4))), ("row:8", Mask.block(range(8), [8])),
    ("column:2", Mask.block([2], range(9)) | Mask(glb=(2,))), (Mask(((0, 1),)), Mask(((0, 1),))),
    ("6-7,0-8", Mask.block([6, 7], range(9)) | Mask(glb=(6, 7)))])
def test_what_is_written_is_a_mask(value: object, expected: Mask) -> None:
    assert mask(value, SMALL) == expected


def test_a_tile_of_the_global_buffer_is_avoided_with_all_of_its_columns() -> None:
    assert mask("column:3", ONYX).glb == ()
    assert mask("column:3-5", ONYX).glb == (2,)
    assert mask("column:3 column:2", ONYX).glb == (1,)


def test_a_machine_that_avoids_tiles_avoids_others_too() -> None:
    once = avoiding(SMALL, "1,1")
    assert avoiding(once, [(2, 2)]).avoid == Mask(((1, 1), (2, 2)))
    assert avoiding(SMALL, None) is SMALL


@pytest.mark.parametrize("value,message", [
    ("3,5 3;6", f"avoid: '3;6' names no tiles\n  try: {FORMS}"),
    ("column:8", "avoid: 'column:8' is not on machine 'small'\n  try: give columns of 0..7, the lower first"),
    ("3,5-4", "avoid: '3,5-4' is not on machine 'small'\n  try: give rows of 0..8, the lower first"),
    ("glb:9", "avoid: 'glb:9' is not on machine 'small'\n  try: give GLB tiles of 0..7, the lower first"),
    (5, f"avoid: it is 5, which names no tiles\n  try: {FORMS}"),
    ([5], f"avoid: it holds 5, which is no tile\n  try: give pairs (x, y), or {FORMS}"),
    ([(1.5, 2)], f"avoid: it holds (1.5, 2), which is no tile\n  try: give pairs (x, y), or {FORMS}"),
    ([(-1, 2)], f"avoid: '-1,2' names no tiles\n  try: {FORMS}")])
def test_what_names_no_tiles_is_refused(value: object, message: str) -> None:
    with pytest.raises(UserError) as error:
        mask(value, SMALL)
    assert str(error.value) == message


def test_a_program_computes_around_tiles_and_the_picture_shows_them(tmp_path: Path) -> None:
    avoid = "2-5,2-4 column:0 7,1"
    found = sardonyx.kernel("spmspm", engine="fabric", avoid=avoid, dump=tmp_path)
    assert found.value.shape == (17, 17)
    placement = json.loads((tmp_path / "4_placement.json").read_text())
    assert not {tuple(site) for site in placement.values()} & set(mask(avoid, SMALL).tiles)
    picture = (tmp_path / "array.svg").read_text()
    assert "<title>mem (7, 1): avoided</title>" in picture and "<title>io (0, 0): avoided</title>" in picture


def test_the_command_line_takes_tiles_to_avoid(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", "kernel", "vec_elemmul", "--engine", "fabric", "--json"]
    assert main([*command, "--avoid", "row:5-8", "--avoid", "0,1 glb:3"]) == 0
    assert json.loads(capsys.readouterr().out)["report"]["words_checked"] > 0
    assert main([*command, "--avoid", "row:1"]) == 2
    assert "the program is too large for 'small' without tile (0, 1)" in capsys.readouterr().out


def test_a_description_may_have_tiles_to_avoid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chip = tmp_path / "chip.json"
    chip.write_text(json.dumps(avoiding(SMALL, "3,5 glb:1").to_json()))
    assert main(["explain", "arch", str(chip), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"]["avoid"] == "tile (3, 5), GLB tile 1"
    result = sardonyx.kernel("vec_elemmul", engine="fabric", arch=str(chip), avoid="4,1")
    assert result.report["arch"] == "small"
