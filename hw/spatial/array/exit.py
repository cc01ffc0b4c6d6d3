"""Where the words of a port of a spatial array leave, and by what registers one that is not taken stops the array later."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out


class Exit(Component):
    """The stream of a port whose words are in a register that holds still while the array does.

    Behaviour: a word is offered in the cycle in which it is given and the array goes on. If it is not taken, it is kept here,
    and the array may give no other one until it is: where `stays` says that one will be kept, and the array will give one in
    the next cycle, it does not go on then.

    Parameters
    ----------
    width : int       Of a word.

    Members
    -------
    word : In(width)  Of the register.
    given : In(1)     It is the port's next word.
    goes_on : In(1)   The array does a cycle; never with `given` while a word is kept.
    stays : Out(1)    A word is kept in the next cycle.
    o : Out(stream)

    Timing: `o` follows `word`, `given` and `goes_on` within the cycle, `stays` these and `o.ready`, which `Going` takes. A FIFO
    of two entries would hold each word a second time, beside the register.
    """

    def __init__(self, width: int) -> None:
        self.width, self.module_name = width, f"spatial_exit_w{width}"
        super().__init__({"word": In(width), "given": In(1), "goes_on": In(1), "stays": Out(1),
                          "o": Out(stream.Signature(width))})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        kept = Signal(self.width, reset_less=True)
        full = Signal()
        m.d.comb += [self.stays.eq(self.o.valid & ~self.o.ready), self.o.valid.eq(full | (self.given & self.goes_on)),
                     self.o.payload.eq(Mux(full, kept, self.word))]
        m.d.sync += full.eq(self.stays)
        with m.If(~full):
            m.d.sync += kept.eq(self.word)
        return m
