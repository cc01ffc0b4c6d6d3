"""Repeater: one reference for every coordinate of a fiber, to broadcast a tensor along an index it lacks."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring

from ..arch.primitive import REPEATER
from ..arch.token import DONE, TOKEN
from .interface import is_done, is_next, is_stop, is_value, level, members


class Repeater(wiring.Component):
    """Repeat each reference once for every coordinate of the fiber that belongs to it.

    Behaviour: ref ``7 8 S0 D`` with crd ``0 1 S0 4 S1 D`` becomes ``7 7 S0 8 S1 D``. A stop ends the turn of
    one reference, and a stop Sn above S0 also takes the stop S(n-1) of the references. A fiber without
    coordinates drops its reference: with crd ``S0 4 S1 D`` it is ``S0 8 S1 D``. A stop S(n-1) with no
    reference before it, from an empty fiber of references, goes with Sn. Maybe is repeated like a reference.
    Stops that do not fit wait for ever.

    Members
    -------
    cfg : root         References are ``0 D`` in every transaction; `ref` is not read.
    ref : In           References, one for each fiber of `crd`.
    crd : In           Coordinates; their values do not matter.
    ref_o : Out        Shaped like crd.

    Timing: one token per cycle, `ref_o` follows `crd` in the same cycle. The next reference is fetched while
    S0 leaves; only an empty fiber that is the last of its own takes two cycles, as it has two tokens in `ref`.
    Source: Onyx JSSC III-C (repeater). Coordinates themselves are the repeat signal, without a generator.
    """

    def __init__(self) -> None:
        super().__init__(members(REPEATER))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        head, there, next_ref = self._references(m)
        held = Signal()
        current = Signal(TOKEN)
        crd = self.crd.payload

        ref_there = Signal()
        ends_turn = Signal()
        emit = Signal()
        moves = Signal()
        m.d.comb += [
            ref_there.eq(there & is_value(head)),
            ends_turn.eq(is_stop(crd) & (level(crd) == 0)),
        ]
        with m.If(is_value(crd) | ends_turn):
            m.d.comb += emit.eq(held | ref_there)
        with m.Elif(is_stop(crd)):
            # The stop of the references must be one level below the stop of the coordinates.
            m.d.comb += emit.eq(there & is_stop(head) & is_next(level(head), level(crd)))
        with m.Else():
            m.d.comb += emit.eq(there & is_done(head) & ~held)

        m.d.comb += [
            self.ref_o.valid.eq(self.crd.valid & emit),
            self.ref_o.payload.eq(Mux(is_value(crd), Mux(held, current, head), crd)),
            self.crd.ready.eq(emit & self.ref_o.ready),
            moves.eq(self.crd.valid & emit & self.ref_o.ready),
            next_ref.eq(Mux(ref_there, ~held | (moves & ends_turn), moves & ~is_value(crd) & ~ends_turn)),
        ]
        with m.If(ref_there & next_ref):
            m.d.sync += current.eq(head)
        with m.If(moves & is_stop(crd)):
            # A reference fetched in this cycle has its turn next only if the stop ended that of another.
            m.d.sync += held.eq(held & ref_there)
        with m.Elif(ref_there):
            m.d.sync += held.eq(1)
        return m

    def _references(self, m: Module) -> tuple[Any, Signal, Signal]:
        """Head of the reference stream, from outside or of the root: token, valid, ready."""
        head = Signal(TOKEN)
        there = Signal()
        take = Signal()
        root_done = Signal()
        with m.If(self.cfg.root):
            m.d.comb += [head.eq(Mux(root_done, DONE, 0)), there.eq(1)]
            with m.If(take):
                m.d.sync += root_done.eq(~root_done)
        with m.Else():
            m.d.comb += [head.eq(self.ref.payload), there.eq(self.ref.valid), self.ref.ready.eq(take)]
        return head, there, take
