"""Deserialiser: gathers the 16-bit words that a store writes into lines of a bank."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arch.glb import LANES, LINE_BYTES


class Deserialiser(wiring.Component):
    """Writes words to memory, those of one line that follow each other at once.

    Behaviour: a line is written when it is complete, when a word of another line comes, and when none comes in a cycle. It
    waits for its bank apart from the one being filled. Words are written in the order in which they came.

        0x10 0x12 0x14 0x16 0x18      one write of line 2, one of line 3

    Parameters
    ----------
    address_bits : int     Of a byte in the GLB tile.

    Members
    -------
    write : In(1)          A word comes, if it is taken.
    address, data : In     Its byte address, even, and the word.
    taken : Out(1)         It is taken.
    holds : Out(1)         Words are on their way.
    request : Out(1)       A line is to be written; it is in a cycle with `grant`.
    line, lanes, words : Out     Its address in lines, which of its words, and the words.
    grant : In(1)

    Timing: one word a cycle, as long as lines are granted when they are requested; a line is requested in the second cycle
    after the last of its words, or later by the lines before it. All outputs but `taken` come from registers; that follows
    `write` and `grant`, not the address.
    Source: Onyx JSSC V-C (a deserialiser in front of 64-bit banks); what is gathered, and when it goes, is ours.
    """

    def __init__(self, address_bits: int) -> None:
        self.address_bits = address_bits
        super().__init__({"write": In(1), "address": In(address_bits), "data": In(16), "taken": Out(1), "holds": Out(1),
                          "request": Out(1), "line": Out(address_bits - 3), "lanes": Out(LANES),
                          "words": Out(8 * LINE_BYTES), "grant": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        filling = Signal()
        line = Signal(self.address_bits - 3, reset_less=True)
        lanes = Signal(LANES, reset_less=True)
        words = Signal(8 * LINE_BYTES, reset_less=True)
        waiting = Signal()
        waiting_line = Signal.like(line)
        waiting_lanes = Signal.like(lanes)
        waiting_words = Signal.like(words)

        comes = self.address[3:]
        joins = Signal()
        leaves = Signal()
        room = Signal()
        m.d.comb += [
            joins.eq(self.write & (line == comes) & ~lanes.all()), leaves.eq(filling & ~joins),
            room.eq(~waiting | self.grant), self.taken.eq(self.write & room), self.holds.eq(filling | waiting),
            self.request.eq(waiting), self.line.eq(waiting_line), self.lanes.eq(waiting_lanes), self.words.eq(waiting_words),
        ]
        with m.If(room):
            m.d.sync += [waiting.eq(leaves), filling.eq(self.write)]
            with m.If(leaves):
                m.d.sync += [waiting_line.eq(line), waiting_lanes.eq(lanes), waiting_words.eq(words)]
            with m.If(self.write):
                here = 1 << self.address[1:3]
                m.d.sync += [line.eq(comes), lanes.eq(Mux(filling & joins, lanes | here, here)),
                             words.word_select(self.address[1:3], 16).eq(self.data)]
        return m
