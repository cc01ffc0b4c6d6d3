"""Arrays in files: the header is believed only as far as the file goes."""

import io
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import try_to_read

from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors.numpy_file import read_array


def message(path: Path) -> str:
    with pytest.raises(UserError) as error:
        read_array(path)
    return str(error.value).replace(str(path), path.name)


def header(text: str, version: bytes = b"\1\0") -> bytes:
    return b"\x93NUMPY" + version + len(text).to_bytes(2 * version[0], "little") + text.encode("latin-1")


@pytest.mark.parametrize("array", [np.zeros((0, 3)), np.arange(6).reshape(2, 3).T, np.array(5, np.int8),
                                   np.array([True, False]),
                                   np.array([1.5, 2], ">f4"), np.arange(3, dtype=">u2"), np.array([1j])])
def test_arrays_are_as_they_were_saved(array: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", array)
    found = read_array(tmp_path / "a.npy")
    assert found.dtype == array.dtype and found.shape == array.shape and np.array_equal(found, array)


def test_a_header_that_claims_more_than_the_file_holds_allocates_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    for shape, size in (((1000000, 1000000), 8 * 10 ** 12), ((1 << 62, 8), 8 << 65), ((10 ** 30,), 8 * 10 ** 30)):
        path.write_bytes(header(f"{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}, }}\n") + bytes(24))
        tracemalloc.start()
        assert message(path) == (f"a.npy: the header says {' x '.join(map(str, shape))} int64, {size} bytes, but 24 follow\n"
                                 "  try: save it again with numpy.save")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
        tracemalloc.stop()


@pytest.mark.parametrize("content", [
    b"", b"\x93NUMPY", b"\x93NUMPY\7\0\0\0", header("{'descr': '<i8', 'fortran_order': False, 'shape': (-1,), }"), header("("),
    header("{[]: 1}"), header("{1: 2, 'a': 3}"), header("[" * 5000),
    header("{'descr': '<i8', 'fortran_order': 1, 'shape': (1,)}"),
    header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"), header("{'descr': '<i8', 'shape': (1,)}"),
    header("{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (1,), }") + bytes(8),
    header("{'descr': '<i8', 'fortran_order': False, 'shape': (" + "9" * 5000 + ",), }"),
    header("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }", b"\3\0") + bytes(8)])
def test_what_is_no_array_of_numbers(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(content)
    assert message(tmp_path / "a.npy") == "a.npy: this is no NumPy array of numbers\n  try: save it with numpy.save"


def test_an_archive_of_arrays_is_no_array(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", np.arange(3))
    (tmp_path / "a.npz").rename(tmp_path / "a.npy")
    assert message(tmp_path / "a.npy") == "a.npy: this is no NumPy array of numbers\n  try: save it with numpy.save"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("arrays")


@settings(max_examples=200)
@given(seed=st.integers(0, 1 << 32))
def test_damaged_files_are_read_or_refused(folder: Path, seed: int) -> None:
    file = io.BytesIO()
    np.save(file, np.arange(12).reshape(3, 4))

    def read(content: bytes) -> object:
        (folder / "a.npy").write_bytes(content)
        return read_array(folder / "a.npy")

    try_to_read(read, file.getvalue(), seed)
