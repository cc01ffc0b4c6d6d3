"""Several users of one request port of a DMA, each in its turn."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring

from ...dma.request import request_layout
from ...dma.turns import Turns
from ...emit import macro
from ...stream.fifo import Fifo2
from .lane_work import LOOPS, port_members


class PortShare(wiring.Component):
    """Gives a port to who asks, until the request has ended.

    Parameters
    ----------
    users : int

    Members
    -------
    request0, load0, store0, ended0, ... : In, Out      Of each user, as of a port.
    request, load, store, ended : Out, In               Of the port.

    Timing: a request is with the port two cycles after it came; elements pass in their cycle.
    Source: a design of its own.
    """

    def __init__(self, users: int) -> None:
        self.users, self.module_name = users, f"port_share_{users}"
        port = port_members()
        super().__init__({**port, **{f"{name}{n}": member.flip() for n in range(users) for name, member in port.items()}})

    @property
    def emit_key(self) -> int:
        return self.users

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.turns = turns = macro(Turns(self.users, request_layout(LOOPS), f"port_turns_{self.users}"))
        m.submodules.waiting = waiting = macro(Fifo2(request_layout(LOOPS)))
        busy = Signal()
        user = Signal.like(turns.o.payload.of)
        takes = Signal()
        m.d.comb += [takes.eq(turns.o.valid & ~busy & waiting.i.ready), turns.o.ready.eq(~busy & waiting.i.ready),
                     waiting.i.valid.eq(takes), waiting.i.payload.eq(turns.o.payload.word),
                     self.request.payload.as_value().eq(waiting.o.payload), self.request.valid.eq(waiting.o.valid),
                     waiting.o.ready.eq(self.request.ready)]
        with m.If(takes):
            m.d.sync += [busy.eq(1), user.eq(turns.o.payload.of)]
        with m.If(self.ended):
            m.d.sync += busy.eq(0)
        for n in range(self.users):
            asks, load, store = (getattr(self, f"{name}{n}") for name in ("request", "load", "store"))
            turn = getattr(turns, f"i{n}")
            mine = busy & (user == n)
            m.d.comb += [turn.payload.eq(asks.payload), turn.valid.eq(asks.valid), asks.ready.eq(turn.ready),
                         load.payload.eq(self.load.payload), load.valid.eq(self.load.valid & mine),
                         store.ready.eq(self.store.ready & mine), getattr(self, f"ended{n}").eq(self.ended & mine)]
            with m.If(mine):
                m.d.comb += [self.load.ready.eq(load.ready), self.store.payload.eq(store.payload),
                             self.store.valid.eq(store.valid)]
        return m
