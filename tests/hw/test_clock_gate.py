"""The clock gate, proven by induction with the clock as an input; and what parts are made of that have one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from sardonyx.hw.arch.glb import CELL, CLOCK_GATES, DYNAMIC, ENABLE, HYBRID, STATIC, Glb
from sardonyx.hw.clock_gate import ClockGate, gated_clock
from sardonyx.hw.emit import collect, emit, macro
from sardonyx.hw.emitted import instances
from sardonyx.hw.glb.tile import GlbTile
from sardonyx.hw.stream.fifo import Fifo
from sardonyx.hw.yosys import YosysError, run_yosys

SMALL = Glb(columns_per_tile=1, bank_bytes=64, load_loops=2, store_loops=1)
# A gated flop, and one with an enable.
FLOPS = """
module gated (input clk, on, d, output reg q);
  wire clock;
  clock_gate gate (.clk(clk), .on(on), .gated(clock));
  always @(posedge clock) q <= d;
endmodule
module enabled (input clk, on, d, output reg q);
  always @(posedge clk) if (on) q <= d;
endmodule
"""


def proven(gate: str, folder: Path) -> None:
    """YosysError if the flops differ at any time, whatever comes in when."""
    (folder / "gate.sv").write_text(gate)
    (folder / "flops.v").write_text(FLOPS)
    (folder / "run.ys").write_text("""
read_verilog -sv gate.sv flops.v
proc
flatten gated
miter -equiv -flatten -make_assert enabled gated miter
clk2fflogic miter
opt -fast miter
sat -verify -prove-asserts -tempinduct -set-init-zero -seq 1 -maxsteps 8 miter
""")
    run_yosys(["run.ys"], folder)


def test_a_gated_flop_is_a_flop_with_an_enable_at_all_times(tmp_path: Path) -> None:
    file, = emit(ClockGate(), tmp_path)
    proven(file.read_text(), tmp_path)


@pytest.mark.parametrize("right,wrong", [("clk & open", "clk & on"), ("if (!clk)", "if (clk)"), ("clk & open", "open")])
def test_the_proof_fails_for_a_gate_that_is_wrong(right: str, wrong: str, tmp_path: Path) -> None:
    text = emit(ClockGate(), tmp_path)[0].read_text()
    assert right in text
    with pytest.raises(YosysError, match=r"proof did fail|reached maximum number of time steps"):
        proven(text.replace(right, wrong), tmp_path)


def modules(glb: Glb) -> "dict[str, str]":
    """The modules of the parts of a tile."""
    platform = collect(GlbTile(glb))
    return {name: module.rtlil for name, module in platform.modules.items()}


GATED_BY_CONFIGURATION, GATED_BY_ACTIVITY = {"load", "store", "config"}, {"bank0", "bank1", "registers", "switch"}


@pytest.mark.parametrize("gating,parts", {STATIC: GATED_BY_CONFIGURATION, DYNAMIC: GATED_BY_ACTIVITY,
                                          HYBRID: GATED_BY_CONFIGURATION | GATED_BY_ACTIVITY}.items())
def test_each_part_that_is_gated_has_a_cell(gating: str, parts: "set[str]", tmp_path: Path) -> None:
    files = emit(GlbTile(replace(SMALL, clock_gating=gating, clock_gates=CELL)), tmp_path)
    found = instances(files[-1].read_text())
    assert {name for name, module in found.items() if module == "clock_gate"} == {f"{part}_clock_gate" for part in parts}
    assert [file.stem for file in files if "clock_gate" in file.stem] == ["clock_gate"]


def test_made_of_enables_all_within_a_part_is_enabled_and_there_is_one_clock(tmp_path: Path) -> None:
    glb = replace(SMALL, clock_gating=HYBRID, read_latency=2, queue=True)
    texts = {file.stem: file.read_text() for file in emit(GlbTile(glb), tmp_path)}
    assert {name for name in texts if not name.endswith("_enabled")} == {"sram_8x8x8", "glb_tile"}
    assert {inner for name, text in texts.items() if name.endswith("_enabled") for inner in instances(text).values()} == {
        "sram_8x8x8", "affine_2x7_enabled", "affine_1x7_enabled", "load_descriptors_enabled", "store_descriptors_enabled",
        "fifo_w18_d2_enabled", "deserialiser_enabled"}
    assert "assign sram__enable = enable & clock_on;" in texts["bank_8_1_2_enabled"].replace("sram0__", "sram__")
    assert all("@(posedge clk)" in line for text in texts.values()
               for line in text.splitlines() if "posedge" in line)


@pytest.mark.parametrize("form", CLOCK_GATES)
def test_without_gating_its_form_changes_nothing(form: str, tmp_path: Path) -> None:
    assert modules(replace(SMALL, clock_gates=form)) == modules(SMALL)


class Gated(wiring.Component):
    """A FIFO that is flushed in cycles with and without its clock."""

    def __init__(self, form: str) -> None:
        self.form = form
        super().__init__({"on": In(1), "flush": In(1), "o": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        clock = gated_clock(m, "fifo", self.form, platform)
        m.submodules.fifo = fifo = macro(Fifo(1, 2), flush=self.flush, clock=clock)
        m.d.comb += [clock.on.eq(self.on), fifo.i.valid.eq(1), self.o.eq(fifo.o.valid)]
        return m


def test_a_flush_is_one_in_cycles_with_the_clock_only_and_a_reset_opens_the_gate(tmp_path: Path) -> None:
    enabled, cell = (emit(Gated(form), tmp_path / form)[-1].read_text() for form in (ENABLE, CELL))
    assert ".rst(fifo__rst)" in enabled and "assign fifo__rst = rst | (flush & on);" in enabled
    assert "assign fifo_clock_gate__on = on | rst;" in cell
