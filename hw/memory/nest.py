"""Walk a fixed loop nest: one number for each step, over and over."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Elaboratable, Module, Mux, Signal, signed
from amaranth.lib.wiring import Component, In, Out

from .affine import advancing, count_loops


class Nest(Component):
    """A loop nest whose extents and strides are known when it is made.

    Behaviour: with loops 2 x 10 and, inside, 3 x 1 from 5 it gives 5 6 7 15 16 17, and 5 again.

    Parameters
    ----------
    first : int             The first number, from 0.
    loops : tuple           Extent, from 1, and stride of each, innermost first.
    bits : int              Of the numbers.

    Members
    -------
    valid : Out(1)          The number is there: from the second cycle on.
    step : In(1)            Go on.
    number : Out
    ends : Out(1)           The number is the last of the innermost loop.
    last : Out(1)           It is the last of all.

    Timing: all outputs come from registers, `ends` and `last` by a gate.
    Source: Amber JSSC IV (address generator by recurrence), with constants in place of configuration.
    """

    def __init__(self, first: int, loops: tuple[tuple[int, int], ...], bits: int) -> None:
        if any(extent < 1 for extent, _ in loops):
            raise ValueError("a loop has one iteration or more")
        self.first, self.loops, self.bits = first, loops or ((1, 0),), bits
        super().__init__({"valid": Out(1), "step": In(1), "number": Out(bits), "ends": Out(1), "last": Out(1)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        # What a loop adds when it advances takes back what the loops inside it have added.
        deltas, inside = [], 0
        for extent, stride in self.loops:
            deltas.append(stride - inside)
            inside += (extent - 1) * stride
        at_end = count_loops(m, [Const(extent - 1, max(1, (extent - 1).bit_length())) for extent, _ in self.loops],
                             self.valid & self.step, ~self.valid)
        delta = advancing(m, at_end, [Const(each, signed(self.bits + 1)) for each in deltas], signed(self.bits + 1))
        m.d.sync += self.valid.eq(1)
        m.d.comb += [self.ends.eq(at_end[0]), self.last.eq(at_end.all())]
        number = Signal(self.bits, init=self.first)
        m.d.comb += self.number.eq(number)
        with m.If(self.valid & self.step):
            m.d.sync += number.eq(Mux(self.last, self.first, number + delta))
        return m
