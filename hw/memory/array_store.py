"""Hold an array while it is written, and give it when it is complete."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from ..arch.token import DATA_BITS
from ..emit import macro
from ..stream.fifo import Fifo
from ..stream.lead import lead
from .two_halves import TwoHalves

# Words that have been read and wait, or are in the memory.
READ = 4


class ArrayStore(Component):
    """Two halves: an array is written in one, in any order, and the one before leaves from the other.

    Behaviour: with 7 at 1, 5 at 0, and close with count 2, it gives ``2 5 7``. Places that were not written have whatever was
    there.

    Parameters
    ----------
    words, lanes : int     At most; 16-bit lanes of a word.

    Members
    -------
    free : Out(1)          There is room for an array; without it nothing is written or closed.
    write : In(lanes), address : In, data : In      Lanes to write.
    close : In(1), count : In      The array is complete, with what is written in this cycle; its words.
    o : Out(stream)        The number of words, then these.

    Timing: a write a cycle, and a word a cycle; the number comes two cycles after the array is closed. `free` and `o.valid`
    come from registers.
    Source: Stellar IV-C.
    """

    def __init__(self, words: int, lanes: int) -> None:
        self.words, self.lanes = words, lanes
        bits = lanes * DATA_BITS
        super().__init__({"free": Out(1), "write": In(lanes), "address": In(range(max(2, words))), "data": In(bits),
                          "close": In(1), "count": In(range(words + 1)), "o": Out(stream.Signature(bits))})

    @property
    def module_name(self) -> str:
        return f"array_store_{self.words}x{self.lanes}"

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.memory = memory = macro(TwoHalves(self.words, self.lanes))
        m.submodules.ahead = read = macro(Fifo(self.lanes * DATA_BITS, READ))
        half = Signal()
        held = Signal(2)
        counts = [Signal(range(self.words + 1), name=f"count{n}", reset_less=True) for n in range(2)]
        leaving = Signal()      # the half that leaves
        m.d.comb += [self.free.eq(~held.bit_select(half, 1)), memory.write.eq(self.write), memory.write_half.eq(half),
                     memory.write_address.eq(self.address), memory.data.eq(self.data), memory.read_half.eq(leaving)]
        with m.If(self.close):
            m.d.sync += half.eq(~half)
        size = Mux(leaving, counts[1], counts[0])
        room = Signal(range(READ + 1), init=READ)
        place = Signal(range(self.words + 1))
        begun = Signal()        # the number has been given
        issues = Signal()
        over = Signal()
        was_number = Signal()
        was = Signal(range(self.words + 1))
        was_valid = Signal()
        m.d.comb += [issues.eq(held.bit_select(leaving, 1) & (room != 0)), memory.read.eq(issues & begun),
                     memory.read_address.eq(place), over.eq(issues & Mux(begun, place == size - 1, size == 0)),
                     read.i.payload.eq(Mux(was_number, was, memory.word)), read.i.valid.eq(was_valid)]
        m.d.sync += [was_valid.eq(issues), was_number.eq(~begun), was.eq(size),
                     room.eq(room - issues + (read.o.valid & read.o.ready))]
        with m.If(issues):
            m.d.sync += [begun.eq(~over), place.eq(Mux(begun & ~over, place + 1, 0)), leaving.eq(leaving ^ over)]
        for n, count in enumerate(counts):
            closes = self.close & (half == n)
            m.d.sync += held[n].eq((held[n] & ~(over & (leaving == n))) | closes)
            with m.If(closes):
                m.d.sync += count.eq(self.count)
        lead(m, read.o, self.o)
        return m
