"""Where the words of a port of a spatial array leave, so that a sink that is not ready stops the array a cycle later."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out


class Exit(Component):
    """The stream of a port whose words are in a register that holds still while the array does.

    Behaviour: a word is offered in the cycle in which it is given and the array goes on. If it is not taken, it is kept here,
    and the array may give no other one until it is: `full` and `given` together stop it.

    Parameters
    ----------
    width : int       Of a word.

    Members
    -------
    word : In(width)  Of the register.
    given : In(1)     It is the port's next word.
    goes_on : In(1)   The array does a cycle; never with `given` and `full`.
    full : Out(1)     A word is kept.
    o : Out(stream)

    Timing: `o` follows `word`, `given` and `goes_on` within the cycle, and nothing follows `o.ready`. A FIFO of two entries
    would hold each word a second time, beside the register.
    """

    def __init__(self, width: int) -> None:
        self.width, self.module_name = width, f"spatial_exit_w{width}"
        super().__init__({"word": In(width), "given": In(1), "goes_on": In(1), "full": Out(1),
                          "o": Out(stream.Signature(width))})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        kept = Signal(self.width, reset_less=True)
        full = Signal()
        m.d.comb += [self.full.eq(full), self.o.valid.eq(full | (self.given & self.goes_on)),
                     self.o.payload.eq(Mux(full, kept, self.word))]
        m.d.sync += full.eq(self.o.valid & ~self.o.ready)
        with m.If(~full):
            m.d.sync += kept.eq(self.word)
        return m
