"""What is saved of memories: the words of a GLB tile's columns, read back into its banks."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from amaranth.sim import Simulator, SimulatorContext
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.hw.arch.glb import CLOCK_GATING, Glb
from sardonyx.hw.arch.soc import SAVE_PATIENCE, glb_registers
from sardonyx.hw.glb.tile import GlbTile

GLB = Glb(columns_per_tile=2, banks=2, bank_bytes=256, load_loops=2, store_loops=1, kept_bytes=128)
GLBS = [GLB, replace(GLB, read_latency=2, bank_macros=2, queue=True), replace(GLB, banks=1, bank_bytes=512, kept_bytes=64),
        replace(GLB, ring=2)]
INDEX = {register.name: number for number, register in enumerate(glb_registers(GLB))}
ENABLE, CHAINED, SAVES = 1, 2, 4
LINES = GLB.tile_bytes // 8
# A row that does not answer.
NOWHERE = 9


def word(column: int, address: int) -> int:
    """What the columns of the test hold."""
    return (column << 28 | address) * 2654435761 & 0xFFFF_FFFF


class Columns:
    """A GLB tile whose columns answer reads, some cycles later, and what was asked of them: (cycle, column, address, write)."""

    def __init__(self, glb: Glb, latency: int, drive: "Callable[[Columns], Awaitable[None]]") -> None:
        self.tile, self._latency, self.cycle = GlbTile(glb), latency, 0
        self.seen: list[tuple[int, int, int, int]] = []
        self.missed = 0

        async def bench(sim: SimulatorContext) -> None:
            self.sim = sim
            sim.set(self.tile.west_open, 1)
            await drive(self)

        simulator = Simulator(self.tile)
        simulator.add_clock(1e-9)
        simulator.add_testbench(bench)
        simulator.run()

    async def tick(self, **values: int) -> None:
        """A cycle, with these ports."""
        for name, value in values.items():
            self.sim.set(getattr(self.tile, name), value)
        for column in range(2):
            asked, answer = getattr(self.tile, f"config{column}"), getattr(self.tile, f"answer{column}")
            if self.sim.get(asked.valid):
                self.seen.append((self.cycle, column, self.sim.get(asked.addr), self.sim.get(asked.write)))
            now = [address for cycle, where, address, write in self.seen
                   if (cycle + self._latency, where, write) == (self.cycle, column, 0) and address >> 16 != NOWHERE]
            self.sim.set(answer.rvalid, len(now))
            self.sim.set(answer.rdata, word(column, now[0]) if now else 0)
        self.missed += self.sim.get(self.tile.config_astray)
        await self.sim.tick()
        self.cycle += 1
        for name in values:
            self.sim.set(getattr(self.tile, name), 0)

    async def registers(self, **values: int) -> None:
        for name, value in values.items():
            await self.tick(register_write=1, register_index=INDEX[name], register_data=value)

    async def save(self, column: int, address: int, first: int, count: int, control: int = ENABLE | SAVES) -> int:
        """Save words and wait for the end; in how many cycles."""
        await self.registers(config_control=control, config_start=8 * first, config_words=count,
                             config_save=column << 24 | address)
        await self.tick(configure=1)
        return await self.finish()

    async def finish(self) -> int:
        for cycle in range(3 * SAVE_PATIENCE):
            if not self.sim.get(self.tile.config_busy):
                return cycle
            await self.tick()
        raise AssertionError("it does not end")

    async def line(self, line: int) -> int:
        """A word of the memory, read by the host."""
        for name, value in (("valid", 1), ("line", line)):
            self.sim.set(getattr(self.tile, f"host_read_{name}"), value)
        while not self.sim.get(self.tile.host_read_ready):
            await self.tick()
        await self.tick()
        self.sim.set(self.tile.host_read_valid, 0)
        for _ in range(self.tile.glb.read_latency - 1):
            await self.tick()
        return int(self.sim.get(self.tile.host_read_word))


def expected(column: int, address: int, count: int) -> "list[int]":
    return [column << 56 | here << 32 | word(column, here)
            for here in (address & 0xFF_0000 | address + n & 0xFFFF for n in range(count))]


@settings(max_examples=15, deadline=None)
@given(glb=st.sampled_from(GLBS), latency=st.integers(2, 8), column=st.integers(0, 1), row=st.integers(0, 5),
       register=st.integers(0, 0xFFFF), first=st.integers(1, LINES - 14), count=st.integers(0, 12),
       gating=st.sampled_from(CLOCK_GATING))
def test_words_are_saved_as_those_that_configure_the_same_again_a_word_a_cycle(
        glb: Glb, latency: int, column: int, row: int, register: int, first: int, count: int, gating: str) -> None:
    address = row << 16 | register

    async def drive(columns: Columns) -> None:
        assert await columns.save(column, address, first, count) == (count + latency if count else 0)
        assert [each[1:] for each in columns.seen] == [
            (column, line >> 32 & 0xFF_FFFF, 0) for line in expected(column, address, count)]
        assert [await columns.line(first + n) for n in range(count)] == expected(column, address, count)
        assert [await columns.line(line) for line in (first - 1, first + count)] == [0, 0], "no other word is written"
        columns.seen.clear()
        await columns.registers(config_control=ENABLE)
        await columns.tick(configure=1)
        await columns.finish()
        assert [(at, write) for _, at, _, write in columns.seen] == [(column, 1)] * count and not columns.missed

    Columns(replace(glb, clock_gating=gating), latency, drive)


@pytest.mark.parametrize("gating", CLOCK_GATING)
def test_reads_that_nothing_answers_are_told_and_the_next_words_are_in_their_place(gating: str) -> None:
    async def drive(columns: Columns) -> None:
        assert await columns.save(1, NOWHERE << 16, 8, 5) in range(SAVE_PATIENCE, SAVE_PATIENCE + 10) and columns.missed == 1
        assert await columns.save(2, 0, 8, 5) <= SAVE_PATIENCE + 10 and columns.missed == 2, "the tile has no such column"
        assert [await columns.line(8 + n) for n in range(5)] == [0] * 5
        # It reads on from what answers into what does not.
        await columns.save(1, NOWHERE - 1 << 16 | 0xFFFE, 8, 4)
        assert [await columns.line(8 + n) for n in range(4)] == expected(1, NOWHERE - 1 << 16 | 0xFFFE, 4), "the row stays"
        assert columns.missed == 2

    Columns(replace(GLB, clock_gating=gating), 4, drive)


@pytest.mark.parametrize("gating", CLOCK_GATING)
def test_answers_to_reads_of_before_are_no_words_of_what_is_saved(gating: str) -> None:
    """Of the host, of what was stopped, and of what was begun anew."""
    async def drive(columns: Columns) -> None:
        columns.sim.set(columns.tile.request0.addr, 0x1_0007)
        await columns.registers(config_control=ENABLE | SAVES, config_start=8, config_words=6, config_save=0x2_0100)
        columns.sim.set(columns.tile.request0.valid, 1)
        await columns.tick()
        columns.sim.set(columns.tile.request0.valid, 0)
        await columns.tick(configure=1)
        await columns.finish()
        assert [await columns.line(1 + n) for n in range(6)] == expected(0, 0x2_0100, 6)
        for stop in (True, False):
            await columns.registers(config_save=0x3_0000)
            await columns.tick(configure=1)
            for _ in range(5):
                await columns.tick()
            if stop:
                await columns.tick(config_stop=1)
                assert not columns.sim.get(columns.tile.config_busy)
            await columns.registers(config_save=0x4_0200)
            await columns.tick(configure=1)
            await columns.finish()
            assert [await columns.line(1 + n) for n in range(6)] == expected(0, 0x4_0200, 6)
        assert not columns.missed

    Columns(replace(GLB, clock_gating=gating), 8, drive)


def test_a_tile_saves_only_if_it_is_enabled_and_has_words_of_its_own() -> None:
    async def drive(columns: Columns) -> None:
        for control in (SAVES, ENABLE | CHAINED | SAVES, 0):
            assert await columns.save(0, 0, 1, 4, control) == 0
        assert not columns.seen and [await columns.line(1 + n) for n in range(4)] == [0] * 4

    Columns(GLB, 3, drive)
