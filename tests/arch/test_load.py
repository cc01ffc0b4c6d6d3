"""Descriptions in files: what is no description is refused in words, whatever the bytes are."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import try_to_read

from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import load
from sardonyx.hw.arch.errors import UserError

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


@settings(max_examples=200)
@given(seed=st.integers(0, 1 << 32))
def test_damaged_descriptions_are_read_or_refused(folder: Path, seed: int) -> None:
    def read(content: bytes) -> object:
        (folder / "a.json").write_bytes(content)
        return load(folder / "a.json")

    try_to_read(read, TEXT, seed)
