"""cocotb tests of an accelerator: commands over AXI4-Lite, memory that answers in any order. Run by
tests/hw/spatial/test_accelerator.py."""

import itertools
from typing import Any

import cocotb
import numpy as np
from accelerators import accelerator, operands
from axi_memory import Memory
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiResp

from sardonyx.cocotb import Commands, stalls
from sardonyx.hw.arch import command
from sardonyx.hw.arch.command import BUS, HANG, NONE, UNKNOWN, Word
from sardonyx.runtime.spatial_commands import Program
from sardonyx.runtime.spatial_products import Matrix, convolution, product

KIND = accelerator(watchdog=True, counters=True).kind
SHAPE, TILE = (4, 3, 5), (3, 2, 4)
# Longer than an operation takes, and not much longer than a memory that stalls at random.
PATIENCE = 60
C_AT, BYTES = 256, 1024


async def begun(dut: Any, seed: int, late: int = 0, kind: "type[Memory]" = Memory) -> "tuple[Commands, Any]":
    """late: cycles in which memory does not answer at all."""
    Clock(dut.clk, 10, "ns").start()
    memory = kind(dut, np.zeros(BYTES, np.uint8), seed)
    dut.rst.value = 1
    queue = Commands(dut, lambda channel: stalls(seed + channel))
    await ClockCycles(dut.clk, 3)
    dut.rst.value = 0
    cocotb.start_soon(memory.run() if not late else awaited(dut, late, memory))
    return queue, memory


async def awaited(dut: Any, late: int, memory: Memory) -> None:
    await ClockCycles(dut.clk, late)
    await memory.run()


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
    return product(KIND, shape, *places).words, wanted.tobytes()


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_tiled_product_is_that_of_numpy(dut: Any) -> None:
    queue, memory = await begun(dut, 1)
    words, wanted = placed(memory, SHAPE, 1)
    for word in words:
        await queue.give(word)
    assert await queue.ended() >> 16 == 0
    assert memory.content.tobytes() == wanted
    assert await queue.read("ended") == sum(number == command.ISSUE for number, *_ in words)
    assert await queue.read("cycles") > 0


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_convolution_is_that_of_numpy_and_nothing_else_is_written(dut: Any) -> None:
    queue, memory = await begun(dut, 16)
    image, weights = (np.random.default_rng(17).integers(-128, 128, shape, np.int8) for shape in ((5, 5, 1), (3, 3, 1, 2)))
    for content, at in ((image.tobytes(), 0), (weights.tobytes(), 128)):
        memory.content[at:at + len(content)] = [*content]
    wanted = memory.content.copy()
    under = np.lib.stride_tricks.sliding_window_view(image.astype(np.int32), (3, 3), axis=(0, 1))[::2, ::2]
    sums = np.einsum("yxcij,ijco->yxo", under, weights.astype(np.int32)).astype(np.int32).tobytes()
    wanted[C_AT:C_AT + len(sums)] = [*sums]
    for word in product(KIND, *convolution(image.shape, (3, 3, 2), 2, (0, 128, C_AT), (0, 0, 2))).words:
        await queue.give(word)
    assert await queue.ended() >> 16 == 0 and memory.content.tobytes() == wanted.tobytes()


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def after_an_error_nothing_happens_until_it_is_cleared(dut: Any) -> None:
    queue, memory = await begun(dut, 2)
    words, wanted = placed(memory, TILE, 3)
    before = memory.content.tobytes()
    for word in [(99, 0, 0), *words]:
        await queue.give(word)
    status = await queue.ended()
    assert (status >> 16 & 15, status >> 20) == (UNKNOWN, 99) and memory.content.tobytes() == before
    assert await queue.read("clear") == 1
    await queue.write("clear", 1)
    assert await queue.read("clear") == 0
    for word in words:
        await queue.give(word)
    assert await queue.ended() >> 16 & 15 == 0 and memory.content.tobytes() == wanted


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_full_queue_refuses_commands_and_a_reset_empties_it(dut: Any) -> None:
    queue, memory = await begun(dut, 4)
    words, wanted = placed(memory, TILE, 5)
    assert await queue.read("status") == KIND.queue << 8 | 4
    # The last one waits for ever: for sums that nothing computes.
    result = command.SET_SRC_AND_DST, command.region(command.BUFFER, 3)
    for word in itertools.dropwhile(lambda word: word[:2] != result, words):
        await queue.give(word)
    depth = KIND.queue
    for _ in range(depth - 1):
        assert await queue.write("command", command.SET_AXIS_TYPE) == AxiResp.OKAY
    assert await queue.read("status") >> 1 & 1 and await queue.read("status") >> 8 & 0xFF == 0
    assert await queue.write("command", command.SET_AXIS_TYPE) == AxiResp.SLVERR
    assert await queue.write("command", 1 << 7) == AxiResp.SLVERR, "there are commands of 7 bits"
    assert await queue.write("status", 0) == AxiResp.SLVERR
    assert (await queue.bus.read(60, 4)).resp == AxiResp.SLVERR
    dut.rst.value = 1
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 2)
    assert await queue.read("status") == depth << 8 | 4
    assert memory.content.tobytes() != wanted


