"""An SRAM that is read and written while its user stands still, against one that only the user has."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

from sardonyx.hw.emit import macro
from sardonyx.hw.memory.readable import ReadableSram
from sardonyx.hw.memory.sram import Sram, SramPort

LINES, LANES = 8, 2


class Both(wiring.Component):
    """The SRAM, and one that stands still with its user and has no other one."""

    def __init__(self) -> None:
        super().__init__({"user": wiring.In(SramPort(LINES, LANES)), "contents": wiring.In(SramPort(LINES, LANES)),
                          "stall": wiring.In(1), "alone": wiring.Out(16 * LANES)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.readable = readable = macro(ReadableSram(LINES, LANES))
        m.submodules.alone = alone = macro(Sram(LINES, LANES))
        for name in ("enable", "address", "write", "data"):
            m.d.comb += [getattr(getattr(readable, port), name).eq(getattr(getattr(self, port), name))
                         for port in ("user", "contents")]
            m.d.comb += getattr(alone, name).eq(getattr(self.user, name))
        m.d.comb += [alone.enable.eq(self.user.enable & ~self.stall), readable.stall.eq(self.stall),
                     self.alone.eq(alone.word), self.user.word.eq(readable.user.word),
                     self.contents.word.eq(readable.contents.word)]
        return m


@pytest.mark.parametrize("seed", range(3))
def test_a_user_that_stands_still_sees_what_it_read_and_configuration_what_stands_there(seed: int) -> None:
    draw, dut = random.Random(seed), Both()
    counts = {"looked": 0, "read": 0}

    async def scenario(ctx):  # type: ignore[no-untyped-def]
        lines: dict[int, int] = {}
        shown = False       # a word that the user has read, and not written since
        for _ in range(1500):
            stall = draw.random() < .5
            user, mask, line = draw.random() < .5, draw.choice((0, 0, 3)), draw.randrange(LINES)
            peek, at = stall and draw.random() < .5, draw.randrange(LINES)
            word = draw.getrandbits(32)
            for port, values in ((dut.user, (user, line, mask, word)), (dut.contents, (peek, at, 0, 0))):
                for name, value in zip(("enable", "address", "write", "data"), values, strict=True):
                    ctx.set(getattr(port, name), value)
            ctx.set(dut.stall, stall)
            await ctx.tick()
            if user and not stall:
                shown = not mask
                if mask:
                    lines[line] = word
            if shown:
                assert ctx.get(dut.user.word) == ctx.get(dut.alone)
                counts["looked"] += stall
            if peek:
                assert ctx.get(dut.contents.word) == lines.get(at, 0)
                counts["read"] += 1

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(scenario)
    simulator.run()
    assert min(counts.values()) > 100


def test_what_configuration_writes_is_there_when_the_user_goes_on_and_not_before() -> None:
    dut = Both()

    async def scenario(ctx):  # type: ignore[no-untyped-def]
        async def access(port: object, line: int, write: int = 0, word: int = 0) -> None:
            for name, value in (("enable", 1), ("address", line), ("write", write), ("data", word)):
                ctx.set(getattr(port, name), value)
            await ctx.tick()
            ctx.set(port.enable, 0)     # type: ignore[attr-defined]

        await access(dut.user, 5, 3, 55)
        await access(dut.user, 5)
        ctx.set(dut.stall, 1)
        for line, word in ((5, 66), (6, 77), (5, 88)):
            await access(dut.contents, line, 3, word)
        await access(dut.contents, 6)
        assert (ctx.get(dut.contents.word), ctx.get(dut.user.word)) == (77, 55)
        ctx.set(dut.stall, 0)
        await ctx.tick()
        assert ctx.get(dut.user.word) == 55, "until the user accesses it again"
        await access(dut.user, 5)
        assert ctx.get(dut.user.word) == 88

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(scenario)
    simulator.run()
