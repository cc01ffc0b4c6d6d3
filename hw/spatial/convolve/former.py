"""Fibers of a compressed tensor become vectors, a few elements of a fiber at a time."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.token import DATA_BITS
from ...arch.vectored import Side, Vectored
from ...emit import macro
from ...stream.fifo import Fifo, Fifo2
from ...stream.lead import lead
from .cartesian import element


class Former(wiring.Component):
    """Puts the elements of fibers into vectors, and marks the last one of each fiber, and of the last fiber of a tensor.

    Behaviour: with 2 elements in a vector, fibers of 3 and 0 elements become ``a b``, ``c -`` marked last, ``- -`` marked last
    and end.

    Parameters
    ----------
    array : Vectored
    side : Side         One of its sides.

    Members
    -------
    level : In(stream)       16-bit words, as `LevelFeeder` gives them: segments and coordinates, each behind their number.
    values : In(stream)      16-bit words: values behind their number.
    o0, ... : Out(stream)    `element`, of each vector.
    fault : Out(1)           A fiber is longer than is held, or an element is at a place that the side does not reach. Sticky
                             until reset.

    Timing: an element a cycle, and a cycle for a fiber without one; a cycle for each segment and number.
    Source: SCNN III-B (vectors of activations and of weights that are not 0).
    """

    def __init__(self, array: Vectored, side: Side) -> None:
        kind = array.kind
        is_left = side is array.left
        self.fibers, self.reach = array.fibers, side.reach(array.extents)
        self.size, self.bits = (kind.left, kind.left_bits) if is_left else (kind.right, kind.right_bits)
        # Those of the right side are held, in so many vectors.
        self.most = 0 if is_left else kind.stored * kind.right
        self.element = element(kind, self.bits)
        self.module_name = f"{kind.name.lower()}_form_{'left' if is_left else 'right'}"
        self._wrong = Signal(name="wrong")
        self._told = Signal(name="told")
        words = stream.Signature(DATA_BITS)
        super().__init__({"level": In(words), "values": In(words), "fault": Out(1),
                          **{f"o{n}": Out(stream.Signature(self.element)) for n in range(self.size)}})

    @property
    def emit_key(self) -> str:
        return repr((self.module_name, self.fibers, self.reach, self.size, self.bits, self.most, self.element))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.lengths = lengths = macro(Fifo(DATA_BITS, self.fibers))
        lines = [macro(Fifo2(self.element)) for _ in range(self.size)]
        for n, line in enumerate(lines):
            m.submodules[f"line{n}"] = line
            lead(m, line.o, getattr(self, f"o{n}"))
        before = Signal(DATA_BITS)          # a segment
        fiber = Signal(range(self.fibers + 1))
        apart = Signal(DATA_BITS)
        word = self.level.payload
        # A request ends with the element that is wrong, and is told so at once.
        m.d.comb += [apart.eq(word - before), self.fault.eq(self._told | self._wrong)]
        m.d.sync += self._told.eq(self.fault)
        with m.FSM():
            with m.State("SEGMENTS"):
                m.d.comb += self.level.ready.eq(1)
                with m.If(self.level.valid):
                    m.next = "FIRST"
            with m.State("FIRST"):
                m.d.comb += self.level.ready.eq(1)
                with m.If(self.level.valid):
                    m.d.sync += before.eq(word)
                    m.next = "OTHERS"
            with m.State("OTHERS"):
                m.d.comb += [self.level.ready.eq(1), lengths.i.payload.eq(apart), lengths.i.valid.eq(self.level.valid)]
                with m.If(self.level.valid):
                    m.d.sync += [before.eq(word), fiber.eq(fiber + 1)]
                    if self.most:
                        m.d.comb += self._wrong.eq(apart > self.most)
                    with m.If(fiber == self.fibers - 1):
                        m.d.sync += fiber.eq(0)
                        m.next = "NUMBERS"
            with m.State("NUMBERS"):
                m.d.comb += [self.level.ready.eq(self.values.valid), self.values.ready.eq(self.level.valid)]
                with m.If(self.level.valid & self.values.valid):
                    m.next = "FIBERS"
            with m.State("FIBERS"):
                ends = self._vectors(m, lines, lengths.o.payload, fiber == self.fibers - 1)
                m.d.comb += lengths.o.ready.eq(ends)
                with m.If(ends):
                    m.d.sync += fiber.eq(fiber + 1)
                    with m.If(fiber == self.fibers - 1):
                        m.d.sync += fiber.eq(0)
                        m.next = "SEGMENTS"
        return m

    def _vectors(self, m: Module, lines: list[Any], length: Value, is_last: Value) -> Signal:
        """Vectors of a fiber; whether it ends."""
        empty = length == 0
        at = Signal(DATA_BITS)
        nth = Signal(range(self.size))
        last = Signal()
        whole = Signal()        # a vector is, with the element that is here
        steps = Signal()
        ends = Signal()
        room = Cat(line.i.ready for line in lines).all()
        there = Signal()
        m.d.comb += [
            last.eq(empty | (at == length - 1)), whole.eq(last | (nth == self.size - 1)),
            there.eq(empty | (self.level.valid & self.values.valid)), steps.eq(there & (~whole | room)), ends.eq(steps & last),
            self.level.ready.eq(steps & ~empty), self.values.ready.eq(steps & ~empty)]
        place, value = self.level.payload, self.values.payload[:self.bits]
        with m.If(steps):
            m.d.sync += [at.eq(Mux(last, 0, at + 1)), nth.eq(Mux(whole, 0, nth + 1))]
            m.d.comb += self._wrong.eq(~empty & (place > self.reach))
        for n, line in enumerate(lines):
            made: Any = Signal(self.element, name=f"made{n}")
            mine = ~empty & (nth == n)
            m.d.comb += [made.value.eq(value), made.place.eq(place), made.there.eq(mine), made.last.eq(last),
                         made.end.eq(last & is_last), line.i.payload.eq(made), line.i.valid.eq(steps & whole)]
            if n < self.size - 1:
                held: Any = Signal(self.element, name=f"held{n}")       # an element that came before
                with m.If(steps):
                    m.d.sync += [held.value.eq(made.value), held.place.eq(made.place), held.there.eq(made.there & ~whole)]
                with m.If(held.there):
                    m.d.comb += [made.value.eq(held.value), made.place.eq(held.place), made.there.eq(1)]
        return ends
