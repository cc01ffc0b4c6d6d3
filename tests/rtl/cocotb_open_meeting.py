"""A cocotb test of streams that part and meet without registers on tracks. Run by test_open_tracks.py."""

from typing import Any

import cocotb
from open_compared import compared
from open_machines import MEETING, meeting


@cocotb.test(timeout_time=100, timeout_unit="us")
async def words_and_cycles_are_those_of_the_stitched_machine(dut: Any) -> None:
    await compared(dut, MEETING, meeting())
