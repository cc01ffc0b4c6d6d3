"""Affine address generator: a loop nest of counters and one adder.

The address starts at `start`; each step adds the stride of the innermost loop that has not ended, where a stride
already contains the return of the loops inside it, so one adder serves any depth.

    extents 2, 3 (stored as 1, 2), strides 2, 10 from 0:   0 2  12 14  24 26   last

Source: Amber JSSC IV (iteration domain and address generator by recurrence); stored as extent - 1 so that a register
file full of zeros is one iteration.
"""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.soc import EXTENT_BITS, STRIDE_BITS


def loop_layout(levels: int) -> data.StructLayout:
    """The settings of a loop nest: per level, innermost first, extent - 1 and signed byte stride."""
    return data.StructLayout({"extent": data.ArrayLayout(unsigned(EXTENT_BITS), levels),
                              "stride": data.ArrayLayout(signed(STRIDE_BITS), levels)})


class AffineGenerator(wiring.Component):
    """Walks a loop nest, one address per step.

    Parameters
    ----------
    levels : int         Loop levels, 1..16.
    address_bits : int

    Members
    -------
    loops : In           Settings, constant while running.
    start : In           First address.
    restart : In(1)      Go back to the first address (in the next cycle).
    step : In(1)         Advance.
    address : Out        The current address.
    last : Out(1)        The current address is the last of the nest.

    Timing: address and last come from registers; one step per cycle.
    """

    def __init__(self, levels: int, address_bits: int) -> None:
        self.levels, self.address_bits = levels, address_bits
        super().__init__({"loops": In(loop_layout(levels)), "start": In(address_bits), "restart": In(1), "step": In(1),
                          "address": Out(address_bits), "last": Out(1)})

    @property
    def module_name(self) -> str:
        return f"affine_{self.levels}x{self.address_bits}"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        counters = [Signal(EXTENT_BITS, name=f"count{level}") for level in range(self.levels)]
        at_end = Signal(self.levels)
        m.d.comb += [at_end[i].eq(counter == self.loops.extent[i]) for i, counter in enumerate(counters)]
        m.d.comb += self.last.eq(at_end.all())
        # The loop that advances: the innermost one that has not ended.
        delta = Signal(signed(STRIDE_BITS))
        for level in reversed(range(self.levels)):
            with m.If(~at_end[level]):
                m.d.comb += delta.eq(self.loops.stride[level])
        with m.If(self.restart):
            m.d.sync += [self.address.eq(self.start), *(counter.eq(0) for counter in counters)]
        with m.Elif(self.step):
            m.d.sync += self.address.eq(self.address + delta)
            for level, counter in enumerate(counters):
                inner_ended = at_end[:level].all() if level else Const(1)
                with m.If(inner_ended):
                    m.d.sync += counter.eq(Mux(at_end[level], 0, counter + 1))
        return m
