"""Results that are kept in a file: what is damaged is found again, and what cannot be such a file is told, not waited for."""

import json
import os
import resource
import tempfile
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import damaged

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


def kept(path: Path, count: int = 6) -> "dict[str, Any]":
    """Results in a file."""
    made = Kept(path, HEAD, "of something else")
    for number in range(count):
        made.add(f"the {number}th", {"cycles": number, "words": "ä" * number})
    return made.found


@settings(max_examples=200)
@given(seed=st.integers(0, 1 << 30))
def test_of_a_damaged_file_only_what_was_damaged_is_lost_and_nothing_taken_away(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kept"
        found = kept(path)
        head, _, rest = path.read_bytes().partition(b"\n")
        path.write_bytes(content := head + b"\n" + damaged(rest, seed))
        again = Kept(path, HEAD, "of something else")
        whole = {json.loads(line[:-9])[0] for line in rest.decode().splitlines() if line.encode() in content.split(b"\n")}
        assert whole <= again.found.keys() and all(again.found[key] == found[key] for key in again.found)
        again.add("one more", 1)
        assert path.read_bytes().startswith(content) and Kept(path, HEAD, "of something else").found == again.found


@settings(max_examples=100)
@given(seed=st.integers(0, 1 << 30))
def test_a_file_whose_first_line_is_damaged_is_refused_and_stays_as_it_is(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kept"
        kept(path)
        head, _, rest = path.read_bytes().partition(b"\n")
        path.write_bytes(content := damaged(head, seed) + b"\n" + rest)
        if content.startswith(head + b"\n"):
            return
        with pytest.raises(UserError) as error:
            Kept(path, HEAD, "of something else")
        assert error.value.what.startswith("of something else") and path.read_bytes() == content


@pytest.mark.parametrize("length", range(len(json.dumps(HEAD)) + 1))
def test_a_run_that_was_stopped_within_the_first_line_goes_on(tmp_path: Path, length: int) -> None:
    (path := tmp_path / "kept").write_text(json.dumps(HEAD)[:length])
    Kept(path, HEAD, "of something else").add("one", 1)
    assert Kept(path, HEAD, "of something else").found == {"one": 1}


@pytest.mark.parametrize("first,told", [
    ("no JSON", "of something else, or its first line is damaged"), ("[1]", "of something else, or its first line is damaged"),
    ('{"task": "these"}', "the file is of an older version of Sardonyx, here it is 2.0, whose results may be others"),
    ('{"task": "these", "version": "1.9.12"}',
     "the file is of version 1.9.12 of Sardonyx, here it is 2.0, whose results may be others"),
    ('{"task": "those", "version": "2.0"}', "of something else")])
def test_why_a_file_is_not_gone_on_with(tmp_path: Path, first: str, told: str) -> None:
    (path := tmp_path / "kept").write_text(f"{first}\n")
    with pytest.raises(UserError) as error:
        Kept(path, {"task": "these", "version": "2.0"}, "of something else")
    assert str(error.value) == f"{path}: {told}\n  try: name another file" and path.read_text() == f"{first}\n"


def test_results_of_another_form_are_found_again(tmp_path: Path) -> None:
    kept(path := tmp_path / "kept", 2)
    again = Kept(path, HEAD, "of something else", lambda found: found["time"])
    assert again.found == {}
    again.add("the 0th", {"time": 7})
    assert Kept(path, HEAD, "of something else", lambda found: found["time"]).found == {"the 0th": {"time": 7}}
    assert len(path.read_text().splitlines()) == 4


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
