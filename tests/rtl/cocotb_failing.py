"""A cocotb test that fails. Run by test_drivers.py."""

from typing import Any

import cocotb
from cocotb.clock import Clock

from sardonyx.cocotb import reset


@cocotb.test(timeout_time=10, timeout_unit="us")
async def it_fails(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    await reset(dut, ["i__valid"])
    assert dut.i__valid.value, "nothing was driven"
