import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator, SimulatorContext
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.channel import ConfigChannel, segments


@given(tiles=st.integers(1, 40), rows=st.integers(1, 40))
def test_segments_have_every_tile_once(tiles: int, rows: int) -> None:
    parts = segments(tiles, rows)
    assert [tile for part in parts for tile in part] == list(range(tiles))
    sizes = [len(part) - (0 in part) for part in parts]     # without the IO tile
    assert {*sizes[:-1]} <= {rows} and sizes[-1] <= rows


@pytest.mark.parametrize("tiles,rows", [(1, 1), (1, 8), (5, 2), (17, 8)])
def test_a_segment_is_one_cycle_away_for_requests_and_one_for_answers(tiles: int, rows: int) -> None:
    m = Module()
    m.submodules.channel = channel = ConfigChannel(tiles, rows)
    parts = segments(tiles, rows)
    # Each tile answers in the cycle of the request, if the address is its own.
    for number, part in enumerate(parts):
        segment = getattr(channel, f"segment{number}")
        for tile in part:
            answer = getattr(channel, f"tile{tile}")
            with m.If(segment.valid & ~segment.write & (segment.addr == tile)):
                m.d.comb += [answer.rvalid.eq(1), answer.rdata.eq(segment.wdata + tile)]
    simulator = Simulator(m)
    simulator.add_clock(1e-9)

    async def bench(sim: SimulatorContext) -> None:
        top = channel.config
        for write in (0, 1):
            sim.set(top.write, write)
            for number, part in enumerate(parts):
                for tile in part:
                    for signal, value in ((top.valid, 1), (top.addr, tile), (top.wdata, 1000)):
                        sim.set(signal, value)
                    await sim.tick()
                    sim.set(top.valid, 0)
                    seen = []
                    for cycle in range(1, 2 * len(parts) + 3):
                        arrives = getattr(channel, f"segment{number}")
                        _, _, there, valid, word = await sim.tick().sample(arrives.valid, top.rvalid, top.rdata)
                        assert there == (cycle == number + 1)
                        assert valid or not word
                        if valid:
                            seen.append((cycle, word))
                    assert seen == ([] if write else [(2 * (number + 1), 1000 + tile)])

    simulator.add_testbench(bench)
    simulator.run()
