"""PISO: fetches lines of the SRAM ahead of time and gives their words."""

from __future__ import annotations

from itertools import pairwise

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.token import DATA_BITS


class Piso(wiring.Component):
    """Parallel in, serial out: one access for successive words of a line.

    Behaviour: a read enters a pipeline. If its line is not the one that was fetched last, it asks for the port of the SRAM
    until it has it, for `lanes` cycles at most; then the read is lost. Two lines are held: the one whose words leave, and the
    next. A line may not be fetched before the line before it leaves the pipeline's first `lanes` stages, since there would be
    no place for it. A line that is written after it was fetched is fetched again by the next read.

    Parameters
    ----------
    lines, lanes : int     Of the SRAM; powers of two.

    Members
    -------
    fire, address : In          Read a word.
    request : Out(1)            A line is wanted.
    slack : Out                 Cycles until it must be granted; 0: now. Holds with `request`.
    line : Out
    grant : In(1)               It is read in this cycle: `words` in the next.
    words : In
    written : In(1)             Another port wrote the line `written_line` in the cycle before.
    written_line : In
    word : Out                  The word read `lanes` + 2 cycles ago; undefined if there was no read then.
    lost : Out(1)               A line must be granted and is not.

    Timing: one read per cycle; a read of cycle c accesses the SRAM in one of the cycles c + 1 to c + `lanes` and gives its
    word in cycle c + `lanes` + 2. With lines that change every n-th read there are min(n, `lanes`) cycles to choose from.
    Source: Amber JSSC V-A (Fig. 8).
    """

    def __init__(self, lines: int, lanes: int) -> None:
        self.lines, self.lanes = lines, lanes
        super().__init__({"fire": In(1), "address": In(range(lines * lanes)), "request": Out(1), "slack": Out(range(lanes + 1)),
                          "line": Out(range(lines)), "grant": In(1), "words": In(lanes * DATA_BITS), "written": In(1),
                          "written_line": In(range(lines)), "word": Out(DATA_BITS), "lost": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lane_bits = (self.lanes - 1).bit_length()
        lane, line = self.address[:lane_bits], self.address[lane_bits:]
        depth = self.lanes + 2
        # Stage n holds the read of n + 1 cycles ago. `new`: of another line than the read before; `wants`: not granted yet.
        lanes = [Signal(lane_bits, name=f"lane{n}", reset_less=True) for n in range(depth)]
        new = Signal(depth - 1)
        lines = [Signal(range(self.lines), name=f"line{n}", reset_less=True) for n in range(self.lanes)]
        wants = Signal(self.lanes)

        last = Signal(range(self.lines), reset_less=True)
        usable = Signal()
        asks = Signal()
        asked = Signal(init=1)
        stale = Signal()
        # As long as requests are left, the last one is among them: its line will be read after the write.
        m.d.comb += [stale.eq(self.written & (self.written_line == last) & ~asked),
                     asks.eq(self.fire & ~(usable & ~stale & (line == last)))]
        m.d.sync += [lanes[0].eq(lane), *(later.eq(stage) for stage, later in pairwise(lanes)),
                     lines[0].eq(line), *(later.eq(stage) for stage, later in pairwise(lines)),
                     new.eq(Cat(asks, new[:-1]))]
        m.d.sync += [asked.eq(asks | wants.any()), usable.eq(asks | (usable & ~stale))]
        with m.If(asks):
            m.d.sync += last.eq(line)

        # Only the oldest of the stages that are not the last, as its line takes the place of the one before.
        chosen = Signal(self.lanes)
        for n in range(self.lanes):
            oldest = n == self.lanes - 1 or ~new[n + 1:self.lanes - 1].any() & ~wants[-1]
            m.d.comb += chosen[n].eq(wants[n] & oldest)
        m.d.comb += [self.request.eq(chosen.any()), self.lost.eq(wants[-1] & ~self.grant)]
        for n in range(self.lanes):
            with m.If(chosen[n]):
                m.d.comb += [self.line.eq(lines[n]), self.slack.eq(self.lanes - 1 - n)]
        m.d.sync += wants.eq(Cat(asks, (wants & ~Mux(self.grant, chosen, 0))[:-1]))

        places = Signal(data.ArrayLayout(self.lanes * DATA_BITS, 2), reset_less=True)
        arrives = Signal()
        fill = Signal()
        use = Signal(init=1)
        m.d.sync += arrives.eq(self.grant)
        with m.If(arrives):
            m.d.sync += [places[fill].eq(self.words), fill.eq(~fill)]
        with m.If(new[-1]):
            m.d.sync += use.eq(~use)
        m.d.comb += self.word.eq(places[use].word_select(lanes[-1], DATA_BITS))
        return m
