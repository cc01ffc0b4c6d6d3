"""cocotb tests of an accelerator of matrices without zeros: when an error is cleared it goes on, without a reset. Run by
tests/hw/spatial/test_parked.py."""

from typing import Any

import cocotb
import numpy as np
from axi_memory import Memory
from cocotb.clock import Clock
from without_zeros import A_AT, B_AT, C_AT, accelerator, matrices, placed

from sardonyx.cocotb import Commands, reset, stalls
from sardonyx.hw.arch.command import HANG, ISSUE, ORDER, UNKNOWN
from sardonyx.runtime import spatial_sparse
from sardonyx.runtime.data.blocked import blocked
from sardonyx.runtime.spatial_commands import Program

WATCHED = accelerator(watchdog=True)
KIND = WATCHED.kind
SHAPE = 3, 7, 3
PROGRAM = spatial_sparse.product(KIND, SHAPE, A_AT, B_AT, C_AT)


async def begun(dut: Any) -> "tuple[Commands, Memory, bytes]":
    """Operands in a memory that does not answer yet, and what it has to hold when they are multiplied."""
    Clock(dut.clk, 10, "ns").start()
    a, b = matrices(SHAPE, 0.9, 1)
    content = placed(WATCHED, a, b)
    memory = Memory(dut, np.frombuffer(content, np.uint8).copy(), 1)
    commands = Commands(dut, lambda channel: stalls(channel, 0.2))
    await reset(dut)
    # Every place that products are at is stored, whatever their sum.
    rows, columns = np.nonzero((a != 0).astype(int) @ (b != 0))
    found = blocked(spatial_sparse.tiled(KIND, SHAPE).cuts[2], rows, columns, (a @ b)[rows, columns])
    wanted = bytearray(content)
    for at, array in ((C_AT.segments, found.segments.astype(np.int32)), (C_AT.coordinates, found.coordinates.astype(np.uint16)),
                      (C_AT.values, found.values.astype(np.int32))):
        wanted[at:at + array.nbytes] = array.tobytes()
    return commands, memory, bytes(wanted)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def requests_that_nothing_counts_are_gone_when_the_error_is_cleared(dut: Any) -> None:
    commands, memory, wanted = await begun(dut)
    cocotb.start_soon(memory.run())
    orphans = Program(KIND)
    for name, place in (("A_coordinates", A_AT.coordinates), ("B_values", B_AT.values)):
        orphans.request(name, place, [], 1)
    orphans.wait()
    for word in orphans.words:
        await commands.give(word)
    assert await commands.ended() >> 16 & 15 == ORDER
    await commands.write("clear", 1)
    await commands.run(PROGRAM)
    assert memory.content.tobytes() == wanted


@cocotb.test(timeout_time=200, timeout_unit="us")
async def requests_in_front_of_an_unknown_command_are_done_whatever_waits_for_its_number(dut: Any) -> None:
    commands, memory, wanted = await begun(dut)
    # The first of them, for all arrays of a tile; the memory answers when the error has come.
    first = next(at for at, word in enumerate(PROGRAM.words) if word[0] == ISSUE) + 1
    for word in [*PROGRAM.words[:first], (99, 0, 0)]:
        await commands.give(word)
    assert await commands.read("status") >> 16 & 15 == UNKNOWN
    cocotb.start_soon(memory.run())
    assert await commands.ended() >> 16 & 15 == UNKNOWN
    assert await commands.read("ended") == 3, "segments, coordinates and values"
    await commands.write("clear", 1)
    await commands.run(PROGRAM.words[first:])
    assert memory.content.tobytes() == wanted


@cocotb.test(timeout_time=200, timeout_unit="us")
async def tensors_of_which_some_arrays_are_asked_for_are_given_up_whole(dut: Any) -> None:
    commands, memory, wanted = await begun(dut)
    cocotb.start_soon(memory.run())
    # Of A alone, until its buffer is full: the command that waits then has asked for the segments of the tensor.
    given_up = Program(KIND)
    given_up.patience(60)
    for _ in range(6):
        given_up.arrays("A_values", (A_AT.segments, A_AT.coordinates, A_AT.values), A_AT.size)
    for word in given_up.words:
        await commands.give(word)
    assert await commands.ended() >> 16 & 15 == HANG
    await commands.write("clear", 1)
    await commands.run(PROGRAM)
    assert memory.content.tobytes() == wanted
