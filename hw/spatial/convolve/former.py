"""Fibers of a compressed tensor become vectors, two elements of a fiber at a time."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.dma import ADDRESS_BITS, ELEMENT_BITS
from ...arch.token import DATA_BITS
from ...arch.vectored import NOWHERE, Side, Vectored
from ...emit import macro
from ...stream.fifo import Fifo, Fifo2
from ...stream.lead import lead
from ..buffer.counted import RUN
from .cartesian import element


class Former(wiring.Component):
    """Puts the elements of fibers into vectors, and marks the last one of each fiber, and of the last fiber of a tensor.

    Behaviour: with 2 elements in a vector, fibers of 3 and 0 elements become ``a b``, ``c -`` marked last, ``- -`` marked last
    and end. Elements come in pairs, of which the second one may be nowhere; a vector begins with a pair.

    Parameters
    ----------
    array : Vectored
    side : Side         One of its sides.

    Members
    -------
    segments : In(stream)               Of 32 bits, in pairs; they may go on from those of tensors before.
    coordinates, values : In(stream)    Pairs, the first one in the low half; of an empty tensor one that is none.
    coordinates_run, values_run : Out(stream)     `RUN` of each tensor, in pairs.
    o0, ... : Out(stream)    `element`, of each vector.
    torn : Out(1)            Of a tensor there are some segments, and not all.
    fault : Out(1)           Segments fall or are too far apart, a fiber is longer than is held, an element is at a place that
                             the side does not reach, or is the second one of a pair of which an odd vector has room for one.
                             From the cycle in which that comes, sticky until reset.

    Timing: a pair a cycle, and a cycle for a fiber without one; a segment a cycle, those of the next tensor meanwhile.
    Source: SCNN III-B (vectors of activations and of weights that are not 0).
    """

    def __init__(self, array: Vectored, side: Side) -> None:
        kind = array.kind
        is_left = side is array.left
        self.fibers, self.reach = array.fibers, side.reach(array.extents)
        self.size, self.bits = (kind.left, kind.left_bits) if is_left else (kind.right, kind.right_bits)
        self.pairs = array.pairs(side)
        # Those of the right side are held, in so many vectors.
        self.most = (1 << DATA_BITS) - 1 if is_left else kind.stored * self.pairs
        self.value_bits = array.value_bits(side)
        self.element = element(kind, self.bits)
        self.module_name = f"{kind.name.lower()}_form_{'left' if is_left else 'right'}"
        elements, runs = stream.Signature(ELEMENT_BITS), stream.Signature(RUN)
        super().__init__({"segments": In(elements), "coordinates": In(elements), "values": In(elements),
                          "coordinates_run": Out(runs), "values_run": Out(runs), "torn": Out(1), "fault": Out(1),
                          **{f"o{n}": Out(stream.Signature(self.element)) for n in range(self.size)}})
        self._wrong = Signal(2, name="wrong")
        self._told = Signal(name="told")

    @property
    def emit_key(self) -> str:
        return repr((self.module_name, self.fibers, self.reach, self.size, self.bits, self.pairs, self.most, self.element))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.lengths = lengths = macro(Fifo(DATA_BITS, 2 * self.fibers))
        m.submodules.empties = empties = macro(Fifo2(1))
        # A request ends with the element that is wrong, and is told so at once.
        m.d.comb += self.fault.eq(self._told | self._wrong.any())
        m.d.sync += self._told.eq(self.fault)
        self._count(m, lengths, empties)
        lines = [macro(Fifo2(self.element)) for _ in range(self.size)]
        for n, line in enumerate(lines):
            m.submodules[f"line{n}"] = line
            lead(m, line.o, getattr(self, f"o{n}"))
        fiber = Signal(range(self.fibers))
        is_last = fiber == self.fibers - 1
        drops = Signal()
        goes = empties.o.valid & lengths.o.valid & ~drops
        ends = self._vectors(m, lines, lengths.o.payload, goes, is_last)
        both = self.coordinates.valid & self.values.valid
        m.d.comb += [lengths.o.ready.eq(ends),
                     empties.o.ready.eq(Mux(drops, both, ends & is_last & ~empties.o.payload))]
        with m.If(ends):
            m.d.sync += [fiber.eq(Mux(is_last, 0, fiber + 1)), drops.eq(is_last & empties.o.payload)]
        with m.If(drops):
            m.d.comb += [self.coordinates.ready.eq(self.values.valid), self.values.ready.eq(self.coordinates.valid)]
            with m.If(both):
                m.d.sync += drops.eq(0)
        return m

    def _count(self, m: Module, lengths: Any, empties: Any) -> None:
        """Lengths of fibers, and the runs of a tensor with its last segment."""
        left = Signal(range(self.fibers + 1))       # segments of the tensor that are to come; 0: its first one is
        first = Signal(ADDRESS_BITS)
        before = Signal(ADDRESS_BITS)
        length = Signal(ADDRESS_BITS)
        count = Signal(ADDRESS_BITS)
        ends = Signal()
        takes = Signal()
        runs = []
        for name in ("coordinates", "values"):
            m.submodules[f"{name}_runs"] = run = macro(Fifo2(RUN))
            lead(m, run.o, getattr(self, f"{name}_run"))
            runs.append(run)
        room = Cat(empties.i.ready, *(run.i.ready for run in runs)).all()
        word = self.segments.payload
        m.d.comb += [
            self.torn.eq(left != 0), length.eq(word - before), count.eq(word - first),
            self.segments.ready.eq((left == 0) | (lengths.i.ready & ((left != 1) | room))),
            takes.eq(self.segments.valid & self.segments.ready & (left != 0)), ends.eq(takes & (left == 1)),
            lengths.i.payload.eq(length), lengths.i.valid.eq(takes), empties.i.payload.eq(count == 0), empties.i.valid.eq(ends),
            self._wrong[0].eq(takes & ((length > self.most) | (count >> DATA_BITS != 0)))]
        for run in runs:
            m.d.comb += [run.i.payload.first.eq(first), run.i.payload.count.eq(count), run.i.valid.eq(ends)]
        with m.If(self.segments.valid & self.segments.ready):
            m.d.sync += before.eq(word)
            with m.If(left == 0):
                m.d.sync += [first.eq(word), left.eq(self.fibers)]
            with m.Else():
                m.d.sync += left.eq(left - 1)

    def _vectors(self, m: Module, lines: list[Any], length: Value, goes: Value, is_last: Value) -> Signal:
        """Vectors of a fiber; whether it ends."""
        empty = length == 0
        at = Signal(DATA_BITS)
        nth = Signal(range(self.pairs))
        last = Signal()
        whole = Signal()        # a vector is, with the pair that is here
        steps = Signal()
        ends = Signal()
        taken = Signal()
        room = Cat(line.i.ready for line in lines).all()
        there = empty | (self.coordinates.valid & self.values.valid)
        m.d.comb += [
            last.eq(empty | (at == length - 1)), whole.eq(last | (nth == self.pairs - 1)),
            steps.eq(goes & there & (~whole | room)), ends.eq(steps & last), taken.eq(steps & ~empty)]
        with m.If(taken):
            m.d.comb += [self.coordinates.ready.eq(1), self.values.ready.eq(1)]
        with m.If(steps):
            m.d.sync += [at.eq(Mux(last, 0, at + 1)), nth.eq(Mux(whole, 0, nth + 1))]
        far = []
        for n, line in enumerate(lines):
            place = self.coordinates.payload.word_select(n % 2, DATA_BITS)
            value = self.values.payload.word_select(n % 2, self.value_bits)[:self.bits]
            made: Any = Signal(self.element, name=f"made{n}")
            mine = Signal(name=f"mine{n}")
            m.d.comb += [mine.eq(~empty & (nth == n // 2) & (place != NOWHERE)),
                         made.value.eq(value), made.place.eq(place), made.there.eq(mine), made.last.eq(last),
                         made.end.eq(last & is_last), line.i.payload.eq(made), line.i.valid.eq(steps & whole)]
            far.append(mine & (place > self.reach))
            if n // 2 < self.pairs - 1:
                held: Any = Signal(self.element, name=f"held{n}")       # an element that came before
                with m.If(steps):
                    m.d.sync += [held.value.eq(made.value), held.place.eq(made.place), held.there.eq(made.there & ~whole)]
                with m.If(held.there):
                    m.d.comb += [made.value.eq(held.value), made.place.eq(held.place), made.there.eq(1)]
        if self.size % 2:
            far.append((nth == self.pairs - 1) & (self.coordinates.payload[DATA_BITS:] != NOWHERE))
        m.d.comb += self._wrong[1].eq(taken & Cat(far).any())
        return ends
