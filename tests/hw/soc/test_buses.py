from pathlib import Path

import pytest
from machines import LEAST
from simulators import run_cocotb

from sardonyx.hw.soc.top import Sardonyx


@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=(pytest.mark.icarus, pytest.mark.slow))])
def test_the_buses_answer_as_axi_demands(simulator: str, tmp_path: Path) -> None:
    run_cocotb(Sardonyx(LEAST), "cocotb_buses", simulator, tmp_path)
