"""Results that are kept in a file: what is damaged is found again, and what cannot be such a file is told, not waited for."""

import os
import resource
import zlib
from pathlib import Path

import pytest

from sardonyx.hw.arch.errors import UserError
from sardonyx.kept import Kept

HEAD = {"task": "these"}


def test_what_is_kept_is_there_again_but_for_lines_that_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "kept"
    kept = Kept(path, HEAD, "of something else")
    kept.add("one", 1)
    kept.add("two", [2, None])
    assert Kept(path, HEAD, "of something else").found == {"one": 1, "two": [2, None]}
    path.write_bytes(path.read_bytes()[:-5])
    again = Kept(path, HEAD, "of something else")
    assert again.found == {"one": 1}
    again.add("two", 3)
    assert Kept(path, HEAD, "of something else").found == {"one": 1, "two": 3}


@pytest.mark.parametrize("said", ["no JSON", "7", "[1, 2, 3]", "[[], 1]", "[" * 100_000])
def test_a_line_of_somebody_else_does_not_count(tmp_path: Path, said: str) -> None:
    path = tmp_path / "kept"
    Kept(path, HEAD, "of something else").add("one", 1)
    with path.open("a") as file:
        file.write(f"{said} {zlib.crc32(said.encode()):08x}\n")
    assert Kept(path, HEAD, "of something else").found == {"one": 1}


@pytest.mark.parametrize("place", ["/dev/zero", "pipe"])
def test_a_device_or_a_pipe_is_not_read(tmp_path: Path, place: str) -> None:
    """The one never ends, the other never begins."""
    path = tmp_path / place
    if place == "pipe":
        os.mkfifo(path)
    with pytest.raises(UserError) as error:
        Kept(path, HEAD, "of something else")
    assert str(error.value) == (f"{path}: results cannot be kept in it: it is a device or a pipe\n"
                                "  try: name a file that can be written")


def test_a_name_that_is_no_path_is_told() -> None:
    with pytest.raises(UserError) as error:
        Kept(Path("a\0b"), HEAD, "of something else")
    assert str(error.value) == "'a\\x00b': this is no path: it holds a NUL\n  try: name a file that can be written"


def test_a_name_that_no_file_system_takes_is_told() -> None:
    with pytest.raises(UserError) as error:
        Kept(Path("a\ud800"), HEAD, "of something else")
    assert str(error.value) == ("'a\\ud800': this is no path: no name of a file has such characters\n"
                                "  try: name a file that can be written")


def test_a_result_for_which_there_is_no_room_is_told(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    kept = Kept(path, HEAD, "of something else")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, before[1]))
    try:
        with pytest.raises(UserError) as error:
            kept.add("one", "a result of more than ten bytes")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert str(error.value) == f"{path}: results cannot be kept in it: File too large\n  try: name a file that can be written"
    assert Kept(path, HEAD, "of something else").found == {}


@pytest.mark.parametrize("name", ["kept", "folder/kept"])
def test_a_file_where_its_folder_should_be_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UserError) as error:
        Kept(tmp_path / "file" / name, HEAD, "of something else")
    assert error.value.what == "results cannot be kept in it: Not a directory"
