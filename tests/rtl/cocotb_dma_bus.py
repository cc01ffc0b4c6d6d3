"""A cocotb test of the DMA on a bus of any width. Run by tests/hw/dma/test_dma.py."""

from typing import Any

import cocotb
from cocotb_dma import elements_move


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def elements_move_in_words_of_the_bus(dut: Any) -> None:
    await elements_move(dut)
