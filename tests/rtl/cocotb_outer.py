"""A cocotb test of a product by outer products, whose memory stalls and answers in any order.

The folder has `before`, the contents of memory; `after` is written there. Run by tests/hw/spatial/test_outer_product.py."""

from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from axi_memory import Memory
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from sardonyx.cocotb import reset


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def a_run_ends_without_an_error(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    memory = Memory(dut, np.fromfile("before", np.uint8), 3)
    await reset(dut)
    cocotb.start_soon(memory.run())
    while not int(dut.trap.value):
        await RisingEdge(dut.clk)
    assert int(dut.status.value) == 0
    # Both ports were at work at once.
    assert memory.most["ar"] > 1 and memory.most["aw"] > 1
    Path("after").write_bytes(memory.content.tobytes())
