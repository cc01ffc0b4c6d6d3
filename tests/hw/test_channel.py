import random

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


@pytest.mark.parametrize("tiles,rows", [(1, 1), (5, 2), (17, 8)])
def test_no_request_is_at_a_tile_before_its_reset_has_ended(tiles: int, rows: int) -> None:
    """At random, and in the first cycle after each reset; what was asked before it comes to nothing."""
    channel, parts, draw = ConfigChannel(tiles, rows), segments(tiles, rows), random.Random(tiles)
    resets = [draw.random() < 0.1 for _ in range(400)] + [False] * 2 * len(parts)
    asks = [cycle < 400 and (draw.random() < 0.5 or resets[cycle - 1]) for cycle in range(len(resets))]
    simulator = Simulator(channel)
    simulator.add_clock(1e-9)

    async def bench(sim: SimulatorContext) -> None:
        for cycle, (reset, asked) in enumerate(zip(resets, asks)):
            sim.set(channel.reset, reset)
            sim.set(channel.config.valid, asked)
            sim.set(channel.config.addr, cycle)
            ends = [(getattr(channel, f"reset{n}"), getattr(channel, f"segment{n}")) for n in range(len(parts))]
            shown = [value for here, segment in ends for value in (here, segment.valid, segment.addr)]
            _, _, *values = await sim.tick().sample(*shown)
            for n in range(len(parts)):
                began = cycle - n - 1
                there, valid, address = values[3 * n:3 * n + 3]
                assert there == (began >= 0 and resets[began])
                assert not (there and valid)
                # Taken if no reset was at the top, nor met it on its way: it is behind the one and before the other.
                assert valid == (began >= 0 and asks[began] and not resets[began])
                assert not valid or address == began

    simulator.add_testbench(bench)
    simulator.run()


def test_an_answer_that_meets_a_reset_of_one_cycle_is_dropped() -> None:
    """Wherever they meet: the channel is as after power-up when the reset is through."""
    tiles, rows = 9, 2
    depth = len(segments(tiles, rows))
    for wait in range(2 * depth + 2):
        channel = ConfigChannel(tiles, rows)
        last = getattr(channel, f"tile{tiles - 1}")
        simulator = Simulator(channel)
        simulator.add_clock(1e-9)
        seen: list[int] = []

        async def bench(sim: SimulatorContext, channel=channel, last=last, wait=wait, seen=seen) -> None:
            for cycle in range(4 * depth + 4):
                # A tile that is reset answers nothing.
                alive = cycle >= depth and not sim.get(getattr(channel, f"reset{depth - 1}"))
                sim.set(last.rvalid, cycle == depth and alive)
                sim.set(last.rdata, 5 if cycle == depth and alive else 0)
                sim.set(channel.reset, cycle == wait)
                _, _, valid, word = await sim.tick().sample(channel.config.rvalid, channel.config.rdata)
                assert valid == bool(word)
                if valid:
                    seen.append(cycle)

        simulator.add_testbench(bench)
        simulator.run()
        # An answer that was at the top before the reset is there; none comes after it.
        assert seen == ([2 * depth] if wait >= 2 * depth else []), wait
