"""Between runs of bytes anywhere in memory and a stream of whole words, which are moved at the rate of the bus."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.dma import MOST_SIZE, SPAN_BITS
from .lanes import PART, WORD

# Bytes of a run; of a word and what is left of the one before.
BYTES_BITS = SPAN_BITS + MOST_SIZE
HELD_BITS = 64 + 56


class _Realign(wiring.Component):
    """What both directions share: the run that goes on, how many of its bytes go now, and those that are held."""

    def __init__(self, words: wiring.Member, name: str, others: wiring.Member, other: str) -> None:
        super().__init__({"size": In(2), "run": In(stream.Signature(PART)), name: words, other: others, "ended": Out(1),
                          "goes": Out(1), "ragged": Out(1)})

    def _run(self, m: Module, takes: Signal) -> tuple[Signal, Signal, Signal, Signal, Signal]:
        """Whether there is a run, whether bytes in memory go now, how many go, their place in a word, and whether the run ends
        with them; `takes`: they go."""
        going = Signal()
        last = Signal()
        offset = Signal(3)
        there = Signal(BYTES_BITS)
        pad = Signal(BYTES_BITS)
        inside = Signal()
        count = Signal(4)
        room = Signal(4)
        left = Signal(BYTES_BITS)
        ends = Signal()
        m.d.comb += [inside.eq(there != 0), room.eq(Mux(inside, 8 - offset, 8)), left.eq(Mux(inside, there, pad)),
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

    Behaviour: offset 6, 4 bytes there, 2 not; then offset 0, 2 there: two bytes of a word, two of the next one, two zeros, two
    bytes of a third one, which are a word.

    Members
    -------
    size : In(2)            Logarithm of the bytes of an element; while there is a run it stays.
    run : In(stream)        `PART`, of one element or more.
    word : In(stream)       Words of 64 bits; each run begins with one of its own, if it has an element that is there.
    o : Out(stream)         Words of 64 bits.
    ended : Out(1)          The last byte of a run that was marked is taken.
    ragged : Out(1)         With `ended`: what the request brought is no whole number of words. What is over is dropped.
    goes : Out(1)           There is a run; from a register.

    Timing: a word of memory a cycle; `run.ready` and `word.ready` follow `o.ready` in the same cycle.
    Source: a design of its own.
    """

    module_name = "dma_gather"

    def __init__(self) -> None:
        words = stream.Signature(64)
        super().__init__(In(words), "word", Out(words), "o")

    def elaborate(self, platform: object) -> Module:
        m = Module()
        takes = Signal()
        going, inside, count, offset, _ = self._run(m, takes)
        held = Signal(3)
        kept = Signal(HELD_BITS - 64)
        total = Signal(4)
        fresh = Signal(64)
        joined = Signal(HELD_BITS)
        emits = Signal()
        m.d.comb += [
            total.eq(held + count), emits.eq(total >= 8),
            fresh.eq(Mux(inside, (self.word.payload >> (offset << 3)) & _low(count), 0)),
            joined.eq(kept | fresh << (held << 3)), self.o.payload.eq(joined),
            self.o.valid.eq(going & emits & (~inside | self.word.valid)),
            takes.eq(going & (~inside | self.word.valid) & (~emits | self.o.ready)),
            self.word.ready.eq(takes & inside), self.ragged.eq(self.ended & (total[:3] != 0)),
        ]
        with m.If(takes):
            m.d.sync += [held.eq(Mux(self.ended, 0, total)), kept.eq(Mux(self.ended, 0, Mux(emits, joined >> 64, joined)))]
        return m


class Scatter(_Realign):
    """Puts whole words where the bytes of runs are.

    Behaviour: the opposite of `Gather`; bytes that are not there are dropped.

    Members
    -------
    size, run, ended, goes    As of `Gather`.
    i : In(stream)            Words of 64 bits.
    word : Out(stream)        `WORD`: each run begins a new one, if it has an element that is there.
    ragged : Out(1)           With `ended`: the request took no whole number of words. What is over is dropped.

    Timing: a word of memory a cycle; `i.ready` and `run.ready` follow `word.ready` in the same cycle.
    Source: a design of its own.
    """

    module_name = "dma_scatter"

    def __init__(self) -> None:
        super().__init__(In(stream.Signature(64)), "i", Out(stream.Signature(WORD)), "word")

    def elaborate(self, platform: object) -> Module:
        m = Module()
        takes = Signal()
        going, inside, count, offset, _ = self._run(m, takes)
        held = Signal(3)
        kept = Signal(HELD_BITS - 64)
        joined = Signal(HELD_BITS)
        needs = Signal()
        left = Signal(4)
        m.d.comb += [
            needs.eq(count > held), joined.eq(kept | Mux(needs, self.i.payload, 0) << (held << 3)),
            left.eq(held + Mux(needs, 8, 0) - count),
            self.word.payload.data.eq(joined[:64] << (offset << 3)),
            self.word.payload.strobe.eq(Cat(count > at for at in range(8)) << offset),
            self.word.valid.eq(going & inside & (~needs | self.i.valid)),
            takes.eq(going & (~needs | self.i.valid) & (~inside | self.word.ready)), self.i.ready.eq(takes & needs),
            self.ragged.eq(self.ended & (left != 0)),
        ]
        with m.If(takes):
            m.d.sync += [held.eq(Mux(self.ended, 0, left)), kept.eq(Mux(self.ended, 0, joined >> (count << 3)))]
        return m


def _low(count: Value) -> Value:
    """The bits of so many low bytes of 8."""
    return Cat((count > at).replicate(8) for at in range(8))
