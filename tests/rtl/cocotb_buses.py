"""cocotb tests of the machine's two buses with the bus models of cocotbext-axi. Run by tests/hw/soc/test_buses.py.

In every test a checker watches both buses in every cycle (`axi_protocol.watch`), and a violation fails it.
"""

import itertools
import logging
import random
from collections.abc import Sequence
from typing import Any

import cocotb
from axi_model import Address, any_burst, judge
from axi_protocol import Protocol, watch
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Combine, RisingEdge
from cocotbext.axi import AxiBurstType, AxiBus, AxiLiteBus, AxiLiteMaster, AxiMaster, AxiResp, axi_channels, axil_channels
from machines import LEAST

from sardonyx.cocotb import stalls
from sardonyx.hw.arch.soc import GLB_REGISTER_STRIDE, GLB_REGISTERS, RW, controller_registers, glb_registers, offsets

MEMORY = LEAST.glb_tiles * LEAST.glb.tile_bytes
CONTROLLER_AT = offsets(controller_registers(LEAST))
GLB_AT = {name: GLB_REGISTERS + offset for name, offset in offsets(glb_registers(LEAST.glb)).items()}
GLB_KEPT = [GLB_REGISTERS + register.offset for register in glb_registers(LEAST.glb) if register.access == RW]


async def data_bus(dut: Any) -> AxiMaster:
    """The data port after reset, with known contents of the memory."""
    bus = await _ready(dut, AxiMaster, AxiBus, "s_axi")
    await bus.write(0, pattern(0))
    return bus


async def register_bus(dut: Any) -> AxiLiteMaster:
    return await _ready(dut, AxiLiteMaster, AxiLiteBus, "s_axil")


async def _ready(dut: Any, master: Any, bus: Any, prefix: str) -> Any:
    await _reset(dut)
    made = master(bus.from_prefix(dut, prefix), dut.clk, dut.rst)
    logging.getLogger(f"cocotb.{dut._name}.{prefix}").setLevel(logging.WARNING)
    await ClockCycles(dut.clk, 2)
    return made


class Channels:
    """The channels of a bus, each for itself: what is sent on one waits for no other, and what comes is taken."""

    def __init__(self, dut: Any, prefix: str, protocol: Protocol) -> None:
        made, kind = (axi_channels, "Axi") if prefix == "s_axi" else (axil_channels, "AxiLite")
        self.dut, self.protocol, self._made, self._kind = dut, protocol, made, kind
        self.ends = {}
        for name, end in (("aw", "Source"), ("w", "Source"), ("b", "Sink"), ("ar", "Source"), ("r", "Sink")):
            bus = getattr(made, f"{kind}{name.upper()}Bus").from_prefix(dut, prefix)
            self.ends[name] = getattr(made, f"{kind}{name.upper()}{end}")(bus, dut.clk, dut.rst)
        logging.getLogger(f"cocotb.{dut._name}.{prefix}").setLevel(logging.WARNING)

    def send(self, channel: str, **fields: int) -> None:
        transaction = getattr(self._made, f"{self._kind}{channel.upper()}Transaction")
        self.ends[channel].send_nowait(transaction(**{channel + name: value for name, value in fields.items()}))

    def write(self, address: Address, words: Sequence[int], strobes: Sequence[int]) -> None:
        self.send("aw", **vars(address))
        for beat, (word, strobe) in enumerate(zip(words, strobes, strict=True)):
            self.send("w", data=word, strb=strobe, last=int(beat == address.len))

    def write_any(self, draw: random.Random, most: int) -> None:
        """A burst as of `any_burst`, with words and strobes."""
        burst = any_burst(draw, MEMORY, most=most)
        strobes = [sum(1 << lane for lane in (burst.lanes(beat) if burst.legal else range(8)) if draw.random() < 0.9)
                   for beat in range(burst.len + 1)]
        self.write(burst, [draw.getrandbits(64) for _ in strobes], strobes)

    def read(self, address: Address) -> None:
        self.send("ar", **vars(address))

    def pause(self, draw: random.Random, rates: Sequence[float]) -> None:
        """Hold back every channel at random, each at a rate of its own."""
        for end in self.ends.values():
            end.set_pause_generator(stalls(draw.getrandbits(30), draw.choice(rates)))

    async def reset(self, draw: random.Random, most: int) -> None:
        """Reset within so many cycles, and forget what was not sent."""
        await ClockCycles(self.dut.clk, draw.randrange(1, most))
        self.dut.rst.value = 1
        await ClockCycles(self.dut.clk, draw.randrange(1, 3))
        for end in self.ends.values():
            end.clear()
        self.dut.rst.value = 0
        await ClockCycles(self.dut.clk, 1)

    async def answers(self, writes: int, reads: int = 0) -> None:
        """Wait until there have been so many answers and so many words in all."""
        while len(self.protocol.transfers["b"]) < writes or len(self.protocol.transfers["r"]) < reads:
            await RisingEdge(self.dut.clk)

    async def fill(self, draw: random.Random) -> int:
        """Write all of the memory; returns how many bursts that takes."""
        bursts = [Address(0, at, 127) for at in range(0, MEMORY, 1024)]
        for burst in bursts:
            self.write(burst, [draw.getrandbits(64) for _ in range(128)], [0xFF] * 128)
        await self.answers(len(bursts))
        return len(bursts)


