"""SIPO: collects the words of a write port into lines of the SRAM."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.token import DATA_BITS


class Sipo(wiring.Component):
    """Serial in, parallel out: one masked access for the words of a line.

    Behaviour: words of one line are collected. The line asks for the port of the SRAM as soon as nothing can join it any
    more: all its lanes are there, the next word goes to another line, or comes too late. It must have the port when the
    collecting registers are needed for a word of another line, and at the latest `lanes` cycles after its first word; else
    words are lost.

    Parameters
    ----------
    lines, lanes : int     Of the SRAM; powers of two.
    cycle_bits : int       Width of the controller's countdown.
    depth : int            1: the last word of a line goes to the SRAM past the registers, so that also a stream of a word
                           per cycle leaves two cycles to choose from; 2: a complete line waits in registers of its own,
                           while the next one is collected.

    Members
    -------
    fire, more, countdown, address : In   Of the port's controller.
    word : In                        The word of this cycle, if `fire`.
    request : Out(1)                 A line wants to be written.
    slack : Out                      Cycles until it must be; 0: now. Holds with `request`.
    line, mask, words : Out          What to write: line of the SRAM, lanes, words.
    grant : In(1)                    It is written in this cycle.
    lost : Out(1)                    It must be and is not.

    Timing: a word of cycle c is written in one of the cycles c to c + `lanes`; combinational from the controller and `word`
    to all outputs.
    Source: Amber JSSC V-A (Fig. 8), Onyx JSSC V-B (depth). The bound on the time in the SIPO is ours: it makes the time from
    writing to reading the same for every schedule.
    """

    def __init__(self, lines: int, lanes: int, cycle_bits: int, depth: int) -> None:
        self.lines, self.lanes, self.cycle_bits, self.depth = lines, lanes, cycle_bits, depth
        address = range(lines * lanes)
        super().__init__({"fire": In(1), "more": In(1), "countdown": In(self.cycle_bits), "address": In(address),
                          "word": In(DATA_BITS), "request": Out(1), "slack": Out(range(lanes + 1)),
                          "line": Out(range(lines)), "mask": Out(lanes), "words": Out(lanes * DATA_BITS), "grant": In(1),
                          "lost": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lane_bits = (self.lanes - 1).bit_length()
        lane, line = self.address[:lane_bits], self.address[lane_bits:]
        layout = data.StructLayout({"line": range(self.lines), "words": data.ArrayLayout(DATA_BITS, self.lanes),
                                    "age": range(self.lanes + 1)})
        held = Signal(layout, reset_less=True)
        held_mask = Signal(self.lanes)      # the lanes of `held` that count
        now = Signal(layout)                # with the word of this cycle
        mask = Signal(self.lanes)
        fresh = Signal()
        same = Signal()          # the word of this cycle, or the next one, belongs to the line that is held
        leaves = Signal()
        chosen = Signal(self.lanes)
        m.d.comb += [fresh.eq(held_mask == 0), same.eq(line == held.line), leaves.eq(self.fire & ~fresh & ~same),
                     chosen.eq(self.fire << lane),
                     mask.eq(held_mask | Mux(leaves, 0, chosen)), now.line.eq(Mux(fresh, line, held.line)),
                     now.age.eq(Mux(fresh, 0, held.age))]
        m.d.comb += [now.words[n].eq(Mux(chosen[n] & ~leaves, self.word, held.words[n])) for n in range(self.lanes)]

        left = Signal(range(self.lanes + 1))    # cycles that the first word may still stay here
        soon = Signal()                         # the next word comes before that
        complete = Signal()
        m.d.comb += [
            left.eq(self.lanes - now.age), soon.eq(~self.fire & self.more & (self.countdown < left)),
            complete.eq((mask != 0) & (leaves | mask.all() | (left <= 1) | ~(self.fire | soon & same))),
        ]
        if self.depth == 1:
            # In the cycle of a word it is not known where the next one goes: it may want the registers in the next cycle.
            after = Mux(self.fire, left != 0, Mux(soon & ~same, self.countdown, left))
            gone = self._ask(m, now, mask, complete, Mux(leaves, 0, after))
        else:
            gone = self._queue(m, now, mask, complete, leaves, left)
        m.d.sync += [held.eq(now), held_mask.eq(mask), held.age.eq(now.age + 1)]
        with m.If(leaves):
            m.d.sync += [held_mask.eq(chosen), held.line.eq(line), held.age.eq(1)]
            m.d.sync += [held.words[n].eq(self.word) for n in range(self.lanes)]
        with m.Elif(gone):
            m.d.sync += held_mask.eq(0)
        return m

    def _ask(self, m: Module, line: data.View, mask: Value, request: Value, slack: Value) -> Value:
        """Ask for the port for a line; whether the line leaves."""
        m.d.comb += [self.request.eq(request), self.slack.eq(slack), self.line.eq(line.line), self.mask.eq(mask),
                     self.words.eq(line.words), self.lost.eq(self.request & (self.slack == 0) & ~self.grant)]
        return self.grant | self.lost

    def _queue(self, m: Module, now: data.View, mask: Value, complete: Value, leaves: Value, left: Value) -> Value:
        """Ask for the port for the line that waits, if one does, else for the one that is complete; whether that leaves."""
        waiting = Signal(now.shape(), reset_less=True)
        waiting_mask = Signal(self.lanes)
        waits = Signal()
        moves = Signal()
        m.d.comb += [waits.eq(waiting_mask != 0), moves.eq(complete & (waits == self.grant))]
        oldest = now.shape()(Mux(waits, waiting.as_value(), now.as_value()))
        gone = self._ask(m, oldest, Mux(waits, waiting_mask, mask), waits | complete,
                         Mux(waits, Mux(leaves, 0, self.lanes - waiting.age), left))
        m.d.sync += waiting.age.eq(waiting.age + 1)
        with m.If(moves):
            m.d.sync += [waiting.eq(now), waiting_mask.eq(mask), waiting.age.eq(now.age + 1)]
        with m.Elif(gone):
            m.d.sync += waiting_mask.eq(0)
        return moves | gone & ~waits
