"""What primitives ask of tokens."""

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from sardonyx.hw.sparse.interface import is_next


@pytest.mark.parametrize("bits", [1, 4, 8])
def test_the_next_level_is_the_one_above_and_none_after_the_last(bits: int) -> None:
    low, high, found = Signal(bits), Signal(bits), Signal()
    m = Module()
    m.d.comb += found.eq(is_next(low, high))

    async def stimulus(ctx):  # type: ignore[no-untyped-def]
        for one in range(1 << bits):
            ctx.set(low, one)
            for other in {0, 1, one, (one + 1) % (1 << bits), one ^ 1, (1 << bits) - 1, 3 * one % (1 << bits)}:
                ctx.set(high, other)
                assert ctx.get(found) == (other == one + 1), (one, other)

    simulator = Simulator(m)
    simulator.add_testbench(stimulus)
    simulator.run()
