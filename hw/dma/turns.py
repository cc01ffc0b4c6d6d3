"""Streams that share one: each has its turn."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out


class Turns(wiring.Component):
    """Gives the words of several streams, each with its number, round robin among those that have one.

    Behaviour: with words at streams 0, 1 and 3, and the last one from 1: from 3, then 0, then 1.

    Parameters
    ----------
    count : int             Streams.
    shape : ShapeLike
    name : str              Of the module.

    Members
    -------
    i0, ... : In(stream)
    o : Out(stream)         `word`, and `of` which stream it is.

    Timing: a word a cycle, in the cycle in which it comes; what is offered may give way to a word of another stream until it is
    taken, so a FIFO follows. `ready` of a stream follows that of `o`.
    Source: a design of its own.
    """

    def __init__(self, count: int, shape: ShapeLike, name: str) -> None:
        self.count, self.module_name = count, name
        self._shape = shape
        layout = data.StructLayout({"word": shape, "of": max(1, (count - 1).bit_length())})
        super().__init__({**{f"i{n}": In(stream.Signature(shape)) for n in range(count)}, "o": Out(stream.Signature(layout))})

    @property
    def emit_key(self) -> tuple[int, str, str]:
        return self.count, repr(self._shape), self.module_name

    def elaborate(self, platform: object) -> Module:
        m = Module()
        given = [getattr(self, f"i{n}") for n in range(self.count)]
        # Streams behind the one that was last, then all.
        behind = Signal(self.count)
        valid = Signal(self.count)
        later = Signal(self.count)
        turn = Signal(self.count)
        m.d.comb += [valid.eq(Cat(each.valid for each in given)), later.eq(valid & behind), self.o.valid.eq(valid.any())]
        first = Mux(later.any(), later, valid)
        m.d.comb += turn.eq(first & (~first + 1))
        for n, each in enumerate(given):
            m.d.comb += each.ready.eq(turn[n] & self.o.ready)
            with m.If(turn[n]):
                m.d.comb += [self.o.payload.word.eq(each.payload), self.o.payload.of.eq(n)]
                with m.If(self.o.ready):
                    m.d.sync += behind.eq(((1 << self.count) - 1) & ~((2 << n) - 1))
        return m