def in_vain(queue: int) -> Program:
    """A request for a result, one of whose operands never comes; the other one fills its buffer, and holds a port."""
    found = Program(KIND)
    found.patience(PATIENCE)
    found.move("C", C_AT, (2, 1), (3, 2), 2)
    found.move("A", 0, (4, 1), (3, 4), 0, around=[(queue, 0)])
    return found


@cocotb.test(timeout_time=200, timeout_unit="us")
async def what_waits_for_an_operand_that_never_comes_is_given_up_and_named(dut: Any) -> None:
    queue, memory = await begun(dut, 6)
    words, wanted = placed(memory, SHAPE, 7)
    before = memory.content.tobytes()
    for tensors, waits in ((1, ("C",)), (9, ("A_values", "C"))):
        program = in_vain(tensors)
        program.wait()
        for word in program.words:
            await queue.give(word)
        assert await queue.ended() >> 16 & 15 == HANG
        assert await queue.read("given_up") == sum(2 << program.index(name) for name in waits)
        assert memory.content.tobytes() == before
        await queue.write("clear", 1)
        assert await queue.read("status") >> 16 & 15 == 0 and await queue.read("given_up") == 0
    # All ports are free, and nothing is left of what came.
    for word in words:
        await queue.give(word)
    assert await queue.ended() >> 16 & 15 == 0 and memory.content.tobytes() == wanted


@cocotb.test(timeout_time=200, timeout_unit="us")
async def a_request_that_has_to_wait_for_a_port_is_given_up(dut: Any) -> None:
    queue, memory = await begun(dut, 8)
    words, wanted = placed(memory, TILE, 9)
    program = in_vain(9)
    # The port that B would need is held by C and A.
    program.move("B", 128, (2, 1), (4, 2), 0)
    for word in program.words:
        await queue.give(word)
    assert await queue.ended() >> 16 & 15 == HANG
    await queue.write("clear", 1)
    # C has nothing to store, A no room, B no port, while the watchdog waits.
    assert {name for name in command.STALLS if await queue.read(name) > PATIENCE // 2} == {
        "result_late", "operand_held", "command_held"}
    for word in words:
        await queue.give(word)
    assert await queue.ended() >> 16 & 15 == 0 and memory.content.tobytes() == wanted


class Holding(Memory):
    """Answers reads beyond its end alone, until it no longer holds the others."""

    holds = True

    def _read(self) -> Any:
        held = [each for each in self.reads if self.holds and each[0].addr < len(self.content)]
        self.reads = [each for each in self.reads if each not in held]
        found = super()._read()
        self.reads += held
        return found


@cocotb.test(timeout_time=200, timeout_unit="us")
async def what_is_given_up_behind_an_error_that_was_cleared_is_not_told(dut: Any) -> None:
    queue, memory = await begun(dut, 12, kind=Holding)
    words, wanted = placed(memory, TILE, 13)
    program = Program(KIND)
    program.move("A", 0, (4, 1), (3, 4), 0)
    program.move("B", BYTES, (2, 1), (4, 2), 0)
    for word in program.words:
        await queue.give(word)
    while (error := await queue.read("status") >> 16 & 15) == NONE:
        pass
    # Words of A are still on their way.
    assert error == BUS
    await queue.write("clear", 1)
    assert await queue.read("status") & 1 and await queue.read("given_up") == 0
    memory.holds = False
    assert await queue.ended() >> 16 & 15 == NONE and await queue.read("given_up") == 0
    for word in words:
        await queue.give(word)
    assert await queue.ended() >> 16 & 15 == NONE and memory.content.tobytes() == wanted


@cocotb.test(timeout_time=200, timeout_unit="us")
async def what_a_request_meets_behind_an_unknown_command_is_told_when_that_is_cleared(dut: Any) -> None:
    late = 500
    queue, memory = await begun(dut, 14, late)
    words, wanted = placed(memory, TILE, 15)
    program = Program(KIND)
    program.move("A", BYTES, (4, 1), (3, 4), 0)
    for word in [*program.words, (99, 0, 0)]:
        await queue.give(word)
    assert await queue.read("status") >> 16 & 15 == UNKNOWN
    # Then the memory answers.
    assert await queue.ended() >> 16 & 15 == UNKNOWN
    await ClockCycles(dut.clk, 100)
    await queue.write("clear", 1)
    assert await queue.read("status") >> 16 & 15 == BUS
    await queue.write("clear", 1)
    for word in words:
        await queue.give(word)
    assert await queue.ended() >> 16 & 15 == NONE and memory.content.tobytes() == wanted


@cocotb.test(timeout_time=200, timeout_unit="us")
async def memory_that_is_late_is_waited_for(dut: Any) -> None:
    late = 1000
    queue, memory = await begun(dut, 10, late)
    words, wanted = placed(memory, TILE, 11)
    program = Program(KIND)
    program.patience(PATIENCE)
    for word in [*program.words, *words]:
        await queue.give(word)
    assert await queue.ended() >> 16 & 15 == 0 and memory.content.tobytes() == wanted
    assert await queue.read("cycles") > late // 2 > PATIENCE
    waits = {name: await queue.read(name) for name in command.STALLS}
    assert waits["operand_late"] > late // 2 > waits["operand_held"] + waits["result_held"], waits
