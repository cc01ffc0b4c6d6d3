"""The data port and masters that do not end their bursts as they announced, in Amaranth's simulator; tests/hw/soc/test_buses.py
runs well-behaved ones on Verilog."""

from collections.abc import Awaitable, Callable, Sequence

import pytest
from amaranth.sim import Simulator, SimulatorContext

from sardonyx.hw.soc.axi_data import AxiData
from sardonyx.hw.soc.axi_lite import OKAY, SLVERR

LINES = 16


class Master:
    """Drives the port, with a memory behind it that is always ready."""

    def __init__(self, sim: SimulatorContext, dut: AxiData) -> None:
        self.sim, self.dut, self.memory = sim, dut, dict.fromkeys(range(LINES), 0)
        self.coming: list[int | None] = [None] * (dut.read_latency - 1)

    def put(self, **values: int) -> None:
        for name, value in values.items():
            self.sim.set(getattr(self.dut, f"s_axi_{name}"), value)

    def get(self, name: str) -> int:
        return int(self.sim.get(getattr(self.dut, f"s_axi_{name}")))

    async def tick(self) -> None:
        dut, get = self.dut, self.sim.get
        read = None
        if get(dut.valid) and get(dut.write):
            self.memory[get(dut.line)] = get(dut.data)
        elif get(dut.valid):
            read = self.memory[get(dut.line)]
        await self.sim.tick()
        self.coming.append(read)
        # Only in its cycle.
        self.sim.set(dut.word, 0x5555 if (word := self.coming.pop(0)) is None else word)

    async def until(self, name: str) -> None:
        for _ in range(20):
            if self.get(name):
                return
            await self.tick()
        raise AssertionError(f"no {name} within 20 cycles")

    async def address(self, channel: str, line: int, beats: int) -> None:
        self.put(**{f"{channel}addr": 8 * line, f"{channel}len": beats - 1, f"{channel}size": 3, f"{channel}burst": 1,
                    f"{channel}valid": 1})
        await self.until(f"{channel}ready")
        await self.tick()
        self.put(**{f"{channel}valid": 0})

    async def beats(self, words: Sequence[int], last: int) -> None:
        """Give words; the one at `last` says that it is the last."""
        for number, word in enumerate(words):
            self.put(wdata=word, wstrb=0xFF, wvalid=1, wlast=number == last)
            await self.until("wready")
            await self.tick()
        self.put(wvalid=0)

    async def answer(self) -> int:
        self.put(bready=1)
        await self.until("bvalid")
        response = self.get("bresp")
        await self.tick()
        self.put(bready=0)
        return response

    async def write(self, line: int, words: Sequence[int]) -> int:
        await self.address("aw", line, len(words))
        await self.beats(words, len(words) - 1)
        return await self.answer()

    async def read(self, line: int, beats: int) -> list[int]:
        await self.address("ar", line, beats)
        return await self.words(beats)

    async def words(self, beats: int) -> list[int]:
        """Take the words of a read."""
        found = []
        self.put(rready=1)
        for number in range(beats):
            await self.until("rvalid")
            assert (self.get("rresp"), self.get("rlast")) == (OKAY, number == beats - 1)
            found.append(self.get("rdata"))
            await self.tick()
        self.put(rready=0)
        return found


def simulate(scenario: Callable[[Master], Awaitable[None]]) -> None:
    """With memories of every latency."""
    for latency in (1, 2, 3):
        dut = AxiData(8 * LINES, read_latency=latency)

        async def bench(sim: SimulatorContext, dut: AxiData = dut) -> None:
            sim.set(dut.ready, 1)
            await scenario(Master(sim, dut))

        simulator = Simulator(dut)
        simulator.add_clock(1e-9)
        simulator.add_testbench(bench)
        simulator.run()


async def works(master: Master) -> None:
    """The next bursts are as if nothing had been."""
    assert await master.write(8, [51, 52, 53]) == OKAY
    assert await master.read(8, 3) == [51, 52, 53]


def test_bursts_that_end_as_announced_are_right() -> None:
    async def scenario(master: Master) -> None:
        await works(master)
        assert await master.write(0, [7]) == OKAY
        assert await master.read(0, 2) == [7, 0]
        assert await master.write(LINES - 1, [1, 2]) == SLVERR
        assert await master.read(LINES - 1, 1) == [1]

    simulate(scenario)


@pytest.mark.parametrize("sent", [1, 2, 3])
def test_a_burst_that_ends_early_is_an_error_and_the_port_goes_on(sent: int) -> None:
    async def scenario(master: Master) -> None:
        await master.address("aw", 0, 4)
        await master.beats([11, 12, 13][:sent], sent - 1)
        assert await master.answer() == SLVERR
        assert [master.memory[line] for line in range(4)] == [11, 12, 13, 0][:sent] + [0] * (4 - sent)
        await works(master)

    simulate(scenario)


def test_a_burst_without_its_last_beat_ends_as_announced_with_an_error() -> None:
    async def scenario(master: Master) -> None:
        await master.address("aw", 0, 2)
        await master.beats([11, 12], -1)
        assert await master.answer() == SLVERR
        assert [master.memory[line] for line in range(3)] == [11, 12, 0]
        await works(master)

    simulate(scenario)


def test_a_burst_that_stops_keeps_the_port_until_it_goes_on() -> None:
    async def scenario(master: Master) -> None:
        await master.address("aw", 0, 2)
        await master.beats([11], -1)
        await master.address("ar", 0, 1)
        for _ in range(100):
            assert not master.get("rvalid") and not master.get("bvalid")
            await master.tick()
        await master.beats([12], 0)
        assert await master.answer() == OKAY
        assert await master.words(1) == [11]
        await works(master)

    simulate(scenario)


def test_words_that_nobody_takes_wait() -> None:
    async def scenario(master: Master) -> None:
        assert await master.write(0, [7, 8, 10, 11]) == OKAY
        await master.address("ar", 0, 4)
        await master.until("rvalid")
        await master.address("aw", 0, 1)
        await master.beats([9], 0)
        for _ in range(100):
            assert (master.get("rvalid"), master.get("rdata"), master.get("rlast"), master.get("bvalid")) == (1, 7, 0, 0)
            await master.tick()
        assert await master.words(4) == [7, 8, 10, 11]
        assert await master.answer() == OKAY
        assert master.memory[0] == 9
        await works(master)

    simulate(scenario)
