"""Elements from memory to what fills a private buffer: blocks, each tensor behind the number of its elements."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.dma import ELEMENT_BITS
from ...arch.token import DATA_BITS


class Feeder(wiring.Component):
    """Puts the number of elements in front of every tensor.

    Behaviour: with 3 elements in a tensor ``5 6 7 8 9 10`` becomes ``3 5 6 7 3 8 9 10``.

    Parameters
    ----------
    elements : int      Of a tensor.

    Members
    -------
    i : In(stream)      Elements.
    o : Out(stream)     16-bit words, the low bits of elements; bytes keep their sign.
    narrow : In(1)      Elements are bytes.
    torn : Out(1)       Of a tensor there are some elements, and not all.

    Timing: a word a cycle, in the cycle in which it comes; a cycle for each number.
    Source: a design of its own; blocks are those of MEM tiles (JSSC III-B).
    """

    def __init__(self, elements: int) -> None:
        self.elements = elements
        super().__init__({"i": In(stream.Signature(ELEMENT_BITS)), "o": Out(stream.Signature(DATA_BITS)), "narrow": In(1),
                          "torn": Out(1)})

    @property
    def module_name(self) -> str:
        return f"feeder_{self.elements}"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left = Signal(range(self.elements + 1))     # of the tensor that goes on
        m.d.comb += [self.torn.eq(left != 0), self.o.valid.eq(self.i.valid)]
        with m.If(left == 0):
            m.d.comb += self.o.payload.eq(self.elements)
            with m.If(self.o.valid & self.o.ready):
                m.d.sync += left.eq(self.elements)
        with m.Else():
            byte, word = (self.i.payload[:bits].as_signed() for bits in (8, DATA_BITS))
            m.d.comb += [self.o.payload.eq(Mux(self.narrow, byte, word)), self.i.ready.eq(self.o.ready)]
            with m.If(self.i.valid & self.i.ready):
                m.d.sync += left.eq(left - 1)
        return m
