"""Level buffer: a FIFO of two levels in one single-port SRAM."""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.token import DATA_BITS
from .level_writer import APPEND, COORDINATES, SEGMENTS
from .line_combiner import LineCombiner
from .sram import SramPort

HALVES = 2
SLOTS = 2


def level_layout(words: int) -> data.StructLayout:
    """What a reader is told of a level: the words in its arrays, its second segment.

    The second segment of a dense level is its extent.
    """
    return data.StructLayout({"count": _per_half(words + 1), "extent": DATA_BITS})


def _per_half(limit: int) -> data.ArrayLayout:
    """A number below a limit for each half, or array."""
    return data.ArrayLayout(range(limit), HALVES)


class Slots(NamedTuple):
    """What a buffer knows of its levels, by slot, and which slot is filled, offered, and read."""

    first: data.View
    count: data.View
    held: Signal
    unread: Signal
    filling: Signal
    oldest: Signal
    offered: Signal


class ReadPort(wiring.Signature):
    """Access to lines of a level, from the reader's side: ask until the port is free, the line follows a cycle later.

    Of which level says the port: `LevelBuffer`.

    Parameters
    ----------
    lines, lanes : int     Size of a half.

    Members
    -------
    request : Out(1)
    array : Out(1)         Segments or coordinates.
    line : Out             Line within the array.
    free : In(1)           A request in this cycle is granted; follows no request of this reader.
    words : In             In the cycle after a granted request, and only then.
    """

    def __init__(self, lines: int, lanes: int) -> None:
        super().__init__({"request": Out(1), "array": Out(1), "line": Out(range(lines)),
                          "free": In(1), "words": In(lanes * DATA_BITS)})


