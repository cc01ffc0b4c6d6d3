"""Elements that are found by comparing their coordinates: for tensors without zeros, of which any element may be asked for."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.token import TOKEN
from ...emit import macro
from ...sparse.interface import is_done
from ...stream.fifo import Fifo2
from ...stream.lead import lead
from ..array.elastic_pe import pair


class Matcher(wiring.Component):
    """Holds the elements of a tensor, each with its place, and gives the one that is asked for, or 0 where there is none.

    Behaviour: of a tensor of 2 fibers of 4, ``(1, 5) S0  (0, 7) (3, 9) S0``, places 1, 4 and 7 have 5, 7 and 9; ``4 2 S0 D``
    gives ``7 0 S0 D``. Two tensors are held, and one is filled in meanwhile: done ends the one that is read.

    Parameters
    ----------
    fibers, extent : int     Of a tensor; an element is at the number of its fiber times `extent` and its coordinate.
    entries : int            Elements of a tensor that have room.
    bits : int               Of a value.

    Members
    -------
    i : In(stream)           `pair`s; any control token ends a fiber.
    ref : In(stream of TOKEN)
    crd : Out(stream of TOKEN)
    fault : Out(1)           A tensor has more elements than there are entries. Sticky until reset.

    Timing: an element in, and one out, each cycle; out one cycle later.
    Source: Stellar IV-D (the register file that every port searches). Departure: ports take turns, so that an element is
    compared once, and nothing has counters of operations, as tensors follow each other.
    """

    def __init__(self, fibers: int, extent: int, entries: int, bits: int) -> None:
        self.fibers, self.extent, self.entries, self.bits = fibers, extent, entries, bits
        super().__init__({"i": In(stream.Signature(pair(bits))), "ref": In(stream.Signature(TOKEN)),
                          "crd": Out(stream.Signature(TOKEN)), "fault": Out(1)})

    @property
    def module_name(self) -> str:
        return f"matcher_{self.fibers}x{self.extent}_{self.entries}x{self.bits}"

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.found = found = macro(Fifo2(TOKEN))
        lead(m, found.o, self.crd)
        reading = Signal()
        writing = Signal()
        full = Signal(2)
        released = Signal()
        places, values, there = self._filled(m, writing, full)
        hits = Signal(self.entries)
        goes = Signal()
        token = self.ref.payload
        value = Signal(self.bits)
        chosen: Value = Const(0, self.bits)
        for n in range(self.entries):
            at, held = (Mux(reading, each[1][n], each[0][n]) for each in (places, values))
            m.d.comb += hits[n].eq(Mux(reading, there[1][n], there[0][n]) & (at == token.data))
            chosen = chosen | Mux(hits[n], held, 0)
        m.d.comb += [
            value.eq(chosen), found.i.valid.eq(self.ref.valid & full.bit_select(reading, 1)),
            goes.eq(found.i.valid & found.i.ready), self.ref.ready.eq(goes),
            Value.cast(found.i.payload).eq(Mux(token.control, Value.cast(token), value)),
            released.eq(goes & is_done(token))]
        with m.If(released):
            m.d.sync += [full.bit_select(reading, 1).eq(0), reading.eq(~reading)]
            for half in range(2):
                with m.If(reading == half):
                    m.d.sync += there[half].eq(0)
        return m

    def _filled(self, m: Module, writing: Signal, full: Signal) -> tuple[list[list[Signal]], list[list[Signal]], list[Signal]]:
        """Write elements into the half that is not full; of both halves places, values, and which there are."""
        bits = max(1, (self.fibers * self.extent - 1).bit_length())
        places = [[Signal(bits, name=f"place{half}_{n}") for n in range(self.entries)] for half in range(2)]
        values = [[Signal(self.bits, name=f"value{half}_{n}") for n in range(self.entries)] for half in range(2)]
        there = [Signal(self.entries, name=f"there{half}") for half in range(2)]
        fiber = Signal(range(self.fibers))
        first = Signal(bits)            # place of the first element of the fiber
        takes = Signal()
        word = self.i.payload
        crowded = Cat(each.all() & (writing == half) for half, each in enumerate(there)).any() & ~word.crd.control
        m.d.comb += [self.i.ready.eq(~full.bit_select(writing, 1) & ~crowded), takes.eq(self.i.valid & self.i.ready)]
        with m.If(self.i.valid & crowded & ~full.bit_select(writing, 1)):
            m.d.sync += self.fault.eq(1)
        with m.If(takes & word.crd.control):
            m.d.sync += [fiber.eq(fiber + 1), first.eq(first + self.extent)]
            with m.If(fiber == self.fibers - 1):
                m.d.sync += [fiber.eq(0), first.eq(0), full.bit_select(writing, 1).eq(1), writing.eq(~writing)]
        for half in range(2):
            # Those that there are stand in front, so that the next one is the first that is free.
            free = Cat(1, there[half][:-1]) & ~there[half]
            with m.If(takes & ~word.crd.control & (writing == half)):
                m.d.sync += there[half].eq(there[half] | free)
            for n in range(self.entries):
                with m.If(takes & ~word.crd.control & (writing == half) & free[n]):
                    m.d.sync += [places[half][n].eq(first + word.crd.data), values[half][n].eq(word.value)]
        return places, values, there
