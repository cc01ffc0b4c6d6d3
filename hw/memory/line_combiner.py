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
    missing words as 0. A step that completes a line is `blocked` while the line before cannot leave or lines of earlier
    levels fill the half, and one that closes while a line of the level before waits. One that appends beyond the whole half
    is `over`: nothing helps it. Positions of lines count modulo twice the half: between two that are equal there is no
    line, between two that differ in their highest bit alone there are all.

    Parameters
    ----------
    lines, lanes : int     Size of the half, powers of two.
    early : bool           Lines may be read before the level closes.

    Members
    -------
    append, close : In(1)        This step: a word arrives; the level ends.
    word : In
    slot : In(1)                 Slot of the level being written.
    lead : In(1)                 Levels start with a 0 that is not appended.
    commit : In(1)               Take the step.
    blocked, over : Out(1)       Why the step may not be taken.
    late : Out(1)                A line of the level before waits to be written.
    line : Out(stream)           Lines to write.
    first : Out                  Position where the level being written starts.
    before, count : Out          Its words, without and with this step.
    tail : In                    Position of the oldest line that is not to be written over.
    ends, apart : In(1)          If early: no word of this level comes after this step, so its last line goes; if that is how
                                 all levels end here, closing them writes nothing.

    Timing: one step per cycle while a line is written within `lanes` - 1 cycles, or at once where the level closes a step
    after a full line; `blocked` and `over` are combinational from append and close, `blocked` from `line.ready`, too.
    Source: Onyx JSSC III-B (group writes through a cache line). Here a line waits apart from the one being
    filled, so that the writer does not stop for the arbiter.
    """

    def __init__(self, lines: int, lanes: int, early: bool = False) -> None:
        self.lines, self.lanes, self.early = lines, lanes, early
        read_early = {"ends": In(1), "apart": In(1)} if early else {}
        super().__init__({"append": In(1), "word": In(DATA_BITS), "close": In(1), "slot": In(1),
                          "lead": In(1), "commit": In(1), "blocked": Out(1), "over": Out(1),
                          "late": Out(1), "line": Out(stream.Signature(line_layout(lines, lanes))),
                          "first": Out(range(2 * lines)), "before": Out(range(lines * lanes + 1)),
                          "count": Out(range(lines * lanes + 1)), "tail": In(range(2 * lines))} | read_early)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The count of a level starts at `lead`, which is configuration and so no reset value.
        fresh = Signal(init=1)
        counted = Signal.like(self.count, reset_less=True)
        held = Array(Signal(DATA_BITS, name=f"held{lane}", reset_less=True) for lane in range(self.lanes - 1))
        lane = self.before[:(self.lanes - 1).bit_length()]
        line = Signal.like(self.line.payload, reset_less=True)
        push = Signal()
        fill = Signal.like(self.first)
        full = Signal()
        last = self.ends | (self.close & ~self.apart) if self.early else self.close

        m.d.comb += [
            self.line.payload.eq(line),
            self.before.eq(Mux(fresh, self.lead, counted)),
            self.count.eq(self.before + self.append),
            push.eq(Mux(self.append, (lane == self.lanes - 1) | last, last & (lane != 0))),
            self.late.eq(self.line.valid & (line.slot != self.slot)),
            full.eq(fill == (self.tail ^ self.lines)),
            self.blocked.eq((push & (full | (self.line.valid & ~self.line.ready))) | (self.close & self.late)),
            self.over.eq(self.append & (self.before == self.lines * self.lanes)),
        ]
        # The words of this line that are held; the others are 0, and so is the first of a level with a lead.
        knows = [lane > position for position in range(self.lanes)]
        knows[0] &= ~(self.lead & (self.before < self.lanes))
        with m.If(self.line.ready):
            m.d.sync += self.line.valid.eq(0)
        with m.If(self.commit):
            m.d.sync += [counted.eq(self.count), fresh.eq(self.close)]
            with m.If(push):
                words = Cat((self.word & (self.append & (lane == position)).replicate(DATA_BITS))
                            | (old & known.replicate(DATA_BITS))
                            for position, (old, known) in enumerate(zip([*held, Const(0, DATA_BITS)], knows, strict=True)))
                m.d.sync += [self.line.valid.eq(1), line.address.eq(fill[:-1]), line.slot.eq(self.slot),
                             line.words.eq(words), fill.eq(fill + 1)]
            with m.Elif(self.append):
                m.d.sync += held[lane].eq(self.word)
            with m.If(self.close):
                m.d.sync += self.first.eq(fill + push)
        return m
