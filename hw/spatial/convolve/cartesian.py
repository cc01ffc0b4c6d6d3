"""An array of Cartesian products: multipliers, a crossbar, and banks of sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import Component, In, Out

from ...arch.cartesian import LEFT, RIGHT, Cartesian
from ...emit import macro
from ...stream.fifo import Fifo
from ..element_logic import computed
from .replay import Replay
from .sum_bank import SumBank


def element(kind: Cartesian, bits: int) -> data.StructLayout:
    """A word of an input stream, whose value has so many bits: what marks the end of a fiber and of all counts in the first
    of a vector."""
    return data.StructLayout({"value": bits, "place": kind.place_bits, "there": 1, "end": 1, "last": 1})


class CartesianArray(Component):
    """Joins each vector of one fiber with all vectors of the other one, and adds the products, or other values, up by place.

    Behaviour: fibers come in pairs, whose last vectors are marked `last`; a fiber has one vector or more, in which elements may
    not be `there`. With the last vector of the left fiber that is marked `end`, too, all sums leave, and are 0 again.

    Parameters
    ----------
    kind : Cartesian

    Members
    -------
    left0, right0, ... : In(stream)     `element`, of each vector.
    o0, ... : Out(stream)               The sums of each bank in the order of places.

    Timing: a pair of vectors a cycle, if no bank gets more products than it adds, one a cycle. Sums leave while the next ones
    are added up. Between a fiber's last vector and the end of all are some cycles in which products find their banks.
    Source: SCNN IV, Fig. 6. Departure: no halos are exchanged; sums have room for all places.
    """

    def __init__(self, kind: Cartesian) -> None:
        self.kind, self.module_name = kind, kind.name.lower()
        left, right = (stream.Signature(element(kind, bits)) for bits in (kind.left_bits, kind.right_bits))
        super().__init__({f"left{n}": In(left) for n in range(kind.left)} | {f"right{n}": In(right) for n in range(kind.right)}
                         | {f"o{n}": Out(stream.Signature(kind.sum_bits)) for n in range(kind.banks)})

    @property
    def emit_key(self) -> Cartesian:
        return self.kind

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        kind = self.kind
        left, right = ([getattr(self, f"{side}{n}") for n in range(count)]
                       for side, count in (("left", kind.left), ("right", kind.right)))
        held_as = element(kind, kind.right_bits)
        bits = held_as.size
        m.submodules.replay = replay = macro(Replay(kind.stored, kind.right * bits, kind.fibers))
        joined = Signal()
        # The mark of the last vector is in its highest bit.
        m.d.comb += [joined.eq(Cat(each.valid for each in right).all()), replay.i.valid.eq(joined),
                     replay.i.payload.eq(Cat(Value.cast(each.payload) for each in right[::-1])),
                     *(each.ready.eq(joined & replay.i.ready) for each in right)]
        held = [data.View(held_as, replay.o.payload.word_select(kind.right - 1 - n, bits)) for n in range(kind.right)]
        steps = Signal()
        moves = Signal()
        closing = Signal()          # all has been multiplied
        pending = Signal()          # products wait for their FIFOs
        quiet = Signal()
        banks = [macro(SumBank(kind.words, kind.sum_bits)) for _ in range(kind.banks)]
        busy = Signal()
        ready = Signal()            # sums have been set to 0
        flip = Signal()
        m.d.comb += busy.eq(Cat(bank.busy for bank in banks).any())
        with m.If(~busy):
            m.d.sync += ready.eq(1)
        first: Any = left[0].payload
        m.d.comb += [
            steps.eq(Cat(each.valid for each in left).all() & replay.o.valid & ~closing & ready & (~pending | moves)),
            replay.o.ready.eq(steps), replay.free.eq(first.last),
            *(each.ready.eq(steps & held[0].last) for each in left)]
        with m.If(steps):
            m.d.sync += [pending.eq(1), closing.eq(held[0].last & first.last & first.end)]
        with m.Elif(moves):
            m.d.sync += pending.eq(0)
        fifos = self._products(m, [each.payload for each in left], held, steps, pending, moves)
        adds = self._crossbar(m, fifos, banks)
        waited = Signal()           # what was added last is in its sum
        m.d.comb += [quiet.eq(closing & ~pending & ~Cat(fifo.o.valid for each in fifos for fifo in each).any() & ~adds),
                     flip.eq(quiet & waited & ~busy)]
        m.d.sync += waited.eq(quiet & ~flip)
        with m.If(flip):
            m.d.sync += closing.eq(0)
        for n, bank in enumerate(banks):
            port = getattr(self, f"o{n}")
            m.submodules[f"bank{n}"] = bank
            m.d.comb += [bank.flip.eq(flip), port.payload.eq(bank.o.payload), port.valid.eq(bank.o.valid),
                         bank.o.ready.eq(port.ready)]
        return m

    def _products(self, m: Module, left: Sequence[Any], right: Sequence[Any], steps: Value, pending: Value,
                  moves: Signal) -> list[list[Any]]:
        """The products of two vectors, each in the FIFO of its lane, all at once."""
        kind = self.kind
        low, bits = (kind.lanes - 1).bit_length(), kind.product_bits
        fifos, room = [], []
        for n in range(kind.left * kind.right):
            a, b = left[n // kind.right], right[n % kind.right]
            there = Signal(name=f"there{n}")
            place = Signal(kind.place_bits, name=f"place{n}")
            value = Signal(bits, name=f"product{n}")
            with m.If(steps):
                m.d.sync += [there.eq(a.there & b.there), place.eq(a.place + b.place),
                             value.eq(computed(kind.value, {LEFT: a.value.as_signed(), RIGHT: b.value.as_signed()}))]
            mine = []
            for lane in range(kind.lanes):
                fifo = macro(Fifo(bits + kind.place_bits - low, kind.depth))
                m.submodules[f"fifo{n}_{lane}"] = fifo
                goes = there if kind.lanes == 1 else there & (place[:low] == lane)
                m.d.comb += [fifo.i.payload.eq(Cat(place[low:], value)), fifo.i.valid.eq(pending & moves & goes)]
                room.append(fifo.i.ready | ~goes)
                mine.append(fifo)
            fifos.append(mine)
        m.d.comb += moves.eq(pending & Cat(room).all())
        return fifos

    def _crossbar(self, m: Module, fifos: list[list[Any]], banks: Sequence[Any]) -> Value:
        """A product for each bank, of those that wait the one whose turn it is; whether there is any."""
        kind = self.kind
        low, high = (kind.lanes - 1).bit_length(), (kind.banks - 1).bit_length()
        count = len(fifos)
        behind = Signal(count)      # whose turn it is first
        m.d.sync += behind.eq(Mux(behind == 0, (1 << count) - 1, behind << 1))
        taken: list[list[list[Value]]] = [[[] for _ in each] for each in fifos]
        for n, bank in enumerate(banks):
            lane = n % kind.lanes
            asks = Signal(count, name=f"asks{n}")
            later = Signal(count, name=f"later{n}")
            turn = Signal(count, name=f"turn{n}")
            heads = [each[lane].o for each in fifos]
            mine = [head.valid if high == low else head.valid & (head.payload[:high - low] == n // kind.lanes)
                    for head in heads]
            first = Mux(later.any(), later, asks)
            m.d.comb += [asks.eq(Cat(mine)), later.eq(asks & behind), turn.eq(first & (~first + 1)), bank.valid.eq(asks.any())]
            for at, head in enumerate(heads):
                taken[at][lane].append(turn[at])
                with m.If(turn[at]):
                    m.d.comb += [bank.address.eq(head.payload[high - low:kind.place_bits - low]),
                                 bank.value.eq(head.payload[kind.place_bits - low:].as_signed())]
        for each, grants in zip(fifos, taken, strict=True):
            for fifo, found in zip(each, grants, strict=True):
                m.d.comb += fifo.o.ready.eq(Cat(found).any())
        return Cat(bank.valid for bank in banks).any()
