"""cocotb tests of a machine that is reset while it is still configured. Run by test_session.py."""

from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from machines import BENCH

import sardonyx
from sardonyx.cocotb import Session, stalls


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_program_runs(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    session = await Session.open(dut, BENCH, stalls=lambda channel: stalls(channel, 0.2))
    # Results of whole beats: what is beside them was never written, and is unknown in Icarus.
    b, c = np.array([0, 2, 0, 3, 5]), np.array([7, 4, 1, 0, 6])
    result = await session.run(sardonyx.kernel, "vec_elemmul", b=b, c=c)
    assert result.value.tolist() == [0, 8, 0, 0, 30]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def another_session_begins_after_it(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    session = await Session.open(dut, BENCH)
    await session.host.write_memory(8, np.arange(12, dtype=np.uint16))
    assert (await session.host.read_memory(8, 12)).tolist() == list(range(12))
