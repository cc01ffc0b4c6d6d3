"""The drivers of `sardonyx.cocotb` on a primitive, on tiles and on the reset of a machine: benches to copy."""

from pathlib import Path

import pytest
from cocotb_reset import ARCH
from simulators import run_cocotb

from sardonyx.hw.arch.presets import get
from sardonyx.hw.soc.top import Sardonyx
from sardonyx.hw.sparse.reducer import Reducer
from sardonyx.hw.tile.tile import Tile

SIMULATORS = ["verilator", pytest.param("icarus", marks=pytest.mark.icarus)]


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_primitive_in_cocotb(simulator: str, tmp_path: Path) -> None:
    run_cocotb(Reducer(), "cocotb_reducer", simulator, tmp_path)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_tile_in_cocotb(simulator: str, tmp_path: Path) -> None:
    tiny = get("tiny")
    run_cocotb(Tile(tiny, tiny.pe, 0), "cocotb_tile", simulator, tmp_path)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_reset_of_a_machine_in_cocotb(simulator: str, tmp_path: Path) -> None:
    run_cocotb(Sardonyx(ARCH), "cocotb_reset", simulator, tmp_path)
