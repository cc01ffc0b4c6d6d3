"""cocotb tests of the machine's two buses with the bus models of cocotbext-axi. Run by tests/hw/soc/test_buses.py."""

import itertools
import logging
import random
from collections.abc import Iterator
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Combine
from cocotbext.axi import AxiBurstType, AxiBus, AxiLiteBus, AxiLiteMaster, AxiMaster, AxiResp
from machines import LEAST

from sardonyx.hw.arch.soc import CONTROLLER, GLB_REGISTER_STRIDE, GLB_REGISTERS, glb_registers, offsets

MEMORY = LEAST.glb_tiles * LEAST.glb.tile_bytes
CONTROLLER_AT = offsets(CONTROLLER)
GLB_AT = {name: GLB_REGISTERS + offset for name, offset in offsets(glb_registers(LEAST.glb)).items()}


async def data_bus(dut: Any) -> AxiMaster:
    """The data port after reset, with known contents of the memory."""
    bus = await _ready(dut, AxiMaster, AxiBus, "s_axi")
    await bus.write(0, pattern(0))
    return bus


async def register_bus(dut: Any) -> AxiLiteMaster:
    return await _ready(dut, AxiLiteMaster, AxiLiteBus, "s_axil")


async def _ready(dut: Any, master: Any, bus: Any, prefix: str) -> Any:
    for signal in ("s_axi_awvalid", "s_axi_wvalid", "s_axi_arvalid", "s_axi_bready", "s_axi_rready",
                   "s_axil_awvalid", "s_axil_wvalid", "s_axil_arvalid", "s_axil_bready", "s_axil_rready"):
        getattr(dut, signal).value = 0
    Clock(dut.clk, 10, "ns").start()
    dut.rst.value = 1
    made = master(bus.from_prefix(dut, prefix), dut.clk, dut.rst)
    logging.getLogger(f"cocotb.{dut._name}.{prefix}").setLevel(logging.WARNING)
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 2)
    return made


def pattern(seed: int, count: int = MEMORY) -> bytes:
    return random.Random(seed).randbytes(count)


def pauses(seed: int, rate: float) -> Iterator[bool]:
    draw = random.Random(seed)
    return (draw.random() < rate for _ in itertools.count())


def stall(bus: Any, seed: int, rate: float) -> None:
    """Hold back every channel of a bus at random."""
    for number, channel in enumerate((bus.write_if.aw_channel, bus.write_if.w_channel, bus.write_if.b_channel,
                                      bus.read_if.ar_channel, bus.read_if.r_channel)):
        channel.set_pause_generator(pauses(10 * seed + number, rate))


