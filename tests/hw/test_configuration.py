from collections.abc import Awaitable, Callable

import pytest
from amaranth.hdl import ClockDomain, Const, Module, Signal
from amaranth.sim import Simulator, SimulatorContext
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.hw.arch.config import EVERY_ROW, STATUS_REGISTER, ConfigMap, ConfigSet, Field
from sardonyx.hw.arch.presets import PRESETS
from sardonyx.hw.channel import ConfigChannel
from sardonyx.hw.configuration import ANSWER, REQUEST, ConfigRegisters, packed, selected

SPACE = ConfigMap((ConfigSet("a", Field("x", 20, ""), Field("y", 20, "")), ConfigSet("b", Field("z", 32, ""),
                                                                                     Field("w", 3, ""))))
USED = (0xFFFFF, 0xFFFFF, 0xFFFFFFFF, 7)


class Pair:
    """Two tiles, in rows 1 and 2, in two segments of a column below an IO tile, and what a test does with them; `status` is
    0x40 + row. kind: of the lower one."""

    def __init__(self, drive: "Callable[[Pair], Awaitable[None]]", readback: bool = True, kind: str = "test") -> None:
        m = Module()
        m.submodules.channel = channel = ConfigChannel(3, 1)
        self.top = channel.config
        self.kind = kind
        self.tiles = [ConfigRegisters(SPACE, each, readback) for each in ("test", kind)]
        for row, tile in enumerate(self.tiles, start=1):
            m.submodules += tile
            segment, answer = getattr(channel, f"segment{row - 1}"), getattr(channel, f"tile{row}")
            m.d.comb += [tile.tile_y.eq(row), tile.status.eq(0x40 + row)]
            m.d.comb += [getattr(tile.config, part).eq(getattr(segment, part)) for part in REQUEST]
            m.d.comb += [getattr(answer, part).eq(getattr(tile.config, part)) for part in ANSWER]
        simulator = Simulator(m)
        simulator.add_clock(1e-9)

        async def bench(sim: SimulatorContext) -> None:
            self.sim = sim
            await drive(self)

        simulator.add_testbench(bench)
        simulator.run()

    async def ask(self, y: int, register: int, data: int | None = None) -> None:
        """A request at the top: a write of `data`, or a read."""
        top = self.top
        for signal, value in ((top.valid, 1), (top.write, data is not None), (top.wdata, data or 0),
                              (top.addr, y << 16 | register)):
            self.sim.set(signal, value)
        await self.sim.tick()
        self.sim.set(top.valid, 0)

    async def answers(self, cycles: int = 8) -> list[tuple[int, int]]:
        """What comes back in the next cycles: (cycle after the request, word)."""
        found = []
        for cycle in range(1, cycles):
            top = self.top
            _, _, valid, word = await self.sim.tick().sample(top.rvalid, top.rdata)
            if valid:
                found.append((cycle, word))
        return found

    def cfg(self, row: int) -> int:
        return self.sim.get(self.tiles[row - 1].cfg.as_value())


@settings(max_examples=20)
@given(words=st.lists(st.lists(st.integers(0, 0xFFFFFFFF), min_size=4, max_size=4), min_size=2, max_size=2))
def test_writes_reach_their_tile_and_read_back(words: list[list[int]]) -> None:
    async def drive(pair: Pair) -> None:
        for register in range(4):
            for row in (1, 2):
                await pair.ask(row, register, words[row - 1][register])   # one write per cycle
        await pair.sim.tick().repeat(3)
        for row in (1, 2):
            assert pair.cfg(row) == packed(SPACE, words[row - 1])
            for register in range(4):
                await pair.ask(row, register)
                (_, word), = await pair.answers()
                assert word == words[row - 1][register] & USED[register]

    Pair(drive)


@pytest.mark.parametrize("y,register", [(3, 0), (0, 0), (254, 0)])
def test_other_addresses_neither_write_nor_answer(y: int, register: int) -> None:
    async def drive(pair: Pair) -> None:
        await pair.ask(y, register, 0xFFFFFFFF)
        await pair.ask(y, register)
        assert await pair.answers() == []
        assert pair.cfg(1) == pair.cfg(2) == 0

    Pair(drive)


def test_a_write_to_every_row_is_one_to_all_tiles_but_those_of_kind_io_and_a_read_of_it_is_not_answered() -> None:
    async def drive(pair: Pair) -> None:
        await pair.ask(EVERY_ROW, 2, 0x12345678)
        await pair.ask(EVERY_ROW, 2)
        assert await pair.answers() == []
        assert pair.cfg(1) == packed(SPACE, (0, 0, 0x12345678, 0))
        assert pair.cfg(2) == (pair.cfg(1) if pair.kind != "io" else 0)

    for kind in ("test", "io"):
        Pair(drive, kind=kind)


def test_registers_that_do_not_exist_read_as_zero() -> None:
    async def drive(pair: Pair) -> None:
        await pair.ask(1, 4, 0xFFFFFFFF)
        await pair.ask(1, 4)
        assert [word for _, word in await pair.answers()] == [0]

    Pair(drive)


def test_without_read_back_registers_are_written_and_read_as_zero_but_for_the_status() -> None:
    async def drive(pair: Pair) -> None:
        await pair.ask(2, 2, 0xFFFFFFFF)
        await pair.sim.tick().repeat(3)
        assert pair.cfg(2) == packed(SPACE, (0, 0, 0xFFFFFFFF, 0))
        for register, expected in ((2, 0), (4, 0), (STATUS_REGISTER, 0x42)):
            await pair.ask(2, register)
            assert [word for _, word in await pair.answers()] == [expected]

    Pair(drive, readback=False)


def test_a_reset_writes_zero_to_all_words_even_during_a_write() -> None:
    m = Module()
    m.domains.sync = domain = ClockDomain()
    m.submodules.tile = tile = ConfigRegisters(SPACE, "test")
    simulator = Simulator(m)
    simulator.add_clock(1e-9)

    async def bench(sim: SimulatorContext) -> None:
        for signal, value in ((tile.config.valid, 1), (tile.config.write, 1), (tile.config.wdata, 0xFFFFFFFF)):
            sim.set(signal, value)
        for register in range(SPACE.words):
            sim.set(tile.config.addr, register)
            await sim.tick()
        assert sim.get(tile.cfg.as_value()) == packed(SPACE, USED)
        sim.set(domain.rst, 1)
        await sim.tick()
        assert sim.get(tile.cfg.as_value()) == 0

    simulator.add_testbench(bench)
    simulator.run()


@given(count=st.integers(1, 9), number=st.integers(0, 15))
def test_a_word_is_selected_by_its_number(count: int, number: int) -> None:
    bits = max(1, (count - 1).bit_length())
    number %= 1 << bits
    m, chosen = Module(), Signal(8)
    m.d.comb += chosen.eq(selected([Const(17 * n + 5, 8) for n in range(count)], Const(number, bits)))
    simulator = Simulator(m)

    async def bench(sim: SimulatorContext) -> None:
        assert sim.get(chosen) == (17 * number + 5 if number < count else 0)

    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("kind", ["pe", "mem", "io"])
def test_words_and_the_configuration_port_hold_the_same_fields(kind: str) -> None:
    space = PRESETS["onyx"].config_map(kind)
    for (name, field), slot in space.slots.items():
        words = [0] * space.words
        words[slot.word] = 1 << slot.lsb
        number = space.layout.from_bits(packed(space, words))
        assert number[name][field] == 1
        assert number.as_bits().bit_count() == 1
