"""The serial line, bit by bit."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator, SimulatorContext

from sardonyx.hw.soc.uart import Receiver, Transmitter


@pytest.mark.parametrize("divisor", [4, 7, 25])
def test_bytes_arrive_as_they_were_sent(divisor: int) -> None:
    """Through both, back to back and with pauses."""
    m = Module()
    m.submodules.sender = sender = Transmitter(divisor)
    m.submodules.receiver = receiver = Receiver(divisor)
    m.d.comb += receiver.pin.eq(sender.pin)
    data, found, chance = random.Random(divisor).randbytes(40), bytearray(), random.Random(1)

    async def send(sim: SimulatorContext) -> None:
        for byte in data:
            sim.set(sender.i.payload, byte)
            sim.set(sender.i.valid, 1)
            await taken(sim)
            sim.set(sender.i.valid, 0)
            for _ in range(chance.choice((0, 0, 3, 12 * divisor))):
                await sim.tick()
        for _ in range(12 * divisor):
            await sim.tick()

    async def taken(sim: SimulatorContext) -> None:
        while not (await sim.tick().sample(sender.i.ready))[2]:
            pass

    async def take(sim: SimulatorContext) -> None:
        sim.set(receiver.o.ready, 1)
        while True:
            _, _, valid, byte = await sim.tick().sample(receiver.o.valid, receiver.o.payload)
            if valid:
                found.append(byte)

    run(m, send, take)
    assert bytes(found) == data


def received(line: str, divisor: int = 8) -> list[int]:
    """What a receiver makes of a line with one letter a cycle, high at its end."""
    receiver, found = Receiver(divisor), list[int]()

    async def drive(sim: SimulatorContext) -> None:
        sim.set(receiver.o.ready, 1)
        for bit in line + "1" * 12 * divisor:
            sim.set(receiver.pin, int(bit))
            _, _, valid, byte = await sim.tick().sample(receiver.o.valid, receiver.o.payload)
            if valid:
                found.append(byte)

    run(receiver, drive)
    return found


def frame(byte: int, cycles: int) -> str:
    return "".join(bit * cycles for bit in f"0{byte:08b}"[0] + f"{byte:08b}"[::-1] + "1")


def test_clocks_may_differ() -> None:
    assert received(frame(0x5A, 30) * 3, 31) == received(frame(0x5A, 32) * 3, 31) == [0x5A] * 3


def test_noise_and_what_has_no_stop_bit_are_passed_over() -> None:
    assert received("0" * 3 + "1" * 40 + frame(0x31, 8)) == [0x31]
    assert received("0" * 8 * 10 + "1" * 90 + frame(0x32, 8)) == [0x32]


@pytest.mark.parametrize("kind", [Receiver, Transmitter])
def test_bits_too_short_are_refused(kind: type) -> None:
    refused = type("Refused", (kind,), {"_MustUse__silence": True})
    with pytest.raises(ValueError, match=r"^a bit takes 4 cycles or more, not 3$"):
        refused(3)


def run(design: object, drive: object, *beside: object) -> None:
    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    simulator.add_testbench(drive)
    for each in beside:
        simulator.add_testbench(each, background=True)
    simulator.run()
