"""A cocotb test of commands of any accelerator: memory that answers in any order holds in the end what it has to.

The folder has `before` and `wanted`, the contents of memory, and `words`, the commands. Run by tests/rtl/test_images.py."""

from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from axi_memory import Memory
from cocotb.clock import Clock

from sardonyx.cocotb import Commands, reset, stalls
from sardonyx.hw.arch.command import Word


async def begun(dut: Any) -> "tuple[Commands, Memory, list[Word]]":
    Clock(dut.clk, 10, "ns").start()
    memory = Memory(dut, np.fromfile("before", np.uint8), 1)
    commands = Commands(dut, lambda channel: stalls(channel, 0.2))
    await reset(dut)
    words = np.fromfile("words", np.uint32).reshape(-1, 3)
    return commands, memory, [(int(number), int(rs1), int(rs2)) for number, rs1, rs2 in words]


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def commands_leave_the_memory_that_firmware_leaves(dut: Any) -> None:
    commands, memory, words = await begun(dut)
    cocotb.start_soon(memory.run())
    await commands.run(words)
    assert memory.content.tobytes() == Path("wanted").read_bytes() != Path("before").read_bytes()
