"""The set of lines in use against a set of Python, filled and emptied several times without a reset."""

from __future__ import annotations

import random

import pytest
from amaranth.sim import Simulator

from sardonyx.hw.memory.line_set import LineSet


@pytest.mark.parametrize("lines", [2, 4, 32, 256])
def test_numbers_that_were_put_come_out_once_and_in_order_and_a_set_that_was_emptied_has_none_of_them(lines: int) -> None:
    dut, generator = LineSet(lines), random.Random(lines)
    sim = Simulator(dut)
    sim.add_clock(1e-6)

    async def bench(ctx) -> None:  # type: ignore[no-untyped-def]
        for filled in (lines, 1, lines // 2, 0, 3, lines):
            there: set[int] = set()
            for _ in range(filled):
                line = generator.randrange(lines)
                ctx.set(dut.line, line)
                ctx.set(dut.put, 1)
                assert ctx.get(dut.has) == (line in there)
                there.add(line)
                await ctx.tick()
                ctx.set(dut.put, 0)
                if generator.random() < 0.3:
                    await ctx.tick()
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            found = []
            while ctx.get(dut.more):
                assert len(found) < len(there), "no number comes out twice"
                found.append(ctx.get(dut.first))
                waits = generator.random() < 0.3
                ctx.set(dut.next, not waits)
                await ctx.tick()
                if waits:
                    assert ctx.get(dut.first) == found.pop()
            ctx.set(dut.next, 0)
            assert found == sorted(there)

    sim.add_testbench(bench)
    sim.run()
