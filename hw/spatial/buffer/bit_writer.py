"""Write a bitvector level: a bit for each coordinate."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal

from ...arch.token import DATA_BITS
from .format_writer import FormatWriter, whole_lanes


class BitWriter(FormatWriter):
    """Sets bits, 16 coordinates a word.

    Behaviour: with 20 coordinates (0, 7) (17, 8) S0 and S0 become bits 1 2 0 0, values 7 8.

    Members: as of `FormatWriter`.

    Timing: an element a cycle, a cycle for each word of bits, and one for the end of a fiber or tensor.
    Source: Stellar IV-C (bitvector axes).
    """

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        written = self.written
        stores, there = self.begin(m, {"bits": written.stored, "values": written.words})
        bits, values = stores["bits"], stores.get("values")
        place = Signal(range(written.stored + 1))
        word = Signal(range(written.across + 1))        # in the fiber
        count = Signal(range(written.words + 1))
        held = Signal(DATA_BITS)
        token = self.i.payload.crd
        full = Signal()
        here = Signal()
        writes = Signal()
        goes = Signal()
        m.d.comb += [
            full.eq(count == written.words), here.eq(~token.control & (token.data >> 4 == word)),
            writes.eq(there & Mux(token.control, self.stops & (word != written.across), ~here)),
            self.i.ready.eq(there & Mux(token.control, ~writes, here & ~full)), goes.eq(self.i.valid & self.i.ready),
            bits.write.eq(writes), bits.address.eq(place), bits.data.eq(held),
            bits.count.eq(written.stored if self.is_exact else place),
            *([] if values is None else [
                values.write.eq(whole_lanes(values, goes & here)), values.address.eq(count), values.data.eq(self.value),
                values.count.eq(count)]), *(store.close.eq(goes & self.is_over) for store in stores.values())]
        with m.If(there & here & full):
            m.d.sync += self.overflow.eq(1)
        with m.If(writes):
            m.d.sync += [place.eq(place + 1), word.eq(word + 1), held.eq(0)]
        with m.Elif(goes & token.control):
            m.d.sync += word.eq(0)
            with m.If(self.is_over):
                m.d.sync += [place.eq(0), count.eq(0)]
        with m.Elif(goes):
            m.d.sync += [held.eq(held | (1 << token.data[:4])), count.eq(count + 1)]
        return m
