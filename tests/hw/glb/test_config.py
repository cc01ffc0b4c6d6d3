"""Configuration DMAs of GLB tiles and the switches between them: which words reach which column, and when."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator, SimulatorContext
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.hw.arch.glb import CLOCK_GATING, Glb
from sardonyx.hw.arch.soc import glb_registers
from sardonyx.hw.glb.tile import GlbTile
from sardonyx.runtime.data.packed import packed

GLB = Glb(columns_per_tile=2, banks=2, bank_bytes=256, load_loops=2, store_loops=1)
PACKS = [replace(GLB, packed=True), replace(GLB, packed=True, read_latency=3, bank_macros=2)]
GLBS = [GLB, replace(GLB, read_latency=2, bank_macros=2, queue=True), PACKS[1]]
INDEX = {register.name: number for number, register in enumerate(glb_registers(GLB))}
LINES = GLB.tile_bytes // 8
TILES = 3
ENABLE, CHAINED, PACKED = 1, 2, 8
Word = tuple[int, int, int]
"""Column, address, data."""


class Row:
    """Three GLB tiles in a simulator, which begins anew with each use: to make it takes most of the time.

    walled: the tile to the west of which is a wall.
    """

    def __init__(self, glb: Glb, walled: int | None) -> None:
        m = Module()
        self.tiles = [GlbTile(glb) for _ in range(TILES)]
        for number, tile in enumerate(self.tiles):
            m.submodules[f"tile{number}"] = tile
        for number, (west, east) in enumerate(pairwise(self.tiles), start=1):
            m.d.comb += [east.west_open.eq(number != walled), east.west.valid.eq(west.east.valid),
                         east.west.word.eq(west.east.word), west.east_chained.eq(east.chained)]
        self._simulator = Simulator(m)
        self._simulator.add_clock(1e-9)
        self._simulator.add_testbench(self._bench)
        self._drive: Callable[[SimulatorContext], Awaitable[None]] | None = None

    def run(self, drive: "Callable[[SimulatorContext], Awaitable[None]]") -> None:
        if self._drive:
            self._simulator.reset()
        self._drive = drive
        self._simulator.run()

    async def _bench(self, sim: SimulatorContext) -> None:
        assert self._drive
        await self._drive(sim)


row = cache(Row)


class Chain:
    """What a test does with a row of GLB tiles, walled or not, and what leaves to each column: `seen[cycle, tile, column]`."""

    def __init__(self, glb: Glb, drive: "Callable[[Chain], Awaitable[None]]", walled: int | None = None) -> None:
        self.tiles = row(glb, walled).tiles
        self.cycle = 0
        self.seen: dict[tuple[int, int, int], tuple[int, int]] = {}
        self.astray: list[int] = []

        async def bench(sim: SimulatorContext) -> None:
            self.sim = sim
            await drive(self)

        row(glb, walled).run(bench)

    async def tick(self) -> None:
        for number, tile in enumerate(self.tiles):
            for column in range(2):
                asked = getattr(tile, f"config{column}")
                if self.sim.get(asked.valid):
                    assert self.sim.get(asked.write)
                    self.seen[self.cycle, number, column] = self.sim.get(asked.addr), self.sim.get(asked.wdata)
            if self.sim.get(tile.config_astray):
                self.astray.append(number)
        await self.sim.tick()
        self.cycle += 1

    async def fill(self, tile: int, first: int, words: Sequence[Word]) -> None:
        """Words into the memory, from a line on, by the host."""
        port = self.tiles[tile]
        for line, (column, address, data) in enumerate(words, start=first):
            for name, value in (("valid", 1), ("line", line), ("strobe", 0xFF), ("data", column << 56 | address << 32 | data)):
                self.sim.set(getattr(port, f"host_write_{name}"), value)
            while not self.sim.get(port.host_write_ready):
                await self.tick()
            await self.tick()
        self.sim.set(port.host_write_valid, 0)

    async def registers(self, tile: int, **values: int) -> None:
        port = self.tiles[tile]
        for name, value in values.items():
            for member, each in (("write", 1), ("index", INDEX[name]), ("data", value)):
                self.sim.set(getattr(port, f"register_{member}"), each)
            await self.tick()
        self.sim.set(port.register_write, 0)

    async def command(self, name: str) -> None:
        for tile in self.tiles:
            self.sim.set(getattr(tile, name), 1)
        await self.tick()
        for tile in self.tiles:
            self.sim.set(getattr(tile, name), 0)

    async def finish(self) -> int:
        """Until no word is on its way; in how many cycles."""
        for cycle in range(500):
            if not any(self.sim.get(tile.config_busy) for tile in self.tiles):
                return cycle
            await self.tick()
        raise AssertionError("configuration does not end")

    def columns(self) -> dict[int, list[tuple[int, int]]]:
        """What reached each column of the row, in order."""
        found = defaultdict(list)
        for (_, tile, column), write in sorted(self.seen.items()):
            found[2 * tile + column].append(write)
        return dict(found)


def words(last_column: int, most: int = 20) -> "st.SearchStrategy[list[Word]]":
    word = st.tuples(st.integers(0, last_column), st.integers(0, 0xFF_FFFF), st.integers(0, 0xFFFF_FFFF))
    return st.lists(word, max_size=most)


def expected(images: "Sequence[list[Word]]") -> dict[int, list[tuple[int, int]]]:
    """What the words of each tile mean, columns counted from the tile's first one."""
    found = defaultdict(list)
    for tile, image in enumerate(images):
        for column, address, data in image:
            found[2 * tile + column].append((address, data))
    return dict(found)


