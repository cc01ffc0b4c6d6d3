"""A cocotb test of a machine without registers on tracks. Run by test_open_tracks.py."""

from typing import Any

import cocotb
from machines import copier
from open_compared import compared
from open_machines import COPIER


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def words_and_cycles_are_those_of_the_stitched_machine(dut: Any) -> None:
    await compared(dut, COPIER, copier(COPIER))
