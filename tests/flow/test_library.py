"""Cell libraries: found by folder, file or family, and refused in words."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutations import try_to_read

from sardonyx.flow.asic.library import ADVICE, find_library
from sardonyx.flow.asic.synthesis import Design, areas
from sardonyx.flow.asic.timing import worst_paths
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


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "cells.lib"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError) as error:
        find_library(file)
    assert str(error.value) == f"{file}: this is no Liberty file\n  try: give one as text, or compressed with gzip (.gz)"


def test_a_library_without_its_unit_of_time_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "cells.lib"
    file.write_text(TEXT.format(cell="BUFx2_ASAP7_75t_R", unit="a while"))
    with pytest.raises(UserError) as error:
        assert find_library(file).picoseconds
    assert str(error.value) == f"{file}: this library states no unit of time in ps or ns\n  try: {ADVICE}"


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_a_damaged_library_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, seed: int, packed: bool) -> None:
    file = tmp_path_factory.getbasetemp() / ("damaged.lib.gz" if packed else "damaged.lib")

    def read(content: bytes) -> None:
        file.write_bytes(content)
        assert find_library(file).picoseconds >= 0

    content = TEXT.format(cell="BUFx2_ASAP7_75t_R", unit="1ps").encode() * 5
    try_to_read(read, gzip.compress(content) if packed else content, seed)


@pytest.mark.parametrize("verilog,reason", [
    ("module m(input a, b, output y); assign y = a & b; endmodule", "it stopped in 'ABC pass (technology mapping using ABC)'"),
    ("module m(input a; endmodule", "m.sv:1: ERROR: syntax error, unexpected ';', expecting ')' or ',' or '='")])
def test_a_library_that_nothing_can_be_mapped_to_is_refused(tmp_path: Path, verilog: str, reason: str) -> None:
    file = tmp_path / "cells.lib"
    file.write_text("library (a) { cell (BUFx2_ASAP7_75t_R) { pin (")
    with pytest.raises(UserError) as error:
        areas(Design("m", {"m": f"{verilog}\n"}), find_library(file))
    assert str(error.value) == f"{file}: Yosys cannot map m to these cells: {reason}\n  try: {ADVICE}"


@pytest.mark.opensta
def test_a_library_that_opensta_does_not_take_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "cells.lib"
    file.write_text('library (a) { time_unit : "1ps"; /* BUFx2_ASAP7_75t_R */ cell (b { }')
    with pytest.raises(UserError) as error:
        worst_paths(Design("m", {}), "module m; endmodule\n", find_library(file))
    assert str(error.value).startswith(f"{file}: OpenSTA cannot read this library: cells.lib")
