"""Holds vectors of a stream, and gives them again and again."""

from __future__ import annotations

from functools import reduce
from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from ...emit import macro
from ...memory.sram import Sram


class Replay(Component):
    """Holds groups of words, the last one of each marked, and gives a group until it is let go.

    Behaviour: of the groups a b and c, of which the first one is let go after the second time: a b a b c.

    Parameters
    ----------
    words, bits : int     Of a group at most, a power of two, and of a word, whose highest bit marks the last one.
    groups : int          That are held, 2 or more, each in a memory of its own.

    Members
    -------
    i : In(stream), o : Out(stream)
    free : In(1)          With the last word of a group: it is let go.

    Timing: a word a cycle; a group enters while the one before is given.
    Source: SCNN III-B (weights are held, and read for each vector of activations).
    """

    def __init__(self, words: int, bits: int, groups: int = 2) -> None:
        self.words, self.bits, self.groups = words, bits, groups
        word = stream.Signature(bits)
        super().__init__({"i": In(word), "o": Out(word), "free": In(1)})

    @property
    def module_name(self) -> str:
        return f"replay_{self.words}x{self.bits}" + (f"x{self.groups}" if self.groups > 2 else "")

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        halves = [macro(Sram(self.words, 1, self.bits)) for _ in range(self.groups)]
        full = Signal(self.groups)
        filling = Signal(range(self.groups))
        line = Signal(range(self.words))
        takes = Signal()
        m.d.comb += [self.i.ready.eq(~full.bit_select(filling, 1)), takes.eq(self.i.valid & self.i.ready)]
        with m.If(takes):
            m.d.sync += line.eq(line + 1)
            with m.If(self.i.payload[-1]):
                m.d.sync += [line.eq(0), filling.eq(self._behind(filling)), full.bit_select(filling, 1).eq(1)]
        giving = Signal(range(self.groups))
        there = Signal()
        at = Signal(range(self.words))      # the word behind the one that is there
        gone = Signal()
        ends = Signal()
        lets = Signal()
        half = Signal(range(self.groups))   # from which the next word is read,
        place = Signal(range(self.words))   # and its place
        reads = Signal()
        word = reduce(lambda rest, nth: Mux(giving == nth, halves[nth].word, rest), range(2, self.groups),
                      Mux(giving[0], halves[1].word, halves[0].word))
        m.d.comb += [
            gone.eq(there & self.o.ready), ends.eq(self.o.payload[-1]), lets.eq(gone & ends & self.free),
            half.eq(giving ^ lets if self.groups == 2 else Mux(lets, self._behind(giving), giving)),
            place.eq(Mux(there & ends, 0, at)),
            reads.eq(full.bit_select(half, 1) & (~there | gone)),
            self.o.valid.eq(there), self.o.payload.eq(word)]
        m.d.sync += there.eq(reads | (there & ~gone))
        with m.If(reads):
            m.d.sync += at.eq(place + 1)
        with m.Elif(gone & ends):
            m.d.sync += at.eq(0)
        with m.If(lets):
            m.d.sync += [giving.eq(self._behind(giving)), full.bit_select(giving, 1).eq(0)]
        for n, memory in enumerate(halves):
            m.submodules[f"half{n}"] = memory
            with m.If(takes & (filling == n)):
                m.d.comb += [memory.enable.eq(1), memory.address.eq(line), memory.data.eq(self.i.payload), memory.write.eq(1)]
            with m.Elif(reads & (half == n)):
                m.d.comb += [memory.enable.eq(1), memory.address.eq(place)]
        return m

    def _behind(self, group: Signal) -> Value:
        """The group that comes behind one."""
        return ~group if self.groups == 2 else Mux(group == self.groups - 1, 0, group + 1)