class LevelBuffer(wiring.Component):
    """Holds two levels, and one that is being written.

    Behaviour: each half of the SRAM is circular; a level takes whole lines of it. A level is offered to
    readers once all its lines are in the SRAM. While two closed levels are held, the next one is written up to the step
    that closes it, of a dense level nothing. Writing also waits while closed levels take the space that the next
    line needs. A level that alone exceeds a half raises `overflow`
    and is never closed: it and all that follow are neither taken nor given; those before it are still read.
    With `early` a level is offered when its segments are in the SRAM and the number of its coordinates or values is known, if
    that fits a half, a dense one with its extent. Its entries are granted line by line as they are written, and it may be freed
    before it is closed.

    Parameters
    ----------
    lines, lanes : int     SRAM, powers of two: words, and 16-bit lanes of each.
    early : bool           See above.

    Members
    -------
    i : In(stream of APPEND)
    length, ends : In(1)           If early: of this step, see `LevelWriter`.
    count : Out                    Coordinates of the level being written, without this step.
    lead : In(1)                   Segments start with a 0 that is not appended.
    values : In(1)                 Levels are value arrays: they take turns between the halves.
    dense : In(1)                  Levels have an extent.
    level : Out(stream)            The oldest level not yet asked for in full; taken with the last request.
    extent : Out                   Second segment of the oldest level.
    free : In(1)                   The oldest level has been read: its space is writable.
    segments, entries : In         Read ports: for segments of the level that is offered, ahead of the scan; for entries
                                   of the oldest level, which win.
    sram : Out(SramPort)           The SRAM.
    overflow : Out(1)              Sticky.

    Timing: one step of writing per cycle, one access to the SRAM per cycle; where both want it, reading and
    writing take turns, reading first. A level is offered two cycles after its last step, more if the port is busy.
    Source: Onyx JSSC III-B (level buffer, explicit decoupled data orchestration). That value arrays take
    turns between the halves is ours: one of full size can be written while another is read.
    """

    def __init__(self, lines: int, lanes: int, early: bool = False) -> None:
        self.lines, self.lanes, self.early = lines, lanes, early
        half = lines // HALVES
        read_early = {"length": In(1), "ends": In(1)} if early else {}
        super().__init__({"i": In(stream.Signature(APPEND)), "count": Out(range(half * lanes + 1)), "lead": In(1),
                          "values": In(1), "dense": In(1), "extent": Out(DATA_BITS), "free": In(1),
                          "level": Out(stream.Signature(level_layout(half * lanes))),
                          "segments": In(ReadPort(half, lanes)), "entries": In(ReadPort(half, lanes)),
                          "sram": Out(SramPort(lines, lanes)), "overflow": Out(1)} | read_early)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        halves = [LineCombiner(self.lines // HALVES, self.lanes, self.early) for _ in range(HALVES)]
        m.submodules.segments, m.submodules.coordinates = halves
        segments, entries, half, there = self._levels(m, halves)
        self._port(m, halves, Cat((segments + self.segments.line)[:len(self.segments.line)], Const(SEGMENTS, 1)),
                   Cat((entries + self.entries.line)[:len(self.entries.line)], half), there)
        return m

    def _levels(self, m: Module, halves: list[LineCombiner]) -> tuple[Value, Value, Value, Value | None]:
        """Two slots, filled, offered and freed in turn.

        Returns the first line of the segments that are offered, and that of the entries that are read, with their half; if
        early, whether the line of them that is asked for is in the SRAM.
        """
        step, info = self.i.payload, self.level.payload
        size = self.lines // HALVES
        # What a slot holds counts from when `held` and `unread` say so. It is written by the step that closes a level, except
        # for the extent: a level is written before there is a slot for it.
        first = Signal(data.ArrayLayout(_per_half(2 * size), SLOTS), reset_less=True)
        count = Signal(data.ArrayLayout(_per_half(size * self.lanes + 1), SLOTS), reset_less=True)
        extent = Signal(data.ArrayLayout(DATA_BITS, SLOTS), reset_less=True)
        held = Signal(SLOTS)
        unread = Signal(SLOTS)
        filling = Signal()
        offered = Signal()
        oldest = Signal()

        possible = Signal()
        over = Signal()
        commit = Signal()
        place = Signal()
        m.d.comb += [
            place.eq(Mux(self.values, filling, step.array)),
            possible.eq(~(held.bit_select(filling, 1) & (step.close | self.dense)) & ~self.overflow),
            over.eq(self.i.valid & possible & Cat(half.over for half in halves).any()),
            self.i.ready.eq(possible & ~over & ~Cat(half.blocked for half in halves).any()),
            commit.eq(self.i.valid & self.i.ready),
        ]
        with m.If(over):
            m.d.sync += self.overflow.eq(1)
        for number, half in enumerate(halves):
            m.d.comb += [half.append.eq(step.append & (place == number)), half.word.eq(step.word),
                         half.close.eq(step.close), half.slot.eq(filling), half.commit.eq(commit),
                         half.tail.eq(Mux(held.bit_select(oldest, 1), first[oldest][number], half.first))]
        if self.early:
            # Of a block that is a level, another array follows the segments.
            m.d.comb += [halves[SEGMENTS].ends.eq(self.ends), halves[SEGMENTS].apart.eq(~self.lead & ~self.values)]
        m.d.comb += [halves[SEGMENTS].lead.eq(self.lead), self.count.eq(halves[COORDINATES].before)]
        with m.If(commit & step.append & (place == SEGMENTS) & (halves[SEGMENTS].count == 2)):
            m.d.sync += extent[filling].eq(step.word)
        slots = Slots(first, count, held, unread, filling, oldest, offered)
        half = Mux(self.values, oldest, self.entries.array)
        # Of two closed levels the older one is in the SRAM: the step that closed the newer one waited for that.
        waiting = Cat(half.late for half in halves).any() & (offered != filling)
        there = None
        if self.early:
            # Of others nothing is read but what is asked for when it is there.
            waiting = halves[SEGMENTS].late & (offered != filling) & ~self.values & ~self.dense
            self._tell(m, halves, slots, commit)
            there = self._there(halves, slots, half)
        else:
            with m.If(commit & step.close):
                m.d.sync += [held.bit_select(filling, 1).eq(1), unread.bit_select(filling, 1).eq(1),
                             filling.eq(~filling)]
                for number, each in enumerate(halves):
                    m.d.sync += [first[filling][number].eq(each.first), count[filling][number].eq(each.count)]
        m.d.comb += [info.count.eq(count[offered]), info.extent.eq(extent[offered]), self.extent.eq(extent[oldest]),
                     self.level.valid.eq(unread.bit_select(offered, 1) & ~waiting)]
        if not self.early:
            with m.If(self.values):
                m.d.comb += info.count[COORDINATES].eq(count[offered][offered])
        with m.If(self.level.valid & self.level.ready):
            m.d.sync += [unread.bit_select(offered, 1).eq(0), offered.eq(~offered)]

        with m.If(self.free):
            m.d.sync += [held.bit_select(oldest, 1).eq(0), oldest.eq(~oldest)]
        return first[offered][SEGMENTS], first[oldest][half], half, there

    def _tell(self, m: Module, halves: list[LineCombiner], slots: Slots, commit: Value) -> None:
        """Offer the level being written when all but its entries are there, at the latest as it closes.

        It may be freed before it is closed: then it is never held.
        """
        step, filling = self.i.payload, slots.filling
        known = Signal()      # how many entries it has
        told = Signal()
        tells = Signal()
        gone = Signal()
        closes = commit & step.close
        length = Signal(len(slots.count[0][0]), reset_less=True)
        # Of a dense level nothing is read but its extent, and it waits for its slot anyway.
        m.d.comb += tells.eq(Mux(self.dense, commit & self.ends, known & ~told & ~slots.held.bit_select(filling, 1)
                                 & (self.values | ~halves[SEGMENTS].line.valid)))
        with m.If(tells):
            m.d.sync += told.eq(1)
        with m.If(tells | (closes & ~told)):
            m.d.sync += slots.unread.bit_select(filling, 1).eq(1)
            # Values have one count, wherever they are.
            entries = Mux(self.values & ~filling, halves[SEGMENTS].count, halves[COORDINATES].count)
            m.d.sync += [slots.count[filling][SEGMENTS].eq(halves[SEGMENTS].count),
                         slots.count[filling][COORDINATES].eq(Mux(known, length, entries))]
            for number, half in enumerate(halves):
                m.d.sync += slots.first[filling][number].eq(half.first)
        with m.If(commit & self.length & (step.array == COORDINATES) & (step.word <= self.lines // HALVES * self.lanes)):
            m.d.sync += [known.eq(1), length.eq(step.word)]
        with m.If(self.free & ~slots.held.bit_select(slots.oldest, 1)):
            m.d.sync += gone.eq(1)
        with m.If(closes):
            m.d.sync += [known.eq(0), told.eq(0), gone.eq(0), slots.held.bit_select(filling, 1).eq(~gone),
                         filling.eq(~filling)]

    def _there(self, halves: list[LineCombiner], slots: Slots, half: Value) -> Value:
        """Whether a line of entries of the oldest level is in the SRAM: of one being written, those that are full.

        Not the one that waits to be written. Segments, for which this port asks, too, are all there.
        """
        words = Mux(self.values & ~slots.oldest, halves[SEGMENTS].before, halves[COORDINATES].before)
        lines = [each.line for each in reversed(halves)]
        asked = (slots.first[slots.oldest][half] + self.entries.line)[:len(lines[0].payload.address)]
        waits = Mux(half, *(line.valid & (line.payload.address == asked) for line in lines))
        whole = slots.held.bit_select(slots.oldest, 1) | (~self.values & (self.entries.array == SEGMENTS))
        return ~waits & (whole | (self.entries.line < words[(self.lanes - 1).bit_length():]))

    def _port(self, m: Module, halves: list[LineCombiner], segments: Value, entries: Value, there: Value | None) -> None:
        """The SRAM and who has it, from the addresses of both readers; there: whether the line that is asked for is."""
        sram = self.sram
        lines = [half.line for half in halves]
        asked = self.entries.request if there is None else self.entries.request & there
        write = Signal()
        reading = Signal()
        writes = Signal()
        write_next = Signal()         # A line that waits has met a read, and does not meet a second one.
        m.d.comb += [
            writes.eq(Cat(line.valid for line in lines).any()),
            reading.eq(self.segments.request | asked),
            write.eq(write_next | (writes & ~reading)),
            # Of a reader that asks; so it need not know that before it goes on.
            self.entries.free.eq(~write_next if there is None else ~write_next & there),
            self.segments.free.eq(~write_next & ~asked),
            self.segments.words.eq(sram.word), self.entries.words.eq(sram.word),
            sram.enable.eq(writes | reading), sram.write.eq(write.replicate(self.lanes)),
        ]
        m.d.sync += write_next.eq(writes & ~write)

        second = ~lines[0].valid      # The line of the second half is written, as the first has none.
        line = Signal(lines[0].payload.shape())
        m.d.comb += [line.eq(Mux(second, lines[1].payload, lines[0].payload)), sram.data.eq(line.words),
                     lines[0].ready.eq(write), lines[1].ready.eq(write & second)]

        with m.If(write):
            m.d.comb += sram.address.eq(Cat(line.address, second))
        with m.Elif(asked):
            m.d.comb += sram.address.eq(entries)
        with m.Else():
            m.d.comb += sram.address.eq(segments)
