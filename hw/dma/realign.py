"""Between runs of bytes anywhere in memory and a stream of whole words, which are moved at the rate of the bus."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.dma import LEAST_BUS, MOST_SIZE, SPAN_BITS
from .lanes import of_bus, part_layout, word_layout

# Bytes of a run.
BYTES_BITS = SPAN_BITS + MOST_SIZE


class _Realign(wiring.Component):
    """What both directions share: the run that goes on, how many of its bytes go now, and those that are held."""

    def __init__(self, name: str, bus_bytes: int, members: dict[str, wiring.Member]) -> None:
        self.bus_bytes, self.module_name = bus_bytes, of_bus(name, bus_bytes)
        self.word_bits = 8 * bus_bytes
        super().__init__({"size": In(2), "run": In(stream.Signature(part_layout(bus_bytes))), **members, "ended": Out(1),
                          "goes": Out(1), "ragged": Out(1)})

    @property
    def emit_key(self) -> int:
        return self.bus_bytes

    @property
    def held_bits(self) -> int:
        """Of a word and what is left of the one before."""
        return 2 * self.word_bits - 8

    def _run(self, m: Module, takes: Signal) -> tuple[Signal, Signal, Signal, Signal, Signal]:
        """Whether there is a run, whether bytes in memory go now, how many go, their place in a word, and whether the run ends
        with them; `takes`: they go."""
        going = Signal()
        last = Signal()
        offset = Signal(exact_log2(self.bus_bytes))
        there = Signal(BYTES_BITS)
        pad = Signal(BYTES_BITS)
        inside = Signal()
        count = Signal(range(self.bus_bytes + 1))
        room = Signal(range(self.bus_bytes + 1))
        left = Signal(BYTES_BITS)
        ends = Signal()
        m.d.comb += [inside.eq(there != 0), room.eq(self.bus_bytes - Mux(inside, offset, 0)), left.eq(Mux(inside, there, pad)),
                     count.eq(Mux(left > room, room, left)), ends.eq((left <= room) & (~inside | (pad == 0))),
                     self.run.ready.eq(~going | (takes & ends)), self.ended.eq(going & takes & ends & last),
                     self.goes.eq(going)]
        with m.If(self.run.ready):
            run: Any = self.run.payload
            m.d.sync += [going.eq(self.run.valid), last.eq(run.last), offset.eq(run.offset), there.eq(run.there << self.size),
                         pad.eq(run.pad << self.size)]
        with m.Elif(takes):
            with m.If(inside):
                m.d.sync += [there.eq(there - count), offset.eq(0)]
            with m.Else():
                m.d.sync += pad.eq(pad - count)
        return going, inside, count, offset, ends


class Gather(_Realign):
    """Puts the bytes of runs together to whole words.

    Behaviour: of 8 bytes, offset 6, 4 bytes there, 2 not; then offset 0, 2 there: two bytes of a word, two of the next one, two
    zeros, two bytes of a third one, which are a word.

    Parameters
    ----------
    bus_bytes : int         Of a word.

    Members
    -------
    size : In(2)            Logarithm of the bytes of an element; while there is a run it stays.
    run : In(stream)        `part_layout`, of one element or more.
    word : In(stream)       Words of the bus; each run begins with one of its own, if it has an element that is there.
    o : Out(stream)         Words of the bus.
    ended : Out(1)          The last byte of a run that was marked is taken.
    ragged : Out(1)         With `ended`: what the request brought is no whole number of words. What is over is dropped.
    goes : Out(1)           There is a run; from a register.

    Timing: a word of memory a cycle; `run.ready` and `word.ready` follow `o.ready` in the same cycle.
    Source: a design of its own.
    """

    def __init__(self, bus_bytes: int = LEAST_BUS) -> None:
        words = stream.Signature(8 * bus_bytes)
        super().__init__("dma_gather", bus_bytes, {"word": In(words), "o": Out(words)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        takes = Signal()
        going, inside, count, offset, _ = self._run(m, takes)
        held = Signal(range(self.bus_bytes))
        kept = Signal(self.held_bits - self.word_bits)
        total = Signal(range(2 * self.bus_bytes))
        fresh = Signal(self.word_bits)
        joined = Signal(self.held_bits)
        emits = Signal()
        m.d.comb += [
            total.eq(held + count), emits.eq(total >= self.bus_bytes),
            fresh.eq(Mux(inside, (self.word.payload >> (offset << 3)) & self._low(count), 0)),
            joined.eq(kept | fresh << (held << 3)), self.o.payload.eq(joined),
            self.o.valid.eq(going & emits & (~inside | self.word.valid)),
            takes.eq(going & (~inside | self.word.valid) & (~emits | self.o.ready)),
            self.word.ready.eq(takes & inside), self.ragged.eq(self.ended & (total[:-1] != 0)),
        ]
        with m.If(takes):
            m.d.sync += [held.eq(Mux(self.ended, 0, total)),
                         kept.eq(Mux(self.ended, 0, Mux(emits, joined >> self.word_bits, joined)))]
        return m

    def _low(self, count: Value) -> Value:
        """The bits of so many low bytes of a word."""
        return Cat((count > at).replicate(8) for at in range(self.bus_bytes))


class Scatter(_Realign):
    """Puts whole words where the bytes of runs are.

    Behaviour: the opposite of `Gather`; bytes that are not there are dropped.

    Parameters
    ----------
    bus_bytes : int           Of a word.

    Members
    -------
    size, run, ended, goes    As of `Gather`.
    i : In(stream)            Words of the bus.
    word : Out(stream)        `word_layout`: each run begins a new one, if it has an element that is there.
    ragged : Out(1)           With `ended`: the request took no whole number of words. What is over is dropped.

    Timing: a word of memory a cycle; `i.ready` and `run.ready` follow `word.ready` in the same cycle.
    Source: a design of its own.
    """

    def __init__(self, bus_bytes: int = LEAST_BUS) -> None:
        super().__init__("dma_scatter", bus_bytes, {"i": In(stream.Signature(8 * bus_bytes)),
                                                    "word": Out(stream.Signature(word_layout(bus_bytes)))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        takes = Signal()
        going, inside, count, offset, _ = self._run(m, takes)
        held = Signal(range(self.bus_bytes))
        kept = Signal(self.held_bits - self.word_bits)
        joined = Signal(self.held_bits)
        needs = Signal()
        left = Signal(range(self.bus_bytes + 1))
        m.d.comb += [
            needs.eq(count > held), joined.eq(kept | Mux(needs, self.i.payload, 0) << (held << 3)),
            left.eq(held + Mux(needs, self.bus_bytes, 0) - count),
            self.word.payload.data.eq(joined[:self.word_bits] << (offset << 3)),
            self.word.payload.strobe.eq(Cat(count > at for at in range(self.bus_bytes)) << offset),
            self.word.valid.eq(going & inside & (~needs | self.i.valid)),
            takes.eq(going & (~needs | self.i.valid) & (~inside | self.word.ready)), self.i.ready.eq(takes & needs),
            self.ragged.eq(self.ended & (left != 0)),
        ]
        with m.If(takes):
            m.d.sync += [held.eq(Mux(self.ended, 0, left)), kept.eq(Mux(self.ended, 0, joined >> (count << 3)))]
        return m