@settings(max_examples=12, deadline=None)
@given(glb=st.sampled_from(GLBS), images=st.tuples(words(1), words(1), words(1)), first=st.integers(0, LINES - 20),
       gating=st.sampled_from(CLOCK_GATING))
def test_all_tiles_write_their_columns_at_once_a_word_a_cycle(glb: Glb, images: "tuple[list[Word], ...]", first: int,
                                                              gating: str) -> None:
    async def drive(chain: Chain) -> None:
        for tile, image in enumerate(images):
            await chain.fill(tile, first, image)
            await chain.registers(tile, config_control=ENABLE, config_start=8 * first, config_words=len(image))
        begin = chain.cycle
        await chain.command("configure")
        took = await chain.finish()
        assert took == max(len(image) + glb.read_latency if image else 0 for image in images)
        assert chain.columns() == expected(images)
        assert not chain.astray
        for tile, image in enumerate(images):
            cycles = [cycle - begin for cycle, where, _ in sorted(chain.seen) if where == tile]
            assert cycles == [*range(1 + glb.read_latency, 1 + glb.read_latency + len(image))]

    Chain(replace(glb, clock_gating=gating), drive)


@settings(max_examples=12, deadline=None)
@given(glb=st.sampled_from(GLBS), image=words(5), own=words(1), gating=st.sampled_from(CLOCK_GATING))
def test_a_tile_configures_the_columns_of_those_that_are_chained_to_it_a_cycle_later_each(
        glb: Glb, image: "list[Word]", own: "list[Word]", gating: str) -> None:
    """And what a chained tile has of its own stays where it is."""
    async def drive(chain: Chain) -> None:
        await chain.fill(0, 0, image)
        await chain.fill(1, 0, own)
        await chain.registers(0, config_control=ENABLE, config_words=len(image))
        await chain.registers(1, config_control=ENABLE | CHAINED, config_words=len(own))
        await chain.registers(2, config_control=CHAINED)
        begin = chain.cycle
        await chain.command("configure")
        await chain.finish()
        assert chain.columns() == expected([image]) and not chain.astray
        for number, (column, address, data) in enumerate(image):
            tile = column // 2
            assert chain.seen[begin + 1 + glb.read_latency + number + tile, tile, column % 2] == (address, data)

    Chain(replace(glb, clock_gating=gating), drive)


@settings(max_examples=12, deadline=None)
@given(glb=st.sampled_from(PACKS), image=words(5), plain=words(1), gating=st.sampled_from(CLOCK_GATING), data=st.data())
def test_packed_words_are_written_as_the_others_are_by_tiles_whose_register_says_so(
        glb: Glb, image: "list[Word]", plain: "list[Word]", gating: str, data: st.DataObject) -> None:
    """Those of chained tiles, too; a load may take the bank meanwhile, and then come words that are not packed."""
    raw = packed(np.array([column << 56 | address << 32 | word for column, address, word in image], "<u8")).tolist()
    loads = data.draw(st.booleans())

    async def drive(chain: Chain) -> None:
        await chain.fill(0, 3, [(line >> 56, line >> 32 & 0xFF_FFFF, line & 0xFFFF_FFFF) for line in raw])
        await chain.registers(0, config_control=ENABLE | PACKED, config_start=24, config_words=len(raw),
                              load_control=int(loads), load_extent0=15, load_stride0=8)
        await chain.registers(1, config_control=CHAINED)
        await chain.registers(2, config_control=CHAINED)
        chain.sim.set(chain.tiles[0].g2f0.ready, 1)
        chain.sim.set(chain.tiles[0].start, 1)
        await chain.command("configure")
        chain.sim.set(chain.tiles[0].start, 0)
        took = await chain.finish()
        assert chain.columns() == expected([image]) and not chain.astray
        assert took <= 8 * len(raw) + 16 * loads + 12
        chain.seen.clear()
        await chain.fill(0, 0, plain)
        await chain.registers(0, config_control=ENABLE, config_start=0, config_words=len(plain), load_control=0)
        await chain.command("configure")
        await chain.finish()
        assert chain.columns() == expected([plain])

    Chain(replace(glb, clock_gating=gating), drive)


