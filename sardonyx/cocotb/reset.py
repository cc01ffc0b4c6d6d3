"""Reset of a component, in the cycles of a clock that runs: ``Clock(dut.clk, 10, "ns").start()``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cocotb.triggers import ClockCycles, RisingEdge

from .stream import signal

# One would do.
RESET_CYCLES = 3


async def reset(dut: Any, inputs: Iterable[str] = ()) -> None:
    """Reset a component; ends at the first rising edge at which reset is off.

    inputs: names of ports that are set to 0 first, beside those that drivers set when they are made.
    """
    for name in inputs:
        signal(dut, name).value = 0
    clk, rst = signal(dut, "clk"), signal(dut, "rst")
    rst.value = 1
    await ClockCycles(clk, RESET_CYCLES)
    rst.value = 0
    await RisingEdge(clk)
