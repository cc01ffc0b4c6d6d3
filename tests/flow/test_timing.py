"""What OpenSTA is told and what is read of its report; and that it is missed in words."""

import shutil
import subprocess
from pathlib import Path

import pytest
from amaranth.hdl import ClockDomain, ClockSignal, Module, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from sardonyx.flow.asic import timing
from sardonyx.flow.asic.library import FAMILIES, Library
from sardonyx.flow.asic.synthesis import Design, netlist, read_design
from sardonyx.flow.asic.timing import Point, Worst
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.clock_gate import ClockGate
from sardonyx.hw.emit import emit, macro

REPORT = """
== reg-reg
Startpoint: a (rising edge-triggered flip-flop clocked by clk)

  Delay    Time   Description
---------------------------------------------------------
   0.000    0.000   clock clk (rise edge)
   0.000    0.000 ^ a/CLK (DFF)
   0.048    0.048 v a/QN (DFF)
   0.052    0.100 ^ b[1]$_DFF_P_/D (DFF)
            0.100   data arrival time

   1.000    1.000   clock clk (rise edge)
            1.000 ^ b[1]$_DFF_P_/CLK (DFF)
  -0.020    0.980   library setup time
            0.980   data required time
---------------------------------------------------------
            0.980   data required time
           -0.100   data arrival time

== in-out
No paths found.
== end
"""


def test_a_report_is_read_in_picoseconds_and_kinds_without_paths_are_left_out() -> None:
    assert timing.read_report(REPORT, 1000.0) == {"reg-reg": Worst("reg-reg", 100.0, 20.0, (
        Point("a/CLK", "DFF", 0.0), Point("a/QN", "DFF", 48.0), Point("b[1]$_DFF_P_/D", "DFF", 100.0)))}


def test_a_report_that_was_cut_is_a_fault() -> None:
    with pytest.raises(AssertionError, match="sta failed"):
        timing.read_report(REPORT.replace("== end", ""), 1.0)


def said(folder: Path, script: str) -> list[str]:
    """What Tcl says while it runs a script, with OpenSTA's commands printed."""
    stubs = "\n".join(f'proc {name} {{args}} {{ puts "{name} $args" }}' for name in (
        "read_liberty", "read_verilog", "link_design", "create_clock", "set_input_delay", "set_output_delay", "report_checks"))
    (folder / "run.tcl").write_text(f"""{stubs}
proc get_ports {{name}} {{ return $name }}
proc all_inputs {{}} {{ return {{clk a}} }}
proc all_outputs {{}} {{ return q }}
proc all_registers {{what}} {{ return registers$what }}
proc get_property {{object name}} {{ return $object }}
{script}""")
    return subprocess.run(["tclsh", "run.tcl"], cwd=folder, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.tcl
def test_tcl_reads_the_script(tmp_path: Path) -> None:
    assert said(tmp_path, timing.script("top", ["cells.lib"], 1000)) == [
        "read_liberty cells.lib", "read_verilog netlist.v", "link_design top", "create_clock -name clk -period 1000 clk",
        "set_input_delay 0 -clock clk a", "set_output_delay 0 -clock clk q", *(line for kind, ends in (
            ("reg-reg", "-from registers-clock_pins -to registers-data_pins"), ("in-reg", "-from a -to registers-data_pins"),
            ("reg-out", "-from registers-clock_pins -to q"), ("in-out", "-from a -to q"))
            for line in (f"== {kind}", f"report_checks -path_delay max {ends} -digits 5")), "== end"]


class Gated(wiring.Component):
    """Products behind one clock gate."""

    def __init__(self) -> None:
        super().__init__({"on": In(1), "a": In(8), "product": Out(32)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        on = Signal()
        m.submodules.gate = gate = macro(ClockGate())
        m.d.sync += on.eq(self.on)
        m.d.comb += gate.on.eq(on)
        m.domains += ClockDomain("gated", local=True)
        m.d.comb += [ClockSignal("gated").eq(gate.gated), ResetSignal("gated").eq(ResetSignal())]
        a, square = Signal(8), Signal(16)
        m.d.gated += [a.eq(self.a), square.eq(a * a), self.product.eq(square * square)]
        return m


@pytest.mark.opensta
def test_a_period_is_not_shorter_than_the_longest_path_between_registers_of_one_clock_gate(
        library: Library, tmp_path: Path) -> None:
    # A whole delay of that gate was given back for the path that both have in common, of an ideal clock.
    emit(Gated(), tmp_path)
    design = read_design(tmp_path, "gated")
    cells = netlist(design, library)
    worst = timing.worst_paths(design, cells, library)["reg-reg"]
    assert timing.least_period(design, cells, library) >= worst.ps + worst.setup_ps > 200


@pytest.mark.tcl
@pytest.mark.parametrize("least", [1, 707, 1024, 9001])
def test_tcl_finds_the_least_period_without_slack_below_zero(least: int, tmp_path: Path) -> None:
    # A slack is 0 at best where latches borrow time.
    slack = f"""proc worst_slack {{way}} {{ global period; return [expr {{min(0, $period * 1000 - {least})}}] }}"""
    lines = said(tmp_path, slack + "\n" + timing.least_script("top", ["cells.lib"], 1000))
    asked = [float(line.split()[4]) for line in lines if line.startswith("create_clock")]
    assert lines[-1] == f"== {least}" and len(asked) < 20
    # OpenSTA 2.0.17 crashes on some netlists with latches where the period is hundreds of times what they need.
    assert 1.0 in asked and max(asked) <= max(1, 2 * least / 1000)


@pytest.mark.tcl
def test_no_period_is_told_where_none_up_to_the_longest_is_long_enough(tmp_path: Path) -> None:
    lines = said(tmp_path, "proc worst_slack {way} { return -1 }\n" + timing.least_script("top", ["cells.lib"], 1000))
    assert lines[-1] == f"== {timing.NONE}" and sum(line.startswith("create_clock") for line in lines) < 20
    with pytest.raises(UserError) as error:
        timing.read_least("\n".join(lines), "top")
    assert str(error.value) == ("top: no period up to 1024 ns is long enough for its registers, latches and clock gates\n"
                                "  try: look for loops of latches, or for outputs that follow no register")
    assert timing.read_least("it says\n== 707\n", "top") == 707
    with pytest.raises(AssertionError, match="sta failed"):
        timing.read_least("it crashes\n", "top")


def test_a_netlist_that_opensta_cannot_read_has_no_period(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # As it says so of 2.0.17: it goes on with the script, on no network.
    program = tmp_path / "sta"
    program.write_text("#!/bin/sh\necho 'Error: netlist.v, line 12845 syntax error'\necho '== 1000'\n")
    program.chmod(0o755)
    monkeypatch.setattr(timing, "find_sta", lambda: str(program))
    cells = tmp_path / "cells.lib"
    cells.write_text('time_unit : "1ps";')
    with pytest.raises(AssertionError, match=r"OpenSTA on top: netlist\.v, line 12845 syntax error"):
        timing.least_period(Design("top", {}), "", Library(FAMILIES[0], cells))


def test_without_opensta_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UserError) as error:
        timing.find_sta()
    assert str(error.value) == "OpenSTA (sta) is not installed\n  try: apt-get install opensta"
