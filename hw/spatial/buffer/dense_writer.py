"""Write a dense level: all coordinates, zeros for those that are missing."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal

from .format_writer import FormatWriter, whole_lanes


class DenseWriter(FormatWriter):
    """Counts coordinates, and writes zeros up to each element and up to the end of a fiber.

    Behaviour: with 4 coordinates (0, 7) (3, 8) S0 and S0 become values 7 0 0 8 0 0 0 0.

    Members: as of `FormatWriter`.

    Timing: a value a cycle, and one cycle for the end of a fiber or tensor.
    Source: a design of its own.
    """

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        written = self.written
        stores, there = self.begin(m, {"values": written.stored})
        values = stores["values"]
        place = Signal(range(written.stored + 1))
        at = Signal(range(written.extent + 1))     # in the fiber
        token = self.i.payload.crd
        here = Signal()
        writes = Signal()
        m.d.comb += [
            here.eq(~token.control & (token.data == at)),
            writes.eq(there & Mux(token.control, self.stops & (at != written.extent), 1)),
            self.i.ready.eq(there & Mux(token.control, ~writes, here)),
            values.write.eq(whole_lanes(values, writes)), values.address.eq(place), values.data.eq(Mux(here, self.value, 0)),
            values.close.eq(there & self.is_over), values.count.eq(written.stored if self.is_exact else place)]
        with m.If(writes):
            m.d.sync += [place.eq(place + 1), at.eq(at + 1)]
        with m.Elif(there & token.control):
            m.d.sync += at.eq(0)
            with m.If(self.is_over):
                m.d.sync += place.eq(0)
        return m
