"""The crossing of clocks as Verilog; tests/formal proves that it loses nothing, and tests/rtl runs whole systems with it."""

import re
from dataclasses import replace
from pathlib import Path

import checks
import pytest
from machines import LEAST

from sardonyx.hw import emit
from sardonyx.hw.arch.system import System
from sardonyx.hw.soc.crossing import HostSide, MachineSide
from sardonyx.hw.soc.system import SardonyxSystem


@pytest.mark.parametrize("make", [HostSide, MachineSide])
def test_a_side_has_one_clock_and_what_crosses_is_no_logic(make: type, tmp_path: Path) -> None:
    *_, top = files = emit.emit(make(), tmp_path)
    checks.lint(files, top.stem)
    checks.check_yosys(files, top.stem)
    for file in files:
        assert set(re.findall(r"always_ff @\((.*)\)", file.read_text())) <= {"posedge clk"}
    text = top.read_text()
    assert "rst," in text if make is HostSide else "  input  wire rst" not in text, "the machine's side is reset by the host's"


def test_a_system_has_the_clock_of_the_host_for_what_is_the_hosts(tmp_path: Path) -> None:
    arch = replace(LEAST, system=System(processor=True, own_clock=True))
    files = emit.emit(SardonyxSystem(arch), tmp_path)
    checks.lint(files, "sardonyx_system")
    checks.check_yosys(files, "sardonyx_system")
    text = files[-1].read_text()
    found = {module: clock for module, body in re.findall(r"^  (\w+) \w+ \(\n(.*?)^  \);", text, re.M | re.S)
             for clock in re.findall(r"\.clk\((\w+)\)", body)}
    assert found == {"host": "host_clk", "host_side": "host_clk", "machine_side": "clk", "sardonyx": "clk"}
    assert ".rst(machine_side__reset)" in text


@pytest.mark.icarus
def test_the_sides_compile_in_icarus(tmp_path: Path) -> None:
    for side in (HostSide(), MachineSide()):
        files = emit.emit(side, tmp_path / side.module_name)
        checks.check_icarus(files, side.module_name)
