"""Cell libraries: found by folder, file or family, and refused in words."""

import gzip
from pathlib import Path

import pytest

from sardonyx.flow.asic.library import find_library
from sardonyx.hw.arch.errors import UserError

TEXT = 'library (small) {{ time_unit : "{unit}"; cell ({cell}) {{ area : 1; }} }}\n'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name, cell, unit in (("asap7", "BUFx2_ASAP7_75t_R", "1ps"), ("sky130hd", "sky130_fd_sc_hd__buf_2", "1ns")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cells.lib.gz").write_bytes(gzip.compress(TEXT.format(cell=cell, unit=unit).encode()))
    return tmp_path


@pytest.mark.parametrize("name,picoseconds", [("asap7", 1.0), ("sky130hd", 1000.0)])
def test_a_family_is_found_in_a_folder_of_families_in_its_own_and_as_a_file(place: Path, name: str, picoseconds: float) -> None:
    for where in (place, place / name, place / name / "cells.lib.gz"):
        found = find_library(where, name)
        assert (found.family.name, found.picoseconds) == (name, picoseconds)


def test_a_folder_without_the_library_is_refused(place: Path) -> None:
    with pytest.raises(UserError) as error:
        find_library(place / "sky130hd", "asap7")
    assert str(error.value) == (f"{place / 'sky130hd'}: there is no cell library asap7\n"
                                "  try: make silicon LIBERTY=folder; docs/silicon.md says where libraries can be had")


def test_cells_of_another_family_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.lib"
    file.write_text(TEXT.format(cell="NAND2", unit="1ns"))
    with pytest.raises(UserError) as error:
        find_library(file)
    assert str(error.value) == (f"{file}: the cells of this library are not known\n  try: add what synthesis must know of them "
                                "to flow/asic/library.py; known: asap7, sky130hd")


@pytest.mark.parametrize("data", [b"\x1f\x8bcut", b"\xff\xfe\x00"])
def test_what_is_no_text_is_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "cut.lib.gz"
    file.write_bytes(data)
    with pytest.raises(UserError) as error:
        find_library(file)
    assert str(error.value) == f"{file}: this is no Liberty file\n  try: give one as text, or compressed with gzip"
