"""cocotb tests of an accelerator: commands over AXI4-Lite, memory that answers in any order. Run by
tests/hw/spatial/test_accelerator.py."""

import itertools
import logging
from typing import Any

import cocotb
import numpy as np
from accelerators import accelerator, operands
from axi_memory import Memory
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from sardonyx.cocotb import stalls
from sardonyx.hw.arch import command
from sardonyx.hw.arch.command import UNKNOWN, Word
from sardonyx.hw.arch.soc import offsets
from sardonyx.runtime.spatial_products import Matrix, product

AT = offsets(command.REGISTERS)
SHAPE, TILE = (4, 3, 5), (3, 2, 4)
C_AT, BYTES = 256, 1024


class Queue:
    """Commands over the bus."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.bus = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        logging.getLogger(f"cocotb.{dut._name}.s_axil").setLevel(logging.WARNING)
        write, read = self.bus.write_if, self.bus.read_if
        for n, channel in enumerate((write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel)):
            channel.set_pause_generator(stalls(seed + n))

    async def set(self, name: str, value: int) -> AxiResp:
        return (await self.bus.write(AT[name], value.to_bytes(4, "little"))).resp

    async def get(self, name: str) -> int:
        return int.from_bytes((await self.bus.read(AT[name], 4)).data, "little")

    async def put(self, word: Word) -> None:
        """Give a command, again while the queue is full."""
        number, rs1, rs2 = word
        await self.set("rs1", rs1)
        await self.set("rs2", rs2)
        while await self.set("command", number) != AxiResp.OKAY:
            pass

    async def ended(self) -> int:
        while (status := await self.get("status")) & 1:
            pass
        return status


async def begun(dut: Any, seed: int) -> "tuple[Queue, Memory]":
    Clock(dut.clk, 10, "ns").start()
    memory = Memory(dut, np.zeros(BYTES, np.uint8), seed)
    dut.rst.value = 1
    queue = Queue(dut, seed)
    await ClockCycles(dut.clk, 3)
    dut.rst.value = 0
    cocotb.start_soon(memory.run())
    return queue, memory


def placed(memory: Memory, shape: "tuple[int, int, int]", seed: int) -> "tuple[list[Word], bytes]":
    """Operands in memory, the commands of their product, and what memory has to hold then."""
    a, b = operands(shape, seed)
    lies = a.astype(np.int8).tobytes(), b.astype(np.int8).tobytes()
    memory.content[:] = 0
    for content, at in zip(lies, (0, 128)):
        memory.content[at:at + len(content)] = [*content]
    places = Matrix(0, shape[2], 0), Matrix(128, shape[1], 0), Matrix(C_AT, shape[1], 2)
    wanted = memory.content.copy()
    sums = (a @ b).astype(np.int32).tobytes()
    wanted[C_AT:C_AT + len(sums)] = [*sums]
    return product(accelerator().kind, shape, *places).words, wanted.tobytes()


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_tiled_product_is_that_of_numpy(dut: Any) -> None:
    queue, memory = await begun(dut, 1)
    words, wanted = placed(memory, SHAPE, 1)
    for word in words:
        await queue.put(word)
    assert await queue.ended() >> 16 == 0
    assert memory.content.tobytes() == wanted
    assert await queue.get("ended") == sum(number == command.ISSUE for number, *_ in words)
    assert await queue.get("cycles") > 0


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def after_an_error_nothing_happens_until_it_is_cleared(dut: Any) -> None:
    queue, memory = await begun(dut, 2)
    words, wanted = placed(memory, TILE, 3)
    before = memory.content.tobytes()
    for word in [(99, 0, 0), *words]:
        await queue.put(word)
    status = await queue.ended()
    assert (status >> 16 & 15, status >> 20) == (UNKNOWN, 99) and memory.content.tobytes() == before
    assert await queue.get("clear") == 1
    await queue.set("clear", 1)
    assert await queue.get("clear") == 0
    for word in words:
        await queue.put(word)
    assert await queue.ended() >> 16 & 15 == 0 and memory.content.tobytes() == wanted


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_full_queue_refuses_commands_and_a_reset_empties_it(dut: Any) -> None:
    queue, memory = await begun(dut, 4)
    words, wanted = placed(memory, TILE, 5)
    assert await queue.get("status") == accelerator().kind.queue << 8 | 4
    # The last one waits for ever: for sums that nothing computes.
    result = command.SET_SRC_AND_DST, command.region(command.BUFFER, 3)
    for word in itertools.dropwhile(lambda word: word[:2] != result, words):
        await queue.put(word)
    depth = accelerator().kind.queue
    for _ in range(depth - 1):
        assert await queue.set("command", command.SET_AXIS_TYPE) == AxiResp.OKAY
    assert await queue.get("status") >> 1 & 1 and await queue.get("status") >> 8 & 0xFF == 0
    assert await queue.set("command", command.SET_AXIS_TYPE) == AxiResp.SLVERR
    assert await queue.set("command", 1 << 7) == AxiResp.SLVERR, "there are commands of 7 bits"
    assert await queue.set("status", 0) == AxiResp.SLVERR
    assert (await queue.bus.read(60, 4)).resp == AxiResp.SLVERR
    dut.rst.value = 1
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 2)
    assert await queue.get("status") == depth << 8 | 4
    assert memory.content.tobytes() != wanted
