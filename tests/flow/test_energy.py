"""Energies of cells as OpenSTA reports them, and of modules."""

from pathlib import Path

import pytest

from sardonyx.flow.asic.energy import CellEnergy, alone, read_report, script
from sardonyx.flow.asic.library import FAMILIES, Library

REPORT = """\
== 0
        Internal       Switching         Leakage           Total
           Power           Power           Power           Power
----------------------------------------------------------------
 9.000000000e-05 0.000000000e+00 1.000000000e-11 9.000001000e-05 q[1]$_DFF_P_
 0.000000000e+00 0.000000000e+00 2.000000000e-12 2.000000000e-12 _12_
== 1
 1.300000000e-04 2.000000000e-05 1.000000000e-11 1.500000100e-04 q[1]$_DFF_P_
 3.000000000e-06 1.000000000e-06 2.000000000e-12 4.000002000e-06 _12_
@ input 2.00000e+09 0.500 clock q[1]$_DFF_P_/CLK
@ input 4.00000e+08 0.500 propagated q[1]$_DFF_P_/D
@ output 2.00000e+08 0.500 propagated q[1]$_DFF_P_/Q
@ input 1.00000e+09 0.500 user _12_/A
@ output 5.00000e+08 0.500 propagated _12_/Y
== end
"""


def test_a_cell_takes_its_power_by_the_changes_of_its_outputs() -> None:
    found = read_report(REPORT)
    assert found["_12_"].change_fj == pytest.approx(8)
    assert found["_12_"].cycle_fj == 0 and found["_12_"].leakage_nw == pytest.approx(0.002)


def test_a_flop_takes_its_clock_in_a_cycle_and_what_comes_on_top_by_changes_of_both_sides() -> None:
    assert read_report(REPORT)["q[1]$_DFF_P_"] == CellEnergy(pytest.approx(90), pytest.approx(60e-6 / 3e8 * 1e15),
                                                            pytest.approx(0.01))


def test_a_cell_that_hardly_changes_takes_nothing_rather_than_errors_of_rounding_by_its_rate() -> None:
    # A carry at the end of a long counter: 4 changes a second, of 80 pW that are a difference of sums.
    slow = REPORT.replace("3.000000000e-06 1.000000000e-06", "8.000000000e-11 0.000000000e+00")
    assert read_report(slow.replace("5.00000e+08", "4.00000e+00"))["_12_"].change_fj == 0


def test_a_run_that_was_cut_is_no_report() -> None:
    with pytest.raises(AssertionError, match="sta failed"):
        read_report(REPORT.replace("== end", "Error: no such file"))


def test_a_module_is_measured_without_those_in_it() -> None:
    texts = {"outer": "module outer (\n  inner one (\n  );\nendmodule\n", "inner": "module inner (\n  deep two (\n", "deep": ""}
    design = alone(texts, "outer")
    assert list(design.modules) == ["outer", "inner"] and design.is_box("inner") and not design.is_box("outer")


def test_the_script_is_tcl_that_opensta_understands(tmp_path: Path) -> None:
    text = script("top", ["cells.lib"], Library(FAMILIES[0], _units(tmp_path)), clocked=True)
    assert text.count("{") == text.count("}") and text.startswith("read_liberty cells.lib\nread_verilog netlist.v\n")
    assert "create_clock -name clk -period 1000.0 [get_ports clk]\n" in text


def _units(folder: Path) -> Path:
    (folder / "units.lib").write_text('time_unit : "1ps";\n')
    return folder / "units.lib"
