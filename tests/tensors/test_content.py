import gzip
from pathlib import Path

import pytest

from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors.content import read_content


def message(path: Path, most: int = 1 << 20) -> str:
    with pytest.raises(UserError) as error:
        read_content(path, most)
    return str(error.value)


def test_a_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(1 << 20))
    assert len(read_content(tmp_path / "a", 1 << 20)) == 1 << 20
    (tmp_path / "a").write_bytes(bytes((1 << 20) + 1))
    assert message(tmp_path / "a") == f"{tmp_path / 'a'}: the file has more than 1 MB\n  try: give a smaller file"
    assert "has more than 1 MB" in message(Path("/dev/zero"))


def test_a_packed_file_is_read_up_to_the_same_bound(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(1 << 28), 9))
    assert path.stat().st_size < 1 << 20
    assert message(path) == f"{path}: the file unpacks to more than 1 MB\n  try: give a smaller file"
    assert len(read_content(path, 1 << 28)) == 1 << 28


def test_what_is_no_file(tmp_path: Path) -> None:
    assert message(tmp_path) == f"{tmp_path}: cannot be read: Is a directory\n  try: give the path of a file"
    assert message(Path("a\0b")) == "'a\\x00b': this is no path: it holds a NUL\n  try: give the path of a file"
