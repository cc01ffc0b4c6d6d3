"""Descriptions in files: what is no description is refused in words, whatever the bytes are."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import try_to_read

from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.load import load

TEXT = json.dumps(presets.get("small").to_json(), indent=1).encode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("descriptions")


@pytest.mark.parametrize("content", [b"\xff", b"[" * 100000, b'{"a":' * 100000, b'{"format": ' + b"9" * 5000 + b"}"])
def test_what_is_not_read_as_json(folder: Path, content: bytes) -> None:
    (folder / "a.json").write_bytes(content)
    with pytest.raises(UserError) as error:
        load(folder / "a.json")
    assert str(error.value) == f"{folder / 'a.json'}: not JSON\n  try: start from the arch.json of a preset"


@pytest.mark.parametrize(("old", "new", "what"), [
    ('"columns": 8', '"columns": 4, "columns": 8', "'columns' stands twice"),
    ('"register_words": 32', '"register_words": 32, "register_words": 2', "'register_words' stands twice in 'pe'"),
    ('"glb": {', '"glb": {"banks": 2}, "glb": {', "'glb' stands twice"),
])
def test_a_name_that_stands_twice_is_refused(folder: Path, old: str, new: str, what: str) -> None:
    (folder / "a.json").write_text(TEXT.decode().replace(old, new))
    with pytest.raises(UserError) as error:
        load(folder / "a.json")
    assert str(error.value) == f"{folder / 'a.json'}: {what}\n  try: leave one of them"


def test_a_file_that_never_ends_is_refused(folder: Path) -> None:
    path = folder / "zero.json"
    path.symlink_to("/dev/zero")
    with pytest.raises(UserError) as error:
        load(path)
    assert str(error.value) == f"{path}: the file has more than 1 MB\n  try: start from the arch.json of a preset"


def test_a_name_with_a_nul_is_no_path() -> None:
    with pytest.raises(UserError) as error:
        load("a\0.json")
    assert str(error.value) == "'a\\x00.json': this is no path: it holds a NUL\n  try: give the path of a file"


@settings(max_examples=200)
@given(seed=st.integers(0, 1 << 32))
def test_damaged_descriptions_are_read_or_refused(folder: Path, seed: int) -> None:
    def read(content: bytes) -> object:
        (folder / "a.json").write_bytes(content)
        return load(folder / "a.json")

    try_to_read(read, TEXT, seed)
