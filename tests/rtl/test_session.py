"""Whole machines in benches, by the drivers that users have: programs on one, and the host on the least one."""

from pathlib import Path

import pytest
from machines import BENCH, LEAST
from simulators import run_cocotb

from sardonyx.hw.soc.top import Sardonyx


def test_programs_run_on_a_whole_machine_in_a_bench(tmp_path: Path) -> None:
    run_cocotb(Sardonyx(BENCH), "cocotb_session", "verilator", tmp_path)


@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=pytest.mark.icarus)])
def test_the_host_of_a_machine_in_a_bench(simulator: str, tmp_path: Path) -> None:
    run_cocotb(Sardonyx(LEAST), "cocotb_host", simulator, tmp_path)


# Compiles a machine of twelve tiles and runs it for hundreds of cycles.
@pytest.mark.slow
@pytest.mark.icarus
def test_a_second_session_begins_in_icarus(tmp_path: Path) -> None:
    run_cocotb(Sardonyx(BENCH), "cocotb_second_session", "icarus", tmp_path)
