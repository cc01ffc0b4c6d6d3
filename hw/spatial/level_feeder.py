"""Arrays of a level without zeros from memory to what fills a private buffer; what counts comes first."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.dma import ADDRESS_BITS, ELEMENT_BITS
from ..arch.private_buffer import COMPRESSED
from ..arch.token import DATA_BITS
from ..emit import Macro, macro
from ..stream.fifo import Fifo2
from ..stream.lead import lead
from .counted import RUN, CountedFeeder


class LevelFeeder(wiring.Component):
    """Segments or bits, then as many coordinates and values as they say.

    Behaviour: segments may go on from those of tensors before, ``5 7 7`` of two fibers: then the coordinates and values of the
    tensor are two from 5 on. Those of bits stand behind those of the bits before, since `restart`.

    Parameters
    ----------
    kind : str          Compressed or bitvector.
    words : int         Segments or words of bits of a tensor.

    Members
    -------
    counts : In(stream)         Segments of 32 bits, or bits.
    coordinates : In(stream)    Of a compressed level.
    values : In(stream)
    level : Out(stream)         16-bit words, as `PrivateBank` takes them: of ``level`` or ``bits``.
    o : Out(stream)             Those of ``values``.
    coordinates_run, values_run : Out(stream)      `RUN` of each tensor.
    narrow : In(1)              Values are bytes.
    torn : Out(1)               Of a tensor there are some segments or bits, and not all.
    wrong : Out(1)              Segments fall, or are too far apart. Sticky until reset.
    restart : In(1), at : In(32)     As of `CountedDrain`.

    Timing: a word a cycle, in the cycle in which it comes; a cycle for each length.
    Source: Stellar V, Listing 7 (spans of a whole fiber).
    """

    def __init__(self, kind: str, words: int) -> None:
        self.kind, self.words = kind, words
        self.module_name = f"level_feeder_{kind}_{words}"
        elements, blocks, runs = stream.Signature(ELEMENT_BITS), stream.Signature(DATA_BITS), stream.Signature(RUN)
        compressed = {"coordinates": In(elements), "coordinates_run": Out(runs)} if kind == COMPRESSED else {}
        super().__init__({"counts": In(elements), **compressed, "values": In(elements), "level": Out(blocks), "o": Out(blocks),
                          "values_run": Out(runs), "narrow": In(1), "torn": Out(1), "wrong": Out(1), "restart": In(1),
                          "at": In(ADDRESS_BITS)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        compressed = self.kind == COMPRESSED
        m.submodules.values_feeder = values = macro(CountedFeeder(True))
        lead(m, self.values, values.i)
        lead(m, values.o, self.o)
        m.d.comb += values.narrow.eq(self.narrow)
        run = Signal(RUN)
        told = Signal()         # the run of a tensor is known
        waits = [self._later(m, "values", run, told, self.values_run), self._count(m, "values", run, told, values)]
        left = Signal(range(self.words + 1))        # words of the tensor that goes on
        word = self.counts.payload
        going = Signal()        # a block of counts, else of coordinates
        goes = Signal()
        last = Signal()
        m.d.comb += [last.eq(left == 1), goes.eq(self.counts.valid & self.counts.ready), told.eq(goes & last),
                     self.torn.eq(left != 0)]
        if compressed:
            m.submodules.coordinates_feeder = coordinates = macro(CountedFeeder(False))
            lead(m, self.coordinates, coordinates.i)
            waits += [self._later(m, "coordinates", run, told, self.coordinates_run),
                      self._count(m, "coordinates", run, told, coordinates)]
        free = Cat(waits).all()
        level = self._counted(m, run, goes, left, word)
        with m.If((left == 0) & ~going):
            m.d.comb += [self.level.payload.eq(self.words), self.level.valid.eq(self.counts.valid)]
            with m.If(self.level.valid & self.level.ready):
                m.d.sync += left.eq(self.words)
        with m.Elif(~going):
            allowed = ~last | free
            m.d.comb += [self.level.payload.eq(level), self.level.valid.eq(self.counts.valid & allowed),
                         self.counts.ready.eq(self.level.ready & allowed)]
            with m.If(goes):
                m.d.sync += left.eq(left - 1)
                if compressed:
                    with m.If(last):
                        m.d.sync += going.eq(1)
        if compressed:
            with m.If(going):
                lead(m, coordinates.o, self.level)
                with m.If(coordinates.ends):
                    m.d.sync += going.eq(0)
        return m

    def _counted(self, m: Module, run: Any, goes: Signal, left: Signal, word: Signal) -> Value:
        """The run of the tensor with its last word; what stands for a word in the level."""
        first = Signal(ADDRESS_BITS)
        if self.kind == COMPRESSED:
            begins = left == self.words
            apart = Signal(ADDRESS_BITS)
            m.d.comb += [apart.eq(Mux(begins, 0, word - first)), run.first.eq(first), run.count.eq(apart)]
            with m.If(goes & begins):
                m.d.sync += first.eq(word)
            with m.If(goes & (apart >> DATA_BITS != 0)):
                m.d.sync += self.wrong.eq(1)
            return apart
        ones = Signal(DATA_BITS)
        total = Signal(DATA_BITS)
        bits = word[:DATA_BITS]
        m.d.comb += [total.eq(ones + sum((bit for bit in bits), Const(0, 1))), run.first.eq(first), run.count.eq(total)]
        with m.If(self.restart):
            m.d.sync += first.eq(self.at)
        with m.If(goes):
            m.d.sync += ones.eq(Mux(left == 1, 0, total))
            with m.If(left == 1):
                m.d.sync += first.eq(first + total)
        return bits

    def _later(self, m: Module, name: str, run: Any, told: Signal, out: Any) -> Value:
        """Keep runs for the requests of an array; whether there is room."""
        m.submodules[f"{name}_runs"] = fifo = macro(Fifo2(RUN))
        m.d.comb += [fifo.i.payload.eq(run), fifo.i.valid.eq(told)]
        lead(m, fifo.o, out)
        ready: Value = fifo.i.ready
        return ready

    def _count(self, m: Module, name: str, run: Any, told: Signal, feeder: Macro) -> Value:
        """Keep counts for the blocks of an array; whether there is room."""
        m.submodules[f"{name}_counts"] = fifo = macro(Fifo2(DATA_BITS))
        m.d.comb += [fifo.i.payload.eq(run.count), fifo.i.valid.eq(told)]
        lead(m, fifo.o, feeder.count)
        ready: Value = fifo.i.ready
        return ready
