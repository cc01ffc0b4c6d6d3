"""A cocotb test of a machine without registers on tracks, against the same one stitched of modules. Run by
test_open_tracks.py."""

from typing import Any

import cocotb
from cocotb.clock import Clock
from machines import copier
from open_machines import COPIER, blocks

from sardonyx.cocotb import Session
from sardonyx.runtime import host
from sardonyx.sim.rtl import simulator

BOUNDS = {"b_vals": 30}


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def words_and_cycles_are_those_of_the_stitched_machine(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    session = await Session.open(dut, COPIER)
    given = [{"a_vals": each} for each in blocks()]
    found = await session.launch(copier(COPIER), given, BOUNDS)
    with simulator.whole_machine(COPIER).start() as machine:
        right = [*host.run(machine, copier(COPIER), given, BOUNDS)]
    assert [each.cycles for each in found] == [each.cycles for each in right]
    assert [stored["b_vals"].tolist() for each in found for stored in each.stored] == [each.tolist() for each in blocks()]
