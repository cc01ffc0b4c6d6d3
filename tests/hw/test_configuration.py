from collections.abc import Awaitable, Callable

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator, SimulatorContext
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.hw.arch.config import STATUS_REGISTER, ConfigMap, ConfigSet, Field
from sardonyx.hw.arch.presets import PRESETS
from sardonyx.hw.configuration import ConfigRegisters, packed

SPACE = ConfigMap((ConfigSet("a", Field("x", 20, ""), Field("y", 20, "")), ConfigSet("b", Field("z", 32, ""),
                                                                                     Field("w", 3, ""))))
USED = (0xFFFFF, 0xFFFFF, 0xFFFFFFFF, 7)


class Column:
    """Two tiles, (3, 1) over (3, 2), and what a test does with them; `status` is 0x40 + row."""

    def __init__(self, drive: "Callable[[Column], Awaitable[None]]") -> None:
        m = Module()
        self.tiles = [ConfigRegisters(SPACE, "test") for _ in range(2)]
        for row, tile in enumerate(self.tiles, start=1):
            m.submodules += tile
            m.d.comb += [tile.tile_x.eq(3), tile.tile_y.eq(row), tile.status.eq(0x40 + row)]
        wiring.connect(m, self.tiles[0].south, self.tiles[1].north)
        simulator = Simulator(m)
        simulator.add_clock(1e-9)

        async def bench(sim: SimulatorContext) -> None:
            self.sim = sim
            await drive(self)

        simulator.add_testbench(bench)
        simulator.run()

    async def ask(self, x: int, y: int, register: int, data: int | None = None) -> None:
        """A request at the top: a write of `data`, or a read."""
        top = self.tiles[0].north
        for signal, value in ((top.valid, 1), (top.write, data is not None), (top.wdata, data or 0),
                              (top.addr, x << 24 | y << 16 | register)):
            self.sim.set(signal, value)
        await self.sim.tick()
        self.sim.set(top.valid, 0)

    async def answers(self, cycles: int = 8) -> list[tuple[int, int]]:
        """What comes back in the next cycles: (cycle after the request, word)."""
        found = []
        for cycle in range(1, cycles):
            top = self.tiles[0].north
            _, _, valid, word = await self.sim.tick().sample(top.rvalid, top.rdata)
            if valid:
                found.append((cycle, word))
        return found

    def cfg(self, row: int) -> int:
        return self.sim.get(self.tiles[row - 1].cfg.as_value())


@settings(max_examples=20)
@given(words=st.lists(st.lists(st.integers(0, 0xFFFFFFFF), min_size=4, max_size=4), min_size=2, max_size=2))
def test_writes_reach_their_tile_and_read_back(words: list[list[int]]) -> None:
    async def drive(column: Column) -> None:
        for register in range(4):
            for row in (1, 2):
                await column.ask(3, row, register, words[row - 1][register])   # one write per cycle
        await column.sim.tick().repeat(3)
        for row in (1, 2):
            assert column.cfg(row) == packed(SPACE, words[row - 1])
            for register in range(4):
                await column.ask(3, row, register)
                (_, word), = await column.answers()
                assert word == words[row - 1][register] & USED[register]

    Column(drive)


@pytest.mark.parametrize("x,y,register", [(2, 1, 0), (3, 3, 0), (3, 0, 0)])
def test_other_addresses_neither_write_nor_answer(x: int, y: int, register: int) -> None:
    async def drive(column: Column) -> None:
        await column.ask(x, y, register, 0xFFFFFFFF)
        await column.ask(x, y, register)
        assert await column.answers() == []
        assert column.cfg(1) == column.cfg(2) == 0

    Column(drive)


def test_registers_that_do_not_exist_read_as_zero() -> None:
    async def drive(column: Column) -> None:
        await column.ask(3, 1, 4, 0xFFFFFFFF)
        await column.ask(3, 1, 4)
        assert [word for _, word in await column.answers()] == [0]

    Column(drive)


@pytest.mark.parametrize("row,cycles", [(1, 2), (2, 4)])
def test_an_answer_takes_two_cycles_and_two_more_per_row(row: int, cycles: int) -> None:
    async def drive(column: Column) -> None:
        await column.ask(3, row, STATUS_REGISTER)
        assert await column.answers() == [(cycles, 0x40 + row)]

    Column(drive)


@pytest.mark.parametrize("kind", ["pe", "mem", "io"])
def test_words_and_the_configuration_port_hold_the_same_fields(kind: str) -> None:
    space = PRESETS["onyx"].config_map(kind)
    for (name, field), slot in space.slots.items():
        words = [0] * space.words
        words[slot.word] = 1 << slot.lsb
        number = space.layout.from_bits(packed(space, words))
        assert number[name][field] == 1
        assert number.as_bits().bit_count() == 1
