"""What a level buffer offers is in the SRAM, and what it holds is not written over, whoever asks for what."""

import random

import pytest
from amaranth.sim import Simulator, SimulatorContext

from sardonyx.hw.memory.level_buffer import HALVES, LevelBuffer

LINES, LANES = 16, 4
HALF = LINES // HALVES


def lines(words: int) -> int:
    return -(-words // LANES)


@pytest.mark.parametrize("values", [0, 1])
@pytest.mark.parametrize("seed", range(8))
def test_levels_are_offered_once_written_and_kept_until_freed(values: int, seed: int) -> None:
    """Levels of few words each, closed one behind the other; both readers ask whenever they like, and free late."""
    some = random.Random(seed)
    buffer = LevelBuffer(LINES, LANES)
    levels = [[some.choice((0, 0, 1, 2, 4, 5, 9)) for _ in range(2)] for _ in range(60)]
    steps = []
    for number, level in enumerate(levels):
        # Values take turns between the halves.
        arrays = [(array, words) for array, words in enumerate(level) if not values or array == number % HALVES]
        appended = [(1, array) for array, words in arrays for _ in range(words)] or [(0, 0)]
        if some.random() < 0.5:
            appended.append((0, 0))     # closed by a step of its own
        steps += [(*step, at == len(appended) - 1) for at, step in enumerate(appended)]
        level[:] = [dict(arrays).get(array, 0) for array in range(HALVES)]
    busy = some.choice((0.1, 0.5, 0.9))
    written = [0] * HALVES
    offered = freed = 0

    async def bench(sim: SimulatorContext) -> None:
        nonlocal offered, freed
        at = 0
        sim.set(buffer.values, values)
        for _ in range(6000):
            frees = offered > freed and some.random() < 0.2
            if at < len(steps):
                append, array, close = steps[at]
                sim.set(buffer.i.payload, {"append": append, "array": array, "word": 0, "close": close})
            sim.set(buffer.i.valid, at < len(steps))
            sim.set(buffer.level.ready, some.random() < 0.7)
            sim.set(buffer.free, frees)
            sim.set(buffer.segments.request, some.random() < busy)
            sim.set(buffer.entries.request, some.random() < busy)
            taken, given, enable, write, address, over = (
                sim.get(buffer.i.valid) & sim.get(buffer.i.ready),
                sim.get(buffer.level.valid) & sim.get(buffer.level.ready), sim.get(buffer.sram.enable),
                sim.get(buffer.sram.write), sim.get(buffer.sram.address), sim.get(buffer.overflow))
            assert not over
            if given:
                offered += 1
                for half in range(HALVES):
                    assert written[half] >= sum(lines(level[half]) for level in levels[:offered]), (half, offered)
            if enable and write:
                half = address // HALF
                assert address % HALF == written[half] % HALF
                written[half] += 1
                assert written[half] - sum(lines(level[half]) for level in levels[:freed]) <= HALF
            await sim.tick()
            at += taken
            freed += frees
            if freed == len(levels):
                return

    simulator = Simulator(buffer)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert freed == len(levels)
    assert written == [sum(lines(level[half]) for level in levels) for half in range(HALVES)]
