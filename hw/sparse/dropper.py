"""Dropper: removes the coordinates of fibers that turned out empty, or of values that turned out zero."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import wiring

from ..arch.primitive import DROPPER
from ..arch.token import TOKEN
from .interface import fork, is_done, is_maybe, is_next, is_stop, is_value, level, members


class Dropper(wiring.Component):
    """Remove what does not belong into a compressed result.

    Behaviour, form coordinate: a coordinate of outer leaves if its fiber of inner holds data; runs of inner
    stops merge to the highest, leading ones vanish, so that an empty inner is just ``D``:

        outer ``0 1 2 3 S0 D``           becomes ``0 1 3 S0 D``
        inner ``1 S0 1 S0 S0 1 S1 D``    becomes ``1 S0 1 S0 1 S1 D``

    Behaviour, form value: outer and inner run in step; pairs of value 0 or maybe vanish, stops stay on both:

        outer ``0 2 S0 1 S1 D``          becomes ``2 S0 S1 D``
        inner ``0 5 S0 0 S1 D``          becomes ``5 S0 S1 D``

    Streams out of step wait for ever, as does a maybe for a coordinate in form value.

    Members
    -------
    cfg : form
    outer, inner : In
    outer_o, inner_o : Out

    Timing, form value: one pair per cycle; outputs follow in the same cycle, each when it is ready.
    Timing, form coordinate: one inner token per cycle, two for an empty fiber that is the last of its own,
    which has two tokens in outer. A coordinate leaves in the cycle that shows the first datum of its fiber.
    inner_o is a register, one cycle after inner. A stop stays there until the next token is seen, which need
    not wait for outer_o: a consumer may read all of an inner fiber before its coordinate.
    Source: Onyx JSSC III-C (coordinate dropper). The value form is called compress in the public hardware.
    """

    def __init__(self) -> None:
        super().__init__(members(DROPPER))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with m.If(self.cfg.form):
            self._drop_zeros(m)
        with m.Else():
            self._drop_empty(m)
        return m

    def _drop_zeros(self, m: Module) -> None:
        outer, inner = self.outer.payload, self.inner.payload
        both = Signal()
        zero = Signal()
        in_step = Mux(outer.control, ~is_maybe(outer) & (outer.as_value() == inner.as_value()), is_value(inner))
        m.d.comb += [
            both.eq(self.outer.valid & self.inner.valid & in_step),
            zero.eq(~outer.control & (inner.control | (inner.data == 0))),
            self.outer_o.payload.eq(outer), self.inner_o.payload.eq(inner),
        ]
        over = fork(m, both & ~zero, (self.outer_o, Const(1)), (self.inner_o, Const(1)))
        m.d.comb += [self.outer.ready.eq(both & over), self.inner.ready.eq(both & over)]

    def _drop_empty(self, m: Module) -> None:
        outer, inner = self.outer.payload, self.inner.payload
        opened = Signal()       # The coordinate of the inner fiber has left or is dropped.
        closed = Signal()       # The outer token that goes with the inner stop or done has left.

        stop = Signal()
        done = Signal()
        lowest = Signal()
        coordinate = Signal()
        pair = Signal()
        m.d.comb += [
            stop.eq(is_stop(inner)), done.eq(is_done(inner)), lowest.eq(level(inner) == 0),
            coordinate.eq(self.outer.valid & is_value(outer) & ~opened & ~closed),
            # An outer stop goes with the inner stop one level above it.
            pair.eq(self.outer.valid & ~closed
                    & Mux(done, is_done(outer) & ~opened,
                          is_stop(outer) & is_next(level(outer), level(inner)))),
        ]

        send = Signal()
        drop = Signal()
        take = Signal()
        room = Signal()
        sent = send & self.outer_o.ready
        with m.If(self.inner.valid):
            with m.If(stop & lowest):
                m.d.comb += [drop.eq(coordinate & room), take.eq(room & (opened | coordinate))]
            with m.Elif(stop | done):
                m.d.comb += [drop.eq(coordinate & stop), send.eq(pair), take.eq(room & (closed | sent))]
            with m.Else():
                m.d.comb += [send.eq(coordinate), take.eq(room & (opened | sent))]
        m.d.comb += [
            self.outer_o.valid.eq(send), self.outer_o.payload.eq(outer),
            self.outer.ready.eq(sent | drop), self.inner.ready.eq(take),
        ]
        with m.If(take & (stop | done)):
            m.d.sync += [opened.eq(0), closed.eq(0)]
        with m.Elif(sent & (stop | done)):
            m.d.sync += closed.eq(1)
        with m.Elif(sent | drop):
            m.d.sync += opened.eq(1)
        self._merge(m, stop, done, take, room)

    def _merge(self, m: Module, stop: Signal, done: Signal, take: Signal, room: Signal) -> None:
        """Drive inner_o from the inner tokens taken; `room` says whether the one that is shown may be."""
        inner = self.inner.payload
        ahead = Signal(TOKEN)
        ahead_valid = Signal()
        started = Signal()      # There was data in this transaction.
        merge = Signal()
        m.d.comb += [
            merge.eq(ahead_valid & is_stop(ahead) & stop),
            room.eq(~ahead_valid | self.inner_o.ready | merge | (stop & ~started)),
            # A stop has its final level when the token after it is no stop.
            self.inner_o.valid.eq(ahead_valid & (~is_stop(ahead) | (self.inner.valid & ~stop))),
            self.inner_o.payload.eq(ahead),
        ]
        with m.If(take & merge):
            with m.If(level(inner) > level(ahead)):
                m.d.sync += ahead.eq(inner)
        with m.Elif(take & (~stop | started)):
            m.d.sync += [ahead.eq(inner), ahead_valid.eq(1), started.eq(~done)]
        with m.Elif(self.inner_o.valid & self.inner_o.ready):
            m.d.sync += ahead_valid.eq(0)
