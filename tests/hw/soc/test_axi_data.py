"""The data port and masters that do not end their bursts as they announced, stop, or are reset, in Amaranth's simulator;
tests/hw/soc/test_data_port.py and tests/hw/soc/test_buses.py run well-behaved ones on Verilog."""

from collections.abc import Awaitable, Callable, Sequence

import pytest
from amaranth.hdl import ClockDomain, Module, Signal
from amaranth.sim import Simulator, SimulatorContext

from sardonyx.hw.soc.axi_data import AxiData
from sardonyx.hw.soc.axi_lite import OKAY, SLVERR

LINES = 16


class Master:
    """Drives the port, with a memory behind it that is always ready."""

    def __init__(self, sim: SimulatorContext, dut: AxiData, rst: Signal) -> None:
        self.sim, self.dut, self.rst, self.memory = sim, dut, rst, dict.fromkeys(range(LINES), 0)
        self.coming: list[int | None] = [None] * (dut.read_latency - 1)
        self.asked = 0

    def put(self, **values: int) -> None:
        for name, value in values.items():
            self.sim.set(getattr(self.dut, f"s_axi_{name}"), value)

    def get(self, name: str) -> int:
        return int(self.sim.get(getattr(self.dut, f"s_axi_{name}")))

    async def tick(self) -> None:
        dut, get = self.dut, self.sim.get
        read = None
        if get(dut.read_valid) and get(dut.read_ready):
            read, self.asked = self.memory[get(dut.read_line)], self.asked + 1
        if get(dut.write_valid) and get(dut.write_ready):
            self.memory[get(dut.write_line)] = get(dut.write_data)
        await self.sim.tick()
        self.coming.append(read)
        # Only in its cycle.
        self.sim.set(dut.read_word, 0x5555 if (word := self.coming.pop(0)) is None else word)

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
        m, domain = Module(), ClockDomain("sync")
        m.domains += domain
        m.submodules.dut = dut = AxiData(8 * LINES, read_latency=latency)

        async def bench(sim: SimulatorContext, dut: AxiData = dut, domain: ClockDomain = domain) -> None:
            sim.set(dut.write_ready, 1)
            sim.set(dut.read_ready, 1)
            await scenario(Master(sim, dut, domain.rst))

        simulator = Simulator(m)
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
        assert await master.read(LINES - 1, 1) == [0], "nothing of a burst that is refused is written"

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


def test_a_write_burst_that_stops_keeps_writes_until_it_goes_on_and_no_reads() -> None:
    async def scenario(master: Master) -> None:
        await master.address("aw", 0, 2)
        await master.beats([11], -1)
        await master.address("aw", 2, 1)
        for _ in range(100):
            assert not master.get("bvalid")
            await master.tick()
        assert await master.read(0, 2) == [11, 0]
        await master.beats([12, 13], 0)
        master.put(wdata=13, wvalid=1, wlast=1)
        assert await master.answer() == OKAY
        master.put(wvalid=0)
        assert await master.answer() == SLVERR, "13 was not said to be the last"
        assert [master.memory[line] for line in range(3)] == [11, 12, 13]

    simulate(scenario)


def test_words_that_nobody_takes_wait_and_no_more_are_asked_for_than_have_room() -> None:
    async def scenario(master: Master) -> None:
        words = [*range(7, 7 + LINES - 1)]
        assert await master.write(0, words) == OKAY
        await master.address("ar", 0, len(words))
        await master.until("rvalid")
        await master.address("aw", 0, 1)
        await master.beats([9], 0)
        for _ in range(100):
            assert (master.get("rvalid"), master.get("rdata"), master.get("rlast")) == (1, 7, 0)
            await master.tick()
        # Those that a read takes cycles for, and two in the register slice.
        assert master.asked == master.dut.read_latency + 2
        assert await master.answer() == OKAY
        assert master.memory[0] == 9
        assert await master.words(len(words)) == words
        await works(master)

    simulate(scenario)


def test_answers_that_nobody_takes_hold_back_writes_and_lose_nothing() -> None:
    async def scenario(master: Master) -> None:
        for line in range(2):
            await master.address("aw", line, 1)
            await master.beats([line + 1], 0)
        await master.address("aw", 2, 2)
        await master.beats([3, 4], 1)
        for _ in range(20):
            await master.tick()
        assert [master.memory[line] for line in range(4)] == [1, 2, 3, 0], "the last beat waits for room"
        assert [await master.answer() for _ in range(3)] == [OKAY] * 3
        assert master.memory[3] == 4
        await works(master)

    simulate(scenario)


def test_a_memory_that_is_not_ready_is_asked_until_it_is() -> None:
    async def scenario(master: Master) -> None:
        dut, sim = master.dut, master.sim
        for ready in (dut.write_ready, dut.read_ready):
            sim.set(ready, 0)
        await master.address("aw", 3, 1)
        await master.beats([5], 0)
        await master.address("ar", 3, 1)
        await master.tick()
        for _ in range(10):
            assert (sim.get(dut.write_valid), sim.get(dut.write_line), sim.get(dut.write_data)) == (1, 3, 5)
            assert (sim.get(dut.read_valid), sim.get(dut.read_line)) == (1, 3)
            assert not master.get("bvalid") and not master.get("rvalid")
            await master.tick()
        sim.set(dut.write_ready, 1)
        assert await master.answer() == OKAY
        sim.set(dut.read_ready, 1)
        assert await master.words(1) == [5]
        await works(master)

    simulate(scenario)


@pytest.mark.parametrize("cycle", range(14))
def test_after_a_reset_in_the_middle_of_bursts_the_port_works(cycle: int) -> None:
    """One of each direction, at any of their cycles; the master forgets them, too."""
    async def scenario(master: Master) -> None:
        async def reset() -> None:
            master.sim.set(master.rst, 1)
            master.put(awvalid=0, wvalid=0, arvalid=0, rready=0, bready=0)
            await master.tick()
            master.sim.set(master.rst, 0)

        master.put(awaddr=0, awlen=7, awsize=3, awburst=1, awvalid=1, araddr=8, arlen=7, arsize=3, arburst=1, arvalid=1,
                   rready=1, wdata=1, wstrb=255, wvalid=1, wlast=0)
        for number in range(cycle):
            taken = [channel for channel in ("aw", "ar") if master.get(f"{channel}ready")]
            await master.tick()
            master.put(**{f"{channel}valid": 0 for channel in taken}, rready=number % 3 != 0)
        await reset()
        for _ in range(10):
            assert not master.get("rvalid") and not master.get("bvalid")
            await master.tick()
        await works(master)

    simulate(scenario)
