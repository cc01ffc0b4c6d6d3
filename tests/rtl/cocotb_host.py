"""cocotb tests of the host of a machine on the least one: accesses, launches, errors. Run by test_session.py."""

from dataclasses import replace
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.clock import Clock
from cocotb.utils import get_sim_time
from machines import LEAST, copier

from sardonyx.cocotb import Session, stalls
from sardonyx.compiler.backend.encode import decode, encode, words
from sardonyx.hw.arch.errors import UserError

# From start to done of the launch below.
CYCLES = 51
MEMORY = LEAST.glb_tiles * LEAST.glb.tile_bytes


def blocks(*counts: int) -> "list[dict[str, np.ndarray]]":
    return [{"a_vals": np.array([count, *range(7, 7 + count)], np.uint16)} for count in counts]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def registers_and_memory_are_read_as_written_at_every_length(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    session, draw = await Session.open(dut, LEAST), np.random.default_rng(1)
    await session.host.write_register("watchdog_limit", 0x12345678)
    await session.host.write_register("load_start", 24, glb_tile=1)
    assert await session.host.read_register("watchdog_limit") == 0x12345678
    assert await session.host.read_register("load_start", 1) == 24
    for count in (1, 2, 3, 4, 5, 300, MEMORY // 2):
        data = draw.integers(0, 1 << 16, count).astype(np.uint16)
        await session.host.write_memory(0, data)
        assert (await session.host.read_memory(0, count)).tolist() == data.tolist()
    assert (await session.host.read_memory(0, 0)).tolist() == []


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(rate=[0.0, 0.5])
async def a_bitstream_runs_on_words_of_the_bench_in_cycles_that_do_not_depend_on_its_buses(dut: Any, rate: float) -> None:
    Clock(dut.clk, 10, "ns").start()
    session = await Session.open(dut, LEAST, stalls=lambda channel: stalls(channel, rate))
    program = decode(encode(copier(LEAST), LEAST), LEAST)
    outcome, = await session.launch(program, blocks(3, 0, 40), {"b_vals": 41})
    assert [each["b_vals"].tolist() for each in outcome.stored] == [each["a_vals"].tolist() for each in blocks(3, 0, 40)]
    assert outcome.cycles == CYCLES
    # What host code wrote is there to be read back by it.
    at, word = words(program, LEAST)[0]
    assert word and await session.call(session.device.read_configuration, at) == word


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def words_that_do_not_fit_and_programs_of_another_machine_are_refused(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    session, other = await Session.open(dut, LEAST), replace(LEAST, columns=4)
    with pytest.raises(UserError, match="a block of stream a_vals takes 300 words but a bank of the global buffer holds 256"):
        await session.launch(copier(LEAST), blocks(299))
    with pytest.raises(UserError) as error:
        await session.launch(copier(other), [])
    assert str(error.value) == (
        f"launch: the program is for machine {other.fingerprint:016x}, 'least' is {LEAST.fingerprint:016x}\n"
        "  try: compile it for 'least'")


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_wait_ends_with_its_limit_or_at_once(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    session = await Session.open(dut, LEAST)
    began = get_sim_time("step")
    assert not await session.host.wait(50)
    assert get_sim_time("step") - began == 50 * 10_000
    await session.launch(copier(LEAST), blocks(1), {"b_vals": 2})
    began = get_sim_time("step")
    assert await session.host.wait(50)
    assert get_sim_time("step") == began


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def another_machine_is_refused(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    other = replace(LEAST, name="other", columns=4)
    with pytest.raises(UserError) as error:
        await Session.open(dut, other)
    assert str(error.value) == (
        f"module sardonyx: the Verilog has machine {LEAST.fingerprint:016x}, not 'other', which is {other.fingerprint:016x}\n"
        "  try: name the arch.json beside the Verilog, or emit it again with `sardonyx verilog`")


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def accesses_that_cannot_be_are_told(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    session = await Session.open(dut, LEAST)
    with pytest.raises(UserError, match=r"controller: there is no register 'statos', do you mean 'status'"):
        await session.host.read_register("statos")
    with pytest.raises(UserError, match=r"machine 'least': there is no GLB tile 2\n  try: choose one of 0\.\.1"):
        await session.host.write_register("load_start", 0, 2)
    with pytest.raises(AssertionError, match="a write of 4 words at 0x800 was answered with SLVERR"):
        await session.host.write_memory(MEMORY, np.zeros(4, np.uint16))
    with pytest.raises(AssertionError, match="a read of 4 words at 0x800 was answered with SLVERR"):
        await session.host.read_memory(MEMORY, 4)
    with pytest.raises(UserError, match=r"read_register: host code blocks.*\n  try: call it as `await session.call"):
        session.device.read_register("status")