async def contents(bus: AxiMaster) -> bytes:
    return bytes((await bus.read(0, MEMORY)).data)


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def bursts_and_single_words_at_any_byte_with_back_pressure(dut: Any) -> None:
    bus, draw, model = await data_bus(dut), random.Random(1), bytearray(pattern(0))
    for number, rate in enumerate((0.0, 0.3, 0.8)):
        stall(bus, number, rate)
        for _ in range(40):
            length = draw.choice((1, 2, 8, 16, draw.randrange(1, 600)))
            at = draw.randrange(MEMORY - length + 1)
            if draw.random() < 0.5:
                word = draw.randbytes(length)
                assert (await bus.write(at, word)).resp == AxiResp.OKAY
                model[at:at + length] = word
            else:
                found = await bus.read(at, length)
                assert (found.resp, bytes(found.data)) == (AxiResp.OKAY, bytes(model[at:at + length]))
    assert await contents(bus) == model


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def reads_and_writes_asked_at_once_are_all_answered(dut: Any) -> None:
    bus, half = await data_bus(dut), MEMORY // 2
    stall(bus, 3, 0.3)
    new = pattern(1, half)

    async def write(at: int) -> None:
        assert (await bus.write(at, new[at:at + 100], awid=at // 100)).resp == AxiResp.OKAY

    async def read(at: int) -> None:
        found = await bus.read(half + at, 100, arid=at // 100)
        assert bytes(found.data) == pattern(0)[half + at:half + at + 100]

    await Combine(*(cocotb.start_soon(job(at)) for at in range(0, half - 100, 100) for job in (write, read)))
    size = len(range(0, half - 100, 100)) * 100
    assert await contents(bus) == new[:size] + pattern(0)[size:]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def addresses_beyond_the_memory_are_errors_and_change_nothing(dut: Any) -> None:
    bus = await data_bus(dut)
    for at in (MEMORY, MEMORY + 8, 2 * MEMORY, 1 << 20, (1 << 32) - 8):
        for length in (8, 24) if at + 24 <= 1 << 32 else (8,):
            assert (await bus.write(at, bytes(length))).resp == AxiResp.SLVERR
            assert (await bus.read(at, length)).resp == AxiResp.SLVERR
    assert await contents(bus) == pattern(0)
    # Of a burst over the end, the words inside are written.
    assert (await bus.write(MEMORY - 8, bytes(24))).resp == AxiResp.SLVERR
    assert (await bus.read(MEMORY - 8, 24)).resp == AxiResp.SLVERR
    assert await contents(bus) == pattern(0)[:-8] + bytes(8)
    assert (await bus.write(0, b"next")).resp == AxiResp.OKAY


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def narrow_fixed_and_wrapping_bursts_are_errors_and_change_nothing(dut: Any) -> None:
    bus = await data_bus(dut)
    for options in ({"size": 2}, {"size": 0}, {"burst": AxiBurstType.FIXED}, {"burst": AxiBurstType.WRAP}):
        assert (await bus.write(64, bytes(32), **options)).resp == AxiResp.SLVERR, options
        assert (await bus.read(64, 32, **options)).resp == AxiResp.SLVERR, options
    assert await contents(bus) == pattern(0)
    # A fixed burst of one beat is like any other.
    assert (await bus.write(64, bytes(8), burst=AxiBurstType.FIXED)).resp == AxiResp.OKAY
    assert bytes((await bus.read(64, 8, burst=AxiBurstType.FIXED)).data) == bytes(8)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def registers_are_read_as_written_with_back_pressure(dut: Any) -> None:
    bus, draw = await register_bus(dut), random.Random(5)
    places = [CONTROLLER_AT["irq_enable"], CONTROLLER_AT["watchdog_limit"], CONTROLLER_AT["config_address"]]
    places += [at + tile * GLB_REGISTER_STRIDE for tile in range(2) for name, at in GLB_AT.items() if name != "store_words"]
    for seed, rate in enumerate((0.0, 0.7)):
        stall(bus, seed, rate)
        values = {at: draw.getrandbits(32) for at in places}
        for at, value in values.items():
            assert (await bus.write(at, value.to_bytes(4, "little"))).resp == AxiResp.OKAY
        for at, value in values.items():
            assert await bus.read_dword(at) == value


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_part_of_a_register_cannot_be_written(dut: Any) -> None:
    bus = await register_bus(dut)
    for at in (CONTROLLER_AT["irq_enable"], GLB_AT["load_start"]):
        await bus.write_dword(at, 0x12345678)
        for offset, length in ((0, 1), (3, 1), (0, 2), (2, 2), (1, 3)):
            assert (await bus.write(at + offset, bytes(length))).resp == AxiResp.SLVERR
        assert await bus.read_dword(at) == 0x12345678
    # Nor do parts of a command have an effect.
    assert (await bus.write(CONTROLLER_AT["control"], b"\1")).resp == AxiResp.SLVERR
    assert await bus.read_dword(CONTROLLER_AT["status"]) == 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def addresses_without_a_register_are_errors_and_reach_no_other(dut: Any) -> None:
    bus = await register_bus(dut)
    known = [CONTROLLER_AT["irq_enable"], *GLB_AT.values(), *(at + GLB_REGISTER_STRIDE for at in GLB_AT.values())]
    known = [at for at in known if (at & 0xFF) != GLB_AT["store_words"] & 0xFF or at < GLB_REGISTERS]
    for at in known:
        await bus.write_dword(at, at)
    last, glb_size = max(CONTROLLER_AT.values()), 4 * len(GLB_AT)
    for at in (last + 4, 0x100, GLB_REGISTERS - 4, GLB_REGISTERS + glb_size, GLB_REGISTERS + GLB_REGISTER_STRIDE - 4,
               GLB_REGISTERS + 2 * GLB_REGISTER_STRIDE, GLB_REGISTERS + 0x1000, 0xFFFC):
        assert (await bus.write(at, bytes(4))).resp == AxiResp.SLVERR, hex(at)
        assert (await bus.read(at, 4)).resp == AxiResp.SLVERR, hex(at)
    for at in known:
        assert await bus.read_dword(at) == at
