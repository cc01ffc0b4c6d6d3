"""Dispatcher: names the next copy that is free, for the filters that lead blocks to copies."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ..arch.primitive import COPY_BITS, DISPATCHER
from .interface import fork, is_done, members
from .sections import next_in_turn

LENGTH, NUMBER = range(2)


class Dispatcher(wiring.Component):
    """Give the numbers of copies that may have another block, in turn.

    Behaviour: a copy may have `ahead` blocks. Each number that is given is one more, and each done token of its stream one
    less; the other tokens of the stream are dropped. A done token of a copy that has no block waits until it has. With `ahead`
    1 and two copies, numbers are ``0 1``, and when copy 1 is done before copy 0, ``0 1 1 0``. Inputs that are no copies bring
    the numbers of another dispatcher, which are given as they are, so dispatchers make a tree of any size.

    Members
    -------
    cfg : copies, first, ahead
    done0, done1, done2, done3 : In     Tokens, or numbers.
    number : Out
    log : Out                           Each number as a section of one word: ``0 1 1 0`` as ``1 0 1 1 1 1 1 0``.

    Timing: a number every two cycles, the first in the second cycle after reset. The copy is chosen by registers and by valids
    of numbers.
    Source: dynamic dispatch of Onyx JSSC VI-C, where the host does it; the numbers are those of IEEE Micro's stream filter.
    """

    def __init__(self) -> None:
        super().__init__(members(DISPATCHER))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inputs = (self.done0, self.done1, self.done2, self.done3)
        copies = self.cfg.copies
        busy = Signal()
        phase = Signal()
        turn = Signal(2, init=3)
        leaves = Signal()       # a number was given, here and to the log
        brought = Array(each.payload.data[:COPY_BITS] for each in inputs)[turn]
        is_copy = copies.bit_select(turn, 1)
        requests = Signal(4)
        for at, each in enumerate(inputs):
            has = Signal(2, name=f"has{at}")
            gets, ends, mine = (Signal(name=f"{name}{at}") for name in ("gets", "ends", "mine"))
            done = is_done(each.payload)
            m.d.comb += [mine.eq(busy & (turn == at)), gets.eq(copies[at] & mine & leaves),
                         ends.eq(copies[at] & each.valid & done & (has != 0)),
                         # What has its turn asks again when that is over.
                         requests[at].eq(Mux(copies[at], has != self.cfg.ahead, each.valid) & ~mine),
                         each.ready.eq(Mux(copies[at], ~done | (has != 0), mine & leaves))]
            m.d.sync += has.eq(has + gets - ends)
        chosen = next_in_turn(m, requests, turn)
        # The number of another dispatcher is there until it is taken.
        there = busy & (is_copy | Cat(each.valid for each in inputs).bit_select(turn, 1))
        over = fork(m, there, (self.number, phase == NUMBER), (self.log, there))
        m.d.comb += [leaves.eq(there & over & (phase == NUMBER)),
                     self.number.payload.data.eq(Mux(is_copy, self.cfg.first + turn, brought)),
                     self.log.payload.data.eq(Mux(phase == LENGTH, 1, self.number.payload.data[:COPY_BITS]))]
        with m.If(~busy | leaves):
            m.d.sync += [busy.eq(requests.any()), phase.eq(LENGTH)]
            with m.If(requests.any()):
                m.d.sync += turn.eq(chosen)
        with m.Elif(there & over):
            m.d.sync += phase.eq(NUMBER)
        return m