@pytest.mark.parametrize("gating", CLOCK_GATING)
def test_a_tile_behind_a_wall_takes_its_own_words_and_none_from_the_west(gating: str) -> None:
    async def drive(chain: Chain) -> None:
        for tile in range(2):
            await chain.fill(tile, 0, [(column, 1, tile) for column in range(4)])
            await chain.registers(tile, config_control=ENABLE | (CHAINED if tile else 0), config_start=0, config_words=4)
        await chain.command("configure")
        await chain.finish()
        assert chain.columns() == {0: [(1, 0)], 1: [(1, 0)], 2: [(1, 1)], 3: [(1, 1)]}
        assert sorted(chain.astray) == [0, 0, 1, 1]

    Chain(replace(GLB, clock_gating=gating), drive, walled=1)


@pytest.mark.parametrize("gating", CLOCK_GATING)
@pytest.mark.parametrize("chained,dropped,reached", [((), 0, 2), ((1,), 1, 4)])
def test_a_word_for_a_column_that_is_not_chained_is_dropped_and_reported(chained: "tuple[int, ...]", dropped: int, reached: int,
                                                                         gating: str) -> None:
    async def drive(chain: Chain) -> None:
        await chain.fill(0, 0, [(column, column, 7) for column in range(6)])
        await chain.registers(0, config_control=ENABLE, config_words=6)
        for tile in chained:
            await chain.registers(tile, config_control=CHAINED)
        await chain.command("configure")
        await chain.finish()
        assert chain.columns() == {column: [(column, 7)] for column in range(reached)}
        assert chain.astray == [dropped] * (6 - reached)

    Chain(replace(GLB, clock_gating=gating), drive)


def test_a_stop_ends_it_and_the_next_start_begins_at_the_first_word() -> None:
    image = [(0, number, number) for number in range(20)]

    async def drive(chain: Chain) -> None:
        await chain.fill(0, 0, image)
        await chain.registers(0, config_control=ENABLE, config_words=20)
        await chain.command("configure")
        for _ in range(5):
            await chain.tick()
        await chain.command("config_stop")
        assert await chain.finish() == 0
        some = chain.columns()[0]
        assert some == expected([image])[0][:len(some)] and 0 < len(some) < 20
        chain.seen.clear()
        await chain.command("configure")
        await chain.finish()
        assert chain.columns() == expected([image])

    Chain(GLB, drive)


def test_a_tile_that_is_not_enabled_gives_nothing() -> None:
    async def drive(chain: Chain) -> None:
        await chain.fill(0, 0, [(0, 1, 2)])
        await chain.registers(0, config_control=0, config_words=1)
        await chain.command("configure")
        assert await chain.finish() == 0
        assert not chain.seen

    Chain(GLB, drive)


@settings(max_examples=10, deadline=None)
@given(glb=st.sampled_from(GLBS), image=words(1), first=st.integers(0, LINES // 2 - 20), extent=st.integers(1, 60))
def test_a_load_in_the_same_bank_comes_first_and_no_word_is_lost(glb: Glb, image: "list[Word]", first: int,
                                                                extent: int) -> None:
    """A load that jumps from line to line takes its bank in every cycle."""
    async def drive(chain: Chain) -> None:
        tile = chain.tiles[0]
        await chain.fill(0, first, image)
        await chain.registers(0, config_control=ENABLE, config_start=8 * first, config_words=len(image), load_control=1,
                              load_extent0=extent - 1, load_stride0=8)
        chain.sim.set(tile.g2f0.ready, 1)
        chain.sim.set(tile.start, 1)
        await chain.command("configure")
        chain.sim.set(tile.start, 0)
        took = 0
        while chain.sim.get(tile.busy) or chain.sim.get(tile.config_busy):
            await chain.tick()
            took += 1
        assert chain.columns() == expected([image])
        assert took <= extent + len(image) + glb.read_latency

    Chain(glb, drive)


@pytest.mark.parametrize("glb", GLBS, ids=lambda glb: f"latency {glb.read_latency}")
def test_a_request_of_the_host_reaches_its_column_while_no_word_is_on_its_way(glb: Glb) -> None:
    asked = 0xAB_CDEF, 0x1234_5678

    async def drive(chain: Chain) -> None:
        await chain.fill(0, 0, [(0, 1, 2)])
        await chain.registers(0, config_control=ENABLE, config_words=1)
        request = chain.tiles[0].request1
        for name, value in zip(("addr", "wdata", "write"), (*asked, 1), strict=True):
            chain.sim.set(getattr(request, name), value)
        for _ in range(2):
            chain.sim.set(request.valid, 1)
            await chain.tick()
            chain.sim.set(request.valid, 0)
            await chain.command("configure")
            await chain.finish()
        assert chain.columns() == {0: [(1, 2)] * 2, 1: [asked] * 2}

    Chain(glb, drive)