async def channels(dut: Any, prefix: str = "s_axi") -> Channels:
    """The channels of a bus after reset."""
    protocols = await _reset(dut)
    return Channels(dut, prefix, protocols[prefix])


async def _reset(dut: Any) -> dict[str, Protocol]:
    """Start the clock, reset, and have both buses watched."""
    for signal in ("s_axi_awvalid", "s_axi_wvalid", "s_axi_arvalid", "s_axi_bready", "s_axi_rready",
                   "s_axil_awvalid", "s_axil_wvalid", "s_axil_arvalid", "s_axil_bready", "s_axil_rready"):
        getattr(dut, signal).value = 0
    Clock(dut.clk, 10, "ns").start()
    dut.rst.value = 1
    await ClockCycles(dut.clk, 4)
    protocols = {prefix: Protocol() for prefix in ("s_axi", "s_axil")}
    for prefix, protocol in protocols.items():
        cocotb.start_soon(watch(dut, prefix, protocol))
    dut.rst.value = 0
    await ClockCycles(dut.clk, 1)
    return protocols


def pattern(seed: int, count: int = MEMORY) -> bytes:
    return random.Random(seed).randbytes(count)


def stall(bus: Any, seed: int, rate: float) -> None:
    """Hold back every channel of a bus at random."""
    for number, channel in enumerate((bus.write_if.aw_channel, bus.write_if.w_channel, bus.write_if.b_channel,
                                      bus.read_if.ar_channel, bus.read_if.r_channel)):
        channel.set_pause_generator(stalls(10 * seed + number, rate))


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
    # Of a burst over the end, nothing is written.
    assert (await bus.write(MEMORY - 8, bytes(24))).resp == AxiResp.SLVERR
    assert (await bus.read(MEMORY - 8, 24)).resp == AxiResp.SLVERR
    assert await contents(bus) == pattern(0)
    assert (await bus.write(0, b"next")).resp == AxiResp.OKAY


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def narrow_bursts_write_and_read_their_bytes(dut: Any) -> None:
    bus, model = await data_bus(dut), bytearray(pattern(0))
    for seed, (size, at, length) in enumerate(itertools.product((0, 1, 2), (64, 77), (1, 16, 33))):
        word = pattern(seed, length)
        assert (await bus.write(at, word, size=size)).resp == AxiResp.OKAY
        model[at:at + length] = word
        found = await bus.read(at - 3, length + 6, size=size)
        assert (found.resp, bytes(found.data)) == (AxiResp.OKAY, bytes(model[at - 3:at + length + 3]))
    assert await contents(bus) == model


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def fixed_bursts_write_one_word_again_and_again(dut: Any) -> None:
    bus = await data_bus(dut)
    assert (await bus.write(64, pattern(1, 32), burst=AxiBurstType.FIXED)).resp == AxiResp.OKAY
    assert bytes((await bus.read(64, 16, burst=AxiBurstType.FIXED)).data) == 2 * pattern(1, 32)[24:]
    assert await contents(bus) == pattern(0)[:64] + pattern(1, 32)[24:] + pattern(0)[72:]


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def bursts_of_every_kind_at_once_with_back_pressure(dut: Any) -> None:
    """Legal ones and others, reads and writes of the same bytes, against a model in bytes."""
    draw, bus = random.Random(7), await channels(dut)
    written, words = await bus.fill(draw), 0
    for rates in ((0.0,), (0.0, 0.3), (0.2, 0.5, 0.8)):
        bus.pause(draw, rates)
        for _ in range(60):
            read = any_burst(draw, MEMORY, most=32)
            bus.write_any(draw, 32)
            bus.read(read)
            written, words = written + 1, words + read.len + 1
        await bus.answers(written, words)
    for at in range(0, MEMORY, 1024):
        bus.read(Address(0, at, 127))
    await bus.answers(written, words + MEMORY // 8)
    judge(bus.protocol.transfers, bytes(MEMORY))
    bus.protocol.finish()
    assert not bus.protocol.violations


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_beat_goes_each_way_in_every_cycle_with_none_between_bursts(dut: Any) -> None:
    bus = await channels(dut)
    await bus.fill(random.Random(8))
    before, half = {name: len(found) for name, found in bus.protocol.transfers.items()}, MEMORY // 2
    for number, (at, count) in enumerate(((0, 64), (512, 16), (640, 1), (648, 1), (656, 46))):
        bus.write(Address(number, at, count - 1), [number] * count, [0xFF] * count)
        bus.read(Address(number, half + at, count - 1))
    await bus.answers(before["b"] + 5, 128)
    for name in ("w", "r"):
        # From rest, words that come with their address wait a cycle for it when two of them are in the register slice.
        cycles = [transfer.cycle for transfer in bus.protocol.transfers[name][before[name]:]][2:]
        assert cycles == [*range(cycles[0], cycles[0] + 126)], (name, cycles)
    judge(bus.protocol.transfers, bytes(MEMORY))


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def the_data_port_works_after_a_reset_in_the_middle_of_bursts(dut: Any) -> None:
    draw, bus = random.Random(9), await channels(dut)
    stopped: set[tuple[bool, bool]] = set()
    for _ in range(25):
        bus.pause(draw, (0.0, 0.3))
        await bus.fill(draw)
        for _ in range(8):
            bus.write_any(draw, 16)
            bus.read(any_burst(draw, MEMORY, most=16))
        await bus.reset(draw, 80)
        found = bus.protocol.before_reset
        judge(found, bytes(MEMORY), cut=True)
        stopped.add((len(found["b"]) < len(found["aw"]), sum(each.fields["last"] for each in found["r"]) < len(found["ar"])))
    assert len(stopped) > 1 and (True, True) in stopped, "resets hit bursts of both directions"
    await bus.fill(draw)
    for at in range(0, MEMORY, 1024):
        bus.read(Address(0, at, 127))
    await bus.answers(0, MEMORY // 8)
    judge(bus.protocol.transfers, bytes(MEMORY))


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def the_register_port_works_after_a_reset_in_the_middle_of_accesses(dut: Any) -> None:
    draw, bus, at = random.Random(10), await channels(dut, "s_axil"), GLB_AT["load_start"]
    for number in range(25):
        bus.pause(draw, (0.0, 0.3, 0.7))
        for _ in range(8):
            bus.send("aw", addr=draw.choice((at, 0xFFFC)))
            bus.send("w", data=draw.getrandbits(32), strb=draw.choice((15, 3)))
            bus.send("ar", addr=draw.choice((at, 0xFFFC)))
        await bus.reset(draw, 20)
        bus.send("aw", addr=at)
        bus.send("w", data=number, strb=15)
        await bus.answers(1)
        bus.send("ar", addr=at)
        await bus.answers(1, 1)
        assert bus.protocol.transfers["b"][0].fields == {"resp": AxiResp.OKAY}
        assert bus.protocol.transfers["r"][0].fields == {"data": number, "resp": AxiResp.OKAY}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def registers_are_read_as_written_with_back_pressure(dut: Any) -> None:
    bus, draw = await register_bus(dut), random.Random(5)
    places = [CONTROLLER_AT["irq_enable"], CONTROLLER_AT["watchdog_limit"], CONTROLLER_AT["config_address"]]
    places += [at + tile * GLB_REGISTER_STRIDE for tile in range(2) for at in GLB_KEPT]
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
async def addresses_without_a_register_are_errors_and_reach_no_other_with_back_pressure(dut: Any) -> None:
    bus = await register_bus(dut)
    stall(bus, 11, 0.5)
    known = [CONTROLLER_AT["irq_enable"], *GLB_KEPT, *(at + GLB_REGISTER_STRIDE for at in GLB_KEPT)]
    for at in known:
        await bus.write_dword(at, at)
    last, glb_size = max(CONTROLLER_AT.values()), 4 * len(GLB_AT)
    for at in (last + 4, 0x100, GLB_REGISTERS - 4, GLB_REGISTERS + glb_size, GLB_REGISTERS + GLB_REGISTER_STRIDE - 4,
               GLB_REGISTERS + 2 * GLB_REGISTER_STRIDE, GLB_REGISTERS + 0x1000, 0xFFFC):
        assert (await bus.write(at, bytes(4))).resp == AxiResp.SLVERR, hex(at)
        assert (await bus.read(at, 4)).resp == AxiResp.SLVERR, hex(at)
    for at in known:
        assert await bus.read_dword(at) == at
