from pathlib import Path

from machines import LEAST
from simulators import run_cocotb

from sardonyx.hw.soc.top import Sardonyx


def test_the_buses_answer_as_axi_demands(tmp_path: Path) -> None:
    run_cocotb(Sardonyx(LEAST), "cocotb_buses", "verilator", tmp_path)
