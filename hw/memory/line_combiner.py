"""Line combiner: gathers the words appended to one half of the SRAM into lines, level after level."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.token import DATA_BITS


def line_layout(lines: int, lanes: int) -> data.StructLayout:
    """A line on its way into a half of that many lines, and the slot of its level."""
    return data.StructLayout({"address": (lines - 1).bit_length(), "slot": 1, "words": lanes * DATA_BITS})


class LineCombiner(wiring.Component):
    """Write side of a half: a line being filled, one waiting to be written, the circular space behind them.

    Behaviour: a level starts on a fresh line; a line goes to the SRAM when it is full or its level closes,
    missing words as 0. A step that completes a line is `blocked` while the line before still waits or while
    lines of earlier levels fill the half; one that appends beyond the whole half is `over`: nothing helps it.

    Parameters
    ----------
    lines, lanes : int     Size of the half, powers of two.

    Members
    -------
    append, close : In(1)        This step: a word arrives; the level ends.
    word : In
    slot : In(1)                 Slot of the level being written.
    lead : In(1)                 Levels start with a 0 that is not appended.
    commit : In(1)               Take the step.
    blocked, over : Out(1)       Why the step may not be taken.
    line : Out(stream)           Lines to write.
    first, count : Out           First line of the level being written, and its words, this step included.
    release : In                 Lines that leave the half: those of the oldest level.

    Timing: one step per cycle while a line is written within `lanes` - 1 cycles; `blocked` and `over` are
    combinational from append and close.
    Source: Onyx JSSC III-B (group writes through a cache line). Here a line waits apart from the one being
    filled, so that the writer does not stop for the arbiter.
    """

    def __init__(self, lines: int, lanes: int) -> None:
        self.lines, self.lanes = lines, lanes
        super().__init__({"append": In(1), "word": In(DATA_BITS), "close": In(1), "slot": In(1),
                          "lead": In(1), "commit": In(1), "blocked": Out(1), "over": Out(1),
                          "line": Out(stream.Signature(line_layout(lines, lanes))),
                          "first": Out(range(lines)), "count": Out(range(lines * lanes + 1)),
                          "release": In(range(lines + 1))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The count of a level starts at `lead`, which is configuration and so no reset value.
        fresh = Signal(init=1)
        counted = Signal.like(self.count, reset_less=True)
        before = Signal.like(self.count)
        held = Array(Signal(DATA_BITS, name=f"held{lane}", reset_less=True) for lane in range(self.lanes - 1))
        lane = before[:(self.lanes - 1).bit_length()]
        line = Signal.like(self.line.payload, reset_less=True)
        push = Signal()
        fill = Signal(range(self.lines))
        used = Signal(range(self.lines + 1))

        m.d.comb += [
            self.line.payload.eq(line),
            before.eq(Mux(fresh, self.lead, counted)),
            self.count.eq(before + self.append),
            push.eq(Mux(self.append, (lane == self.lanes - 1) | self.close, self.close & (lane != 0))),
            self.blocked.eq(push & (self.line.valid | (used == self.lines))),
            self.over.eq(self.append & (before == self.lines * self.lanes)),
        ]
        # The words of this line that are held; the others are 0, and so is the first of a level with a lead.
        knows = [lane > position for position in range(self.lanes)]
        knows[0] &= ~(self.lead & (before < self.lanes))
        with m.If(self.line.ready):
            m.d.sync += self.line.valid.eq(0)
        with m.If(self.commit):
            m.d.sync += [counted.eq(self.count), fresh.eq(self.close)]
            with m.If(push):
                words = Cat((self.word & (self.append & (lane == position)).replicate(DATA_BITS))
                            | (old & known.replicate(DATA_BITS))
                            for position, (old, known) in enumerate(zip([*held, Const(0, DATA_BITS)], knows, strict=True)))
                m.d.sync += [self.line.valid.eq(1), line.address.eq(fill), line.slot.eq(self.slot),
                             line.words.eq(words), fill.eq(fill + 1)]
            with m.Elif(self.append):
                m.d.sync += held[lane].eq(self.word)
            with m.If(self.close):
                m.d.sync += self.first.eq(fill + push)
        m.d.sync += used.eq(used + (push & self.commit) - self.release)
        return m
