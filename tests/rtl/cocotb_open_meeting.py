"""A cocotb test of streams that part and meet without registers on tracks, against the same machine stitched of modules. Run by
test_open_tracks.py."""

from typing import Any

import cocotb
from cocotb.clock import Clock
from open_machines import MEETING, blocks, meeting

from sardonyx.cocotb import Session
from sardonyx.runtime import host
from sardonyx.sim.rtl import simulator

BOUNDS = {"b_vals": 30}


@cocotb.test(timeout_time=100, timeout_unit="us")
async def words_and_cycles_are_those_of_the_stitched_machine(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    session = await Session.open(dut, MEETING)
    given = [{"a_vals": each} for each in blocks()]
    found = await session.launch(meeting(), given, BOUNDS)
    with simulator.whole_machine(MEETING).start() as machine:
        right = [*host.run(machine, meeting(), given, BOUNDS)]
    assert [each.cycles for each in found] == [each.cycles for each in right]
    assert [stored["b_vals"].tolist() for each in found for stored in each.stored] == [each.tolist() for each in blocks()]
