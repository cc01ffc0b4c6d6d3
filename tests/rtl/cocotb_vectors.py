"""A cocotb test of vectors from memory to memory: commands over a bus that stalls, memory that answers in any order, and all of
memory as it has to be. Run by tests/hw/spatial/test_vector_accelerator.py."""

from typing import Any

import cocotb
import numpy as np
from axi_memory import Memory
from cocotb.clock import Clock
from vector_designs import BYTES, SMALL, accelerator, operands

from sardonyx.cocotb import Commands, reset, stalls
from sardonyx.runtime.data.vector_arrays import laid
from sardonyx.runtime.spatial_vectors import vectors


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def sums_are_those_of_numpy_and_nothing_else_is_written(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    given, array = operands(SMALL, 0.5, 1), SMALL.vectored
    assert array is not None
    place = laid(array, given, 0, 2)
    content = np.zeros(BYTES, np.uint8)
    content[:len(place.content)] = [*place.content]
    wanted = content.copy()
    sums = SMALL.run("golden", **given).value.astype(np.int32).tobytes()
    wanted[len(place.content):len(place.content) + len(sums)] = [*sums]
    memory = Memory(dut, content, 3)
    queue = Commands(dut, lambda channel: stalls(7 + channel))
    await reset(dut)
    cocotb.start_soon(memory.run())
    for word in vectors(accelerator().kind, place).words:
        await queue.give(word)
    assert await queue.ended() >> 16 & 15 == 0
    assert memory.content.tobytes() == wanted.tobytes()
