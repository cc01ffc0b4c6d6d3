"""SRAMs: their estimates, and the ports of emitted modules."""

from pathlib import Path

import pytest

from sardonyx.flow.asic import sram
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.emit import emit
from sardonyx.hw.memory.sram import Sram


def test_area_grows_with_bits_from_a_memory_of_256_words_of_64() -> None:
    assert sram.area("sram_256x4x16", "asap7") == pytest.approx(687.971)
    assert round(sram.area("sram_512x4x16", "asap7")) == 1376
    assert sram.area("sram_512x4x16", "sky130hd") == 0


def test_ports_are_read_with_flow_and_width(tmp_path: Path) -> None:
    [file] = emit(Sram(512, 4), tmp_path)
    assert sorted(sram.ports(file.read_text()), key=lambda port: port.name) == [
        sram.Port("address", "input", 9), sram.Port("clk", "input", 1), sram.Port("data", "input", 64),
        sram.Port("enable", "input", 1), sram.Port("word", "output", 64), sram.Port("write", "input", 4)]


def test_a_file_without_ports_is_refused() -> None:
    with pytest.raises(UserError) as error:
        sram.ports("module nothing; endmodule\n")
    assert str(error.value) == "this module has no ports that can be read\n  try: give Verilog that `sardonyx verilog` wrote"


def test_the_view_times_every_output_from_the_clock_and_sets_up_every_input(tmp_path: Path) -> None:
    [file] = emit(Sram(512, 4), tmp_path)
    view = sram.view("sram_512x4x16", file.read_text())
    assert view.count("timing_type : setup_rising") == 4 and view.count("timing_type : rising_edge") == 1
    assert view.count("{") == view.count("}")
