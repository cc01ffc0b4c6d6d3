"""Write a compressed level: segments and coordinates."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal

from .format_writer import FormatWriter, whole_lanes


class CompressedWriter(FormatWriter):
    """Counts the elements of each fiber.

    Behaviour: fibers (0, 7) (3, 8) S0 and S0 become segments 0 2 2, coordinates 0 3, values 7 8.

    Members: as of `FormatWriter`.

    Timing: an element or an end a cycle, and one cycle for a tensor besides its done.
    Source: Onyx JSSC III-B (level writer).
    """

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        written = self.written
        stores, there = self.begin(m, {"segments": written.fibers + 1, **{name: written.words for name, _ in self.elements}})
        count = Signal(range(written.words + 1))
        fiber = Signal(range(written.fibers + (1 if self.is_exact else 2)))
        leading = Signal(init=1)        # the 0 in front of the segments is not written yet
        full = Signal()
        is_element = Signal()
        m.d.comb += [is_element.eq(~self.i.payload.crd.control), full.eq(count == written.words),
                     self.i.ready.eq(there & ~leading & ~(is_element & full))]
        goes = Signal()
        m.d.comb += goes.eq(self.i.valid & self.i.ready)
        for name, data in self.elements:
            m.d.comb += [stores[name].write.eq(whole_lanes(stores[name], goes & is_element)), stores[name].address.eq(count),
                         stores[name].data.eq(data), stores[name].count.eq(count)]
        segments = stores["segments"]
        m.d.comb += [segments.write.eq((there & leading) | (goes & self.stops)), segments.data.eq(Mux(leading, 0, count)),
                     segments.address.eq(fiber), segments.count.eq(written.fibers + 1 if self.is_exact else fiber),
                     *(store.close.eq(goes & self.is_over) for store in stores.values())]
        with m.If(there & ~leading & is_element & full):
            m.d.sync += self.overflow.eq(1)
        with m.If(there & leading):
            m.d.sync += [leading.eq(0), fiber.eq(1)]
        with m.If(goes):
            m.d.sync += [count.eq(Mux(self.is_over, 0, count + is_element)), fiber.eq(Mux(self.is_over, 0, fiber + self.stops)),
                         leading.eq(self.is_over)]
        return m
