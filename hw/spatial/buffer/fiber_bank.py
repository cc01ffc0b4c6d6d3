"""Behind a port that gives fibers: adds up those of several operations, by coordinate."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.dma import SPAN_BITS
from ...arch.token import stop
from ...emit import macro
from ...stream.fifo import Fifo
from ...stream.lead import lead
from ..array.elastic_pe import pair


class FiberBank(wiring.Component):
    """Merges the fibers that a port gives in several operations into one.

    Behaviour: with 2 parts ``(0, 1) (3, 2) S0`` and ``(3, 5) (4, 1) S0`` become ``(0, 1) (3, 7) (4, 1) S0``. Sums that are 0
    stay. The fiber so far goes round a FIFO: what is left of it and what is merged anew have no more coordinates than a fiber
    can have.

    Parameters
    ----------
    extent : int        Coordinates of a fiber.
    bits : int          Of a value; sums wrap.

    Members
    -------
    i : In(stream)      `pair`s; any control token ends a fiber.
    o : Out(stream)
    parts : In(16)      Operations of a result, 1 or more; constant from the first pair of a result to its last.

    Timing: a coordinate a cycle of those that either has, and one for the end; a result leaves while the next one is added up.
    Source: Stellar IV-C (accumulators); in place of addresses, the order, as in `ResultBank`.
    """

    def __init__(self, extent: int, bits: int) -> None:
        self.extent, self.bits = extent, bits
        pairs = stream.Signature(pair(bits))
        super().__init__({"i": In(pairs), "o": Out(pairs), "parts": In(SPAN_BITS)})

    @property
    def module_name(self) -> str:
        return f"fiber_bank_{self.extent}x{self.bits}"

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        shape = pair(self.bits)
        # A FIFO that is full takes nothing in the cycle in which something leaves: there is room for one pair more.
        m.submodules.sums = sums = macro(Fifo(shape, self.extent + 2))
        m.submodules.done = done = macro(Fifo(shape, self.extent + 1))
        part = Signal(SPAN_BITS)
        x, y = self.i.payload, Signal(shape, name="kept")
        first = Signal()
        last = Signal()
        x_leads = Signal()
        y_leads = Signal()
        ends = Signal()
        goes = Signal()
        word = Signal(shape)
        m.d.comb += [
            Value.cast(y).eq(sums.o.payload), first.eq(part == 0), last.eq(part == self.parts - 1),
            x_leads.eq(first | (~x.crd.control & (y.crd.control | (x.crd.data < y.crd.data)))),
            y_leads.eq(~first & ~y.crd.control & (x.crd.control | (y.crd.data < x.crd.data))),
            ends.eq(x.crd.control & (first | y.crd.control)),
            goes.eq(self.i.valid & (first | sums.o.valid) & Mux(last, done.i.ready, sums.i.ready)),
            self.i.ready.eq(goes & ~y_leads), sums.o.ready.eq(goes & ~x_leads),
            word.value.eq(Mux(ends, 0, Mux(y_leads, 0, x.value) + Mux(x_leads, 0, y.value))),
            word.crd.eq(Mux(ends, stop(0), Mux(y_leads, y.crd, x.crd))),
            sums.i.payload.eq(word), sums.i.valid.eq(goes & ~last), done.i.payload.eq(word), done.i.valid.eq(goes & last)]
        lead(m, done.o, self.o)
        with m.If(goes & ends):
            m.d.sync += part.eq(Mux(last, 0, part + 1))
        return m
