"""The SRAM against a list of words."""

import random

import pytest
from amaranth.sim import Simulator

from sardonyx.hw.emit import collect
from sardonyx.hw.memory.sram import Sram


@pytest.mark.parametrize("lines,lanes,lane_bits", [(512, 4, 16), (8, 8, 8), (2, 1, 5)])
def test_reads_give_what_masked_writes_left(lines: int, lanes: int, lane_bits: int) -> None:
    sram = Sram(lines, lanes, lane_bits)
    words = [[0] * lanes for _ in range(lines)]
    rng = random.Random(lines)

    async def stimulus(ctx):  # type: ignore[no-untyped-def]
        for _ in range(300):
            address, mask = rng.randrange(min(lines, 9)), rng.choice((0, rng.randrange(1 << lanes)))
            values = [rng.randrange(1 << lane_bits) for _ in range(lanes)]
            enable = rng.randrange(4) > 0
            ctx.set(sram.enable, enable)
            ctx.set(sram.address, address)
            ctx.set(sram.write, mask)
            ctx.set(sram.data, sum(value << lane_bits * lane for lane, value in enumerate(values)))
            await ctx.tick()
            if enable and not mask:
                expected = sum(value << lane_bits * lane for lane, value in enumerate(words[address]))
                assert ctx.get(sram.word) == expected
            for lane in range(lanes):
                if enable and mask >> lane & 1:
                    words[address][lane] = values[lane]

    simulator = Simulator(sram)
    simulator.add_clock(1e-9)
    simulator.add_testbench(stimulus)
    simulator.run()


def test_memories_of_one_size_with_other_lanes_have_names_of_their_own() -> None:
    assert not set(collect(Sram(512, 4)).modules) & set(collect(Sram(512, 8, 8)).modules)
