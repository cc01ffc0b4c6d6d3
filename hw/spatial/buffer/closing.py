"""References, each with the end of its fiber behind it."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.token import TOKEN, stop
from ...sparse.interface import is_done


class Closing(wiring.Component):
    """Puts a stop behind each reference. A compressed level closes a fiber with the token behind it, and the next reference may
    be long in coming.

    Behaviour: of ``1 N 0 D`` it makes ``1 S0 N S0 0 S0 D``.

    Members
    -------
    i : In(stream of TOKEN)      Numbers of fibers, ``N`` and done.
    o : Out(stream of TOKEN)

    Timing: a token a cycle; `o` follows `i` in the same cycle.
    Source: a design of its own.
    """

    module_name = "closing"

    def __init__(self) -> None:
        tokens = stream.Signature(TOKEN)
        super().__init__({"i": In(tokens), "o": Out(tokens)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        closes = Signal()
        m.d.comb += [self.o.valid.eq(self.i.valid | closes), self.i.ready.eq(self.o.ready & ~closes),
                     self.o.payload.as_value().eq(Mux(closes, stop(0), self.i.payload.as_value()))]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += closes.eq(~closes & ~is_done(self.i.payload))
        return m
