"""The energy in a report, and as people read it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sardonyx import power
from sardonyx.flow.asic import power as flow_power
from sardonyx.flow.asic.power import COMPLETE, Rates
from sardonyx.options import POWER
from sardonyx.sim.engines import Run
from sardonyx.sim.rtl.activity import Activity, Count

TILE = """\
module tile_pe_odd (
  input  wire a,
  input  wire clk
);
  reg [9:0] word = 10'h000;
  always_ff @(posedge clk)
    word <= a;
endmodule
"""


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "tuple[Any, Run]":
    monkeypatch.setattr(flow_power, "energies", lambda library: {"tile_pe_odd": Rates(20.0, 3.0, 1e-9 * (library == COMPLETE))})
    (tmp_path / "tile_pe_odd.sv").write_text(TILE)
    compiled = SimpleNamespace(timing=SimpleNamespace(period_ns=2.0), program=SimpleNamespace(config={(1, 1): {}}))
    counts = {"x1_y1": {"tile_pe_odd": Count(1000, 500)}, "x1_y2": {"tile_pe_odd": Count()}}
    return compiled, Run(verilog=tmp_path, activity=Activity(100, dict.fromkeys(counts, "tile_pe_odd"), counts))


def test_a_report_has_the_energy_by_kind_of_tile_and_what_it_leaves_out(given: "tuple[Any, Run]") -> None:
    compiled, run = given
    found = power.report("asap7", None, compiled, run, ("operation", 50))
    # 2 x 10 flops x 100 cycles x 20 fJ, 1000 changes x 3 fJ; gated 500 x 20 fJ.
    assert found | {"tiles": 0, "left_out": 0} == {
        "library": "asap7", "cycles": 100, "pj": 43.0, "pj_gated": 13.0, "clock_pj": 40.0, "switching_pj": 3.0,
        "memory_pj": 0.0, "leakage_pj": 0.0, "pj_per_cycle": 0.43, "average_mw": 0.215, "operations": 50,
        "pj_per_operation": 0.86,
        "pj_per_operation_gated": 0.26, "tiles": 0, "left_out": 0}
    assert found["tiles"]["pe, idle"]["pj"] == 20.0 and found["tiles"]["pe"]["parts"]["tile"]["pj_gated"] == 13.0
    assert "SRAMs" in found["left_out"]


def test_a_library_whose_delays_the_period_is_not_of_gives_no_power(given: "tuple[Any, Run]") -> None:
    compiled, run = given
    found = power.report(COMPLETE, None, compiled, run, ("element", 1))
    assert "average_mw" not in found and "SRAMs" not in found["left_out"]


def test_people_read_a_table(given: "tuple[Any, Run]") -> None:
    compiled, run = given
    assert power.text(power.report("asap7", None, compiled, run, ("element", 4))).splitlines() == [
        "energy, pJ     all  gated  clock  switching  memory  leakage",
        "all             43     13     40          3       0        0",
        "pe          1   23     13     20          3       0        0",
        "  tile          23     13     20          3       0        0",
        "pe, idle    1   20      0     20          0       0        0",
        "",
        "estimated in asap7: cycles 100, pJ per cycle 0.43, average mW 0.215, elements 4, pJ per element 10.8, "
        "pJ per element gated 3.25",
        "gated: if each word of a register had a clock gate that opens only when the word changes",
        "left out: wires; the clock tree and what clock gates take; glitches; corners; pads and what is outside the machine; "
        "configuration and transfers between launches; what cells take inside, most of what flops take of the clock; leakage; "
        "SRAMs"]


def test_the_libraries_of_the_command_line_are_those_with_energies() -> None:
    assert list(POWER) == [COMPLETE, "asap7"]
    assert all(flow_power.energies(name) for name in POWER)
