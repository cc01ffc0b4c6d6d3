"""The power domain of a tile: what its neighbours, its column and the host see of it, and when."""

from dataclasses import replace

from amaranth.sim import Simulator, SimulatorContext
from machines import LEAST

from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.config import STATUS_REGISTER
from sardonyx.hw.interconnect.stage import ODD
from sardonyx.hw.tile.tile import Tile

ARCH = replace(LEAST, power_domains=True)
Y = 1


def passing(arch: Arch, on: int) -> "list[int]":
    """A PE that passes tokens from north to east, on or off."""
    fanin = arch.interconnect.fanin(arch.pe, "data")
    return arch.config_map("pe").encode({
        "power": {"on": on}, "core": {"mode": "pass_through"}, "cb_data": {"data0_sel": fanin["data0"].index("n_in0") + 1},
        "sb_data": {"e0_sel": fanin["e0"].index("res0") + 1}})


def test_a_tile_counts_from_the_flush_behind_its_switching_on_until_it_is_switched_off() -> None:
    tile = Tile(ARCH, ARCH.pe, ODD)
    trace = []

    async def ask(sim: SimulatorContext, register: int, data: "int | None") -> int:
        for name, value in (("valid", 1), ("write", data is not None), ("addr", Y << 16 | register),
                            ("wdata", data or 0)):
            sim.set(getattr(tile.config, name), value)
        _, _, answered, answer = await sim.tick().sample(tile.config.rvalid, tile.config.rdata)
        sim.set(tile.config.valid, 0)
        assert answered == (data is None)
        return int(answer)

    async def configure(sim: SimulatorContext, on: int) -> None:
        for register, word in enumerate(passing(ARCH, on)):
            await ask(sim, register, word)

    async def step(sim: SimulatorContext, count: int = 1) -> None:
        for _ in range(count):
            _, _, *seen = await sim.tick().sample(tile.n_awake_o, tile.active, tile.e_data_o_valid)
            trace.append(tuple(map(int, seen)))

    async def drive(sim: SimulatorContext) -> None:
        sim.set(tile.tile_y, Y)
        for side in "nesw":
            sim.set(getattr(tile, f"{side}_awake_i"), 1)
        sim.set(tile.n_data_i_valid, 1)
        for on in (0, 1):
            await configure(sim, on)
            await step(sim, 10)
            assert not any(map(any, trace)), "off, or not flushed: it is in reset, and says nothing"
        assert await ask(sim, STATUS_REGISTER, None) == 0
        assert await ask(sim, 0, None) == passing(ARCH, 1)[0], "configuration is always on"
        for flush in (1, 0):
            sim.set(tile.flush, flush)
            await step(sim, 1 if flush else 20)
        assert [awake for awake, _, _ in trace[20:]] == [0] + [1] * 20
        assert trace[-1] == (1, 0, 1), "tokens fill it up to its output, which nobody takes"
        assert await ask(sim, STATUS_REGISTER, None) & 1, "a token waits"
        sim.set(tile.e_data_o_ready, 1)
        await step(sim, 6)
        assert trace[-1] == (1, 1, 1)
        await configure(sim, 0)
        assert not sim.get(tile.n_awake_o) and not sim.get(tile.active)
        assert await ask(sim, STATUS_REGISTER, None) == 0
        trace.clear()
        await configure(sim, 1)
        await step(sim, 10)
        assert not any(map(any, trace)), "on again, but what it held before is no state to go on from"

    simulator = Simulator(tile)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()


def test_a_neighbour_that_is_not_awake_gives_and_takes_nothing() -> None:
    tile = Tile(ARCH, ARCH.pe, ODD)
    fanin = ARCH.interconnect.fanin(ARCH.pe, "data")
    through = ARCH.config_map("pe").encode({"power": {"on": 1}, "sb_data": {"e0_sel": fanin["e0"].index("w_in0") + 1}})
    moved = {}

    async def drive(sim: SimulatorContext) -> None:
        sim.set(tile.tile_y, Y)
        for register, word in enumerate(through):
            for name, value in (("valid", 1), ("write", 1), ("addr", Y << 16 | register), ("wdata", word)):
                sim.set(getattr(tile.config, name), value)
            await sim.tick()
        sim.set(tile.config.valid, 0)
        sim.set(tile.w_data_i_valid, 1)
        sim.set(tile.e_data_o_ready, 1)
        for west, east in ((1, 1), (0, 1), (1, 0)):
            sim.set(tile.w_awake_i, west)
            sim.set(tile.e_awake_i, east)
            sim.set(tile.flush, 1)
            await sim.tick()
            sim.set(tile.flush, 0)
            given = 0
            for _ in range(10):
                _, _, ready, valid = await sim.tick().sample(tile.w_data_i_ready, tile.e_data_o_valid)
                given += ready & valid
            moved[west, east] = given
        assert not sim.get(tile.w_data_i_ready), "a stream into a tile that is off waits, and the watchdog sees it"

    simulator = Simulator(tile)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()
    assert moved == {(1, 1): 9, (0, 1): 0, (1, 0): 0}
