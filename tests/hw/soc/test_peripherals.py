from typing import Any

from amaranth.sim import Simulator

from sardonyx.hw.arch.soc import offsets
from sardonyx.hw.arch.system import HOST
from sardonyx.hw.soc.peripherals import Peripherals

SERIAL = offsets(HOST)["serial"]


def received(bytes_: "list[int]", reads: int) -> "list[int]":
    """What the register of the serial line shows after bytes have come."""
    part, found = Peripherals(), []

    async def bench(context: Any) -> None:
        for byte in bytes_:
            context.set(part.received.payload, byte)
            context.set(part.received.valid, 1)
            await context.tick()
        context.set(part.received.valid, 0)
        context.set(part.address, SERIAL)
        for _ in range(reads):
            context.set(part.valid, 1)
            value, = await context.tick().sample(part.value).until(part.done)
            found.append(value)
            context.set(part.valid, 0)
            await context.tick()

    simulator = Simulator(part)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return found


def test_a_byte_is_read_once() -> None:
    first, second = received([0x41], 2)
    assert first == 1 << 8 | 0x41
    assert not second >> 8


def test_of_bytes_that_nobody_has_read_the_last_one_stays() -> None:
    assert received([1, 2, 3], 1) == [1 << 8 | 3]


def test_without_a_byte_there_is_none() -> None:
    assert received([], 1) == [0]


def test_what_others_are_asked_for_is_not_answered() -> None:
    """The address is that of any access of the processor: `status` of the machine has an offset of a register here, too."""
    part = Peripherals()

    async def bench(context: Any) -> None:
        at = offsets(HOST)["pitch_from"]
        for valid in (1, 0):
            context.set(part.address, at)
            context.set(part.word, 1024)
            context.set(part.strobes, 0xF * valid)
            context.set(part.valid, valid)
            await context.tick().repeat(2)
        for valid, value in ((0, 0), (1, 1024)):
            context.set(part.valid, valid)
            await context.tick()
            assert context.get(part.value) == value

    simulator = Simulator(part)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
