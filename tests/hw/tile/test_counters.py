"""Performance counters against what the model says of whole launches, with pauses, flushes and counters that fill."""

import numpy as np
import pytest
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.hw.arch.counters import COUNTER_MAP, EVENTS, Counts
from sardonyx.hw.tile.counters import TileCounters
from sardonyx.sim.model.counters import added, counted

PORTS = 3
# Of a launch, cycle by cycle: ports at which a token moves, and whether an output waits; and how long the tile stands still.
cycles = st.lists(st.tuples(st.sampled_from([0, 0, 0, 1, 2, 5, 7]), st.booleans(), st.sampled_from([0, 0, 0, 1, 3])),
                  max_size=20)


def simulated(launches, bits, clear_before=0):
    """The counts after each launch; all are cleared before the launch with a number."""
    dut, found = TileCounters(PORTS, bits), []

    async def bench(ctx):
        for number, launch in enumerate(launches):
            ctx.set(dut.clear, number == clear_before)
            ctx.set(dut.flush, 1)
            await ctx.tick()
            ctx.set(dut.clear, 0)
            ctx.set(dut.flush, 0)
            for moved, waits, pause in launch:
                ctx.set(dut.moved, moved)
                ctx.set(dut.waits, waits)
                ctx.set(dut.pause, 1)
                for _ in range(pause):
                    await ctx.tick()
                ctx.set(dut.pause, 0)
                await ctx.tick()
            ctx.set(dut.moved, 0)
            ctx.set(dut.waits, number % 2)
            await ctx.tick().repeat(3)
            found.append(Counts(*(ctx.get(getattr(dut, event)) for event in EVENTS)))

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return found


def modelled(launch):
    moved = np.array([[moved >> port & 1 for port in range(PORTS)] for moved, _, _ in launch], bool).reshape(-1, PORTS)
    return counted(moved, np.array([waits for _, waits, _ in launch], bool))


@settings(max_examples=25)
@given(st.lists(cycles, min_size=1, max_size=4), st.sampled_from([2, 3, 5, 32]), st.integers(0, 3))
def test_counts_are_those_of_the_launches_since_they_were_cleared(launches, bits, cleared):
    counts = [modelled(launch) for launch in launches]
    assert simulated(launches, bits, cleared) == [
        added(counts[cleared if number >= cleared else 0:number + 1], bits) for number in range(len(launches))]


def test_waiting_counts_between_the_first_and_the_last_token_only():
    launch = [(0, True, 0), (0, False, 0), (1, False, 0), (0, True, 2), (0, False, 0), (0, False, 1), (6, True, 0),
              (0, True, 9)]
    assert simulated([launch], 8) == [Counts(tokens=3, busy=2, starved=2, blocked=1)]


def test_counts_have_a_register_each():
    assert COUNTER_MAP.words == len(EVENTS)
    assert COUNTER_MAP.decode([7, 5, 3, 1])["counters"] == {"tokens": 7, "busy": 5, "starved": 3, "blocked": 1}


@pytest.mark.parametrize("ports,bits", [(0, 8), (3, 0), (3, 33)])
def test_sizes_of_counters_are_checked(ports, bits):
    with pytest.raises(ValueError, match=r"counters have 1\.\.32 bits"):
        TileCounters(ports, bits)
