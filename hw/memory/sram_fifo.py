"""A deep FIFO whose words are in a single-port SRAM, two in a line, so that one is written and one read in every two cycles."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Elaboratable, Module, Mux, Shape, ShapeLike, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from ..emit import macro
from .sram import Sram

# Words in front of the SRAM, and behind it. With fewer behind it one would be missing while the next line is read.
TAIL, FRONT = 3, 4


class SramFifo(Component):
    """First-in first-out buffer, cycle by cycle like `Fifo` of `hw.stream`.

    Behaviour: words go to `FRONT` registers that face the output as long as nothing waits elsewhere, else to `TAIL` ones, and
    from there by two to a line of the SRAM. A line is read when there is room for it in front; what is left in the tail follows
    when all lines have. Reads come first: no two follow each other, as a line is two words, so the tail never has a word too
    many.

    Parameters
    ----------
    shape : ShapeLike      Payload.
    depth : int            Entries, 8 or more.

    Members
    -------
    i : In(stream)
    o : Out(stream)

    Timing: that of `Fifo`: latency 1, a word a cycle at every level, and when full the next one a cycle after one has left.
    `o.valid`, `i.ready` and `o.payload` come from registers.
    Source: a design of its own. Of 65 words of 49 bits it takes 308 um2 in ASAP7 cells and an SRAM, `Fifo` 2,069.
    """

    latency = 1
    any_payload = True

    def __init__(self, shape: ShapeLike, depth: int) -> None:
        if depth < 2 * FRONT:
            raise ValueError(f"a FIFO in an SRAM has {2 * FRONT} entries or more, not {depth}")
        self.width, self.depth = Shape.cast(shape).width, depth
        self.module_name = f"sram_fifo_w{self.width}_d{depth}"
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        lines = -(-self.depth // 2)
        m.submodules.sram = sram = macro(Sram(lines, 2, self.width))
        level = Signal(range(self.depth + 1))
        stored = Signal(range(lines + 1))
        place = Signal(range(lines))
        following = Signal(range(lines))
        coming = Signal()       # a line was read in the cycle before
        tail = [Signal(self.width, name=f"tail{nth}", reset_less=True) for nth in range(TAIL)]
        waiting = Signal(range(TAIL + 1))
        front = [Signal(self.width, name=f"front{nth}", reset_less=True) for nth in range(FRONT)]
        shown = Signal(range(FRONT + 1))
        first = Signal(range(FRONT))
        free = Signal(range(FRONT))
        push = Signal()
        pop = Signal()
        alone = Signal()
        read = Signal()
        write = Signal()
        moves = Signal()
        direct = Signal()
        m.d.comb += [
            self.i.ready.eq(level != self.depth), self.o.valid.eq(shown != 0), self.o.payload.eq(Array(front)[first]),
            push.eq(self.i.valid & self.i.ready), pop.eq(self.o.valid & self.o.ready),
            # Whether what comes next in front is in the tail, or not here yet.
            alone.eq((stored == 0) & ~coming),
            read.eq((stored != 0) & (shown + Cat(Const(0, 1), coming) <= FRONT - 2)),
            moves.eq(alone & (waiting != 0) & (shown != FRONT)),
            direct.eq(alone & (waiting == 0) & (shown != FRONT) & push),
            write.eq((waiting >= 2) & ~read & ~moves),
            sram.enable.eq(read | write), sram.write.eq(Cat(write, write)), sram.data.eq(Cat(tail[0], tail[1])),
            sram.address.eq(Mux(write, following, place))]
        m.d.sync += [
            level.eq(level + push - pop), coming.eq(read), stored.eq(stored + write - read),
            shown.eq(shown + Cat(Const(0, 1), coming) + (moves | direct) - pop), first.eq(first + pop),
            free.eq(free + Cat(Const(0, 1), coming) + (moves | direct))]
        for address, goes in ((place, read), (following, write)):
            with m.If(goes):
                m.d.sync += address.eq(Mux(address == lines - 1, 0, address + 1))
        for nth, word in enumerate(front):
            with m.If(coming & (free == nth)):
                m.d.sync += word.eq(sram.word[:self.width])
            with m.Elif(coming & (free == (nth - 1) % FRONT)):
                m.d.sync += word.eq(sram.word[self.width:])
            with m.Elif((moves | direct) & (free == nth)):
                m.d.sync += word.eq(Mux(moves, tail[0], self.i.payload))
        left = Signal(range(TAIL + 1))
        m.d.comb += left.eq(waiting - moves - Cat(Const(0, 1), write))
        m.d.sync += waiting.eq(left + (push & ~direct))
        for nth, word in enumerate(tail):
            with m.If(push & (left == nth)):
                m.d.sync += word.eq(self.i.payload)
            with m.Elif(moves & (nth + 1 < TAIL)):
                m.d.sync += word.eq(tail[min(nth + 1, TAIL - 1)])
            with m.Elif(write & (nth + 2 < TAIL)):
                m.d.sync += word.eq(tail[min(nth + 2, TAIL - 1)])
        return m
