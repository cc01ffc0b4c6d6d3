"""A synthesised tile passes its cocotb test in Icarus, cell by cell, in four states and without initial values."""

from pathlib import Path

import pytest
from simulators import run_gates

from sardonyx.flow.asic.gates import cell_models
from sardonyx.flow.asic.library import find_library
from sardonyx.flow.asic.synthesis import netlist, read_design
from sardonyx.hw.arch.presets import get
from sardonyx.hw.emit import emit
from sardonyx.hw.tile.tile import Tile


@pytest.mark.slow
@pytest.mark.icarus
def test_a_pe_of_cells_adds_the_tokens_of_two_tracks(root: Path, tmp_path: Path) -> None:
    place = root.parent / "shared" / "data" / "liberty"
    if not place.exists():
        pytest.skip("../shared/data/liberty is not there")
    library, tiny = find_library(place), get("tiny")
    emit(Tile(tiny, tiny.pe, 0), tmp_path / "verilog")
    cells = netlist(read_design(tmp_path / "verilog", "tile_pe_even"), library)
    files = [tmp_path / "cells.v", tmp_path / "netlist.v"]
    for file, text in zip(files, (cell_models(cells, library), cells), strict=True):
        file.write_text(text)
    assert "initial" not in files[0].read_text() + cells
    run_gates(files, "tile_pe_even", "cocotb_tile", tmp_path)
