"""Synthesised tiles pass their cocotb tests in Icarus, cell by cell, in four states and without initial values."""

from pathlib import Path

import pytest

from sardonyx.cocotb.runner import run
from sardonyx.flow.asic.gates import cell_models
from sardonyx.flow.asic.library import Library
from sardonyx.flow.asic.synthesis import Registers, netlist, read_design
from sardonyx.hw.arch.presets import get
from sardonyx.hw.emit import emit
from sardonyx.hw.tile.tile import Tile


@pytest.mark.slow
@pytest.mark.icarus
@pytest.mark.parametrize("registers", [Registers.ENABLES, Registers.LATCHES], ids=lambda each: each.value)
@pytest.mark.parametrize("kind,tests", [("pe", "cocotb_tile"), ("mem", "cocotb_mem")])
def test_a_tile_of_cells_passes_the_test_of_the_tile(kind: str, tests: str, registers: Registers, library: Library,
                                                     tmp_path: Path) -> None:
    tiny = get("tiny")
    emit(Tile(tiny, getattr(tiny, kind), 0), tmp_path / "verilog")
    design = read_design(tmp_path / "verilog", f"tile_{kind}_even")
    cells = netlist(design, library, registers)
    files = {"cells.v": cell_models(cells, library), "netlist.v": cells,
             **{f"{name}.sv": design.modules[name] for name in design.srams}}
    assert not any("initial" in text for text in files.values()), "registers and memories begin unknown"
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    run([tmp_path / name for name in files], tests, out=tmp_path, top=design.top, simulator="icarus")
