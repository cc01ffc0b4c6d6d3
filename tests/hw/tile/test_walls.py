"""What a tile reports of words that it leads at a wall."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from amaranth.sim import Simulator, SimulatorContext
from machines import LEAST

from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.config import STATUS_REGISTER, STATUS_WALLED
from sardonyx.hw.arch.interconnect import FIFOS, Interconnect
from sardonyx.hw.arch.tile import LAYERS
from sardonyx.hw.interconnect.stage import EVEN, ODD
from sardonyx.hw.tile.tile import Tile

Y, TRACKS = 1, 2


def leading(arch: Arch, layer: str, side: str, track: int) -> tuple[list[int], int]:
    """A PE that leads a track from the north to a track of a side; the configuration, and the former track."""
    sink = f"{side}{track}"
    source = next(name for name in arch.interconnect.fanin(arch.pe, layer)[sink] if name.startswith("n_in"))
    config = {f"sb_{layer}": {f"{sink}_sel": arch.interconnect.select(arch.pe, sink, source, layer)}}
    return arch.config_map("pe").encode(config), int(source.removeprefix("n_in"))


class Bench:
    """A tile in a simulator, which begins anew with each case: to make it takes most of the time."""

    def __init__(self, arch: Arch, parity: int) -> None:
        self.arch, self.tile = arch, Tile(arch, arch.pe, parity)
        self.elastic = arch.interconnect.fifo != "none"
        self._simulator = Simulator(self.tile)
        self._simulator.add_clock(1e-9)
        self._simulator.add_testbench(self._drive)
        self._trace: list[int] = []

    def reported(self, led: tuple[str, str, int], opened: dict[str, int], valid: int) -> list[int]:
        """`walled`, cycle by cycle, from the first one in which the word that the tile leads there is offered."""
        self._led, self._opened, self._valid = led, opened, valid
        if self._trace:
            self._simulator.reset()
        self._trace = []
        self._simulator.run()
        return self._trace

    async def _ask(self, sim: SimulatorContext, register: int, word: int | None) -> int:
        config = self.tile.config
        for name, value in (("valid", 1), ("write", word is not None), ("addr", Y << 16 | register), ("wdata", word or 0)):
            sim.set(getattr(config, name), value)
        _, _, answer = await sim.tick().sample(config.rdata)
        sim.set(config.valid, 0)
        return int(answer)

    async def _drive(self, sim: SimulatorContext) -> None:
        tile, trace = self.tile, self._trace
        words, source = leading(self.arch, *self._led)
        offered = getattr(tile, f"n_{self._led[0]}_i_valid") if self.elastic else None
        sim.set(tile.tile_y, Y)
        for side, value in self._opened.items():
            sim.set(getattr(tile, f"{side}_open"), value)
        # What neighbours say does not count where there is a wall.
        for side, layer in product("ew", LAYERS if self.elastic else ()):
            sim.set(getattr(tile, f"{side}_{layer}_o_ready"), (1 << TRACKS) - 1)
            sim.set(getattr(tile, f"{side}_{layer}_i_valid"), (1 << TRACKS) - 1)
        for register, word in enumerate(words):
            await self._ask(sim, register, word)
        if offered is not None:
            sim.set(offered, self._valid << source)
        for _ in range(8):
            _, _, walled = await sim.tick().sample(tile.walled)
            trace.append(int(walled))
        assert await self._ask(sim, STATUS_REGISTER, None) >> STATUS_WALLED & 1 == trace[-1]
        if offered is not None:
            sim.set(offered, 0)
            sim.set(tile.flush, 1)
            await sim.tick().repeat(2)
            assert not sim.get(tile.walled), "a flush takes the word away"


@pytest.mark.parametrize("parity", [EVEN, ODD])
@pytest.mark.parametrize("fifo", [fifo for fifo in FIFOS if fifo != "inputs"])      # has no regions
def test_a_tile_says_that_it_leads_words_at_a_wall_and_nothing_of_others(fifo: str, parity: int) -> None:
    arch = replace(LEAST, regions=2, interconnect=Interconnect(TRACKS, fifo=fifo))
    bench = Bench(arch, parity)
    register = fifo == "full" or (fifo == "split" and parity == ODD)
    for layer, side, track in product(LAYERS, "esw", range(TRACKS)):
        for shut in ("", "e", "w", "ew"):
            opened = {each: int(each not in shut) for each in "ew"}
            found = bench.reported((layer, side, track), opened, 1)
            if side not in shut:
                assert not any(found), (layer, side, track, shut)
            elif fifo == "none":
                assert all(found[1:]), "the word is there since it was configured"
            else:
                assert found == [0] * (1 + register) + [1] * (7 - register), (layer, side, track, shut)
    if fifo != "none":
        assert not any(bench.reported(("data", "e", 0), {"e": 0, "w": 0}, 0)), "no word, no attempt"
