"""Segment stage: finds where the fibers of a level begin and end, ahead of the scan."""

from __future__ import annotations

from itertools import pairwise

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.token import DATA_BITS
from .level_buffer import ReadPort
from .level_writer import SEGMENTS

# What is to be emitted, in this order: S0 if `stop`; the token `control start` if `literal`, else entries of the segments if
# `control`, else of the coordinates. `last` ends the level.
_COMMON = {"stop": 1, "literal": 1, "control": 1, "last": 1, "start": DATA_BITS}
# With `fiber`, start is the number of a fiber whose entries are to be looked up; with `none` there are no entries. Else a whole
# array has the entries 0..start-1, a look-up start alone, a dense fiber as many from start on as the extent.
_REQUEST = _COMMON | {"fiber": 1, "none": 1}


def request_layout(locates: bool) -> data.StructLayout:
    """A request. Where coordinates are located, `plus` is added to start, which has no fiber then: after a register, as start
    comes from a multiplier."""
    return data.StructLayout(_REQUEST | ({"plus": DATA_BITS} if locates else {}))


def entries_layout(words: int) -> data.StructLayout:
    """Looked up: the entries start..end-1 of an array of so many words; of a dense fiber or a look-up, end 0 says that there
    are none."""
    return data.StructLayout(_COMMON | {"end": range(words + 1)})


class SegmentStage(wiring.Component):
    """Looks up segments, one line for as many fibers as it holds.

    Behaviour: fiber r becomes entries seg[r]..seg[r+1]. The line last read is kept, and the last word of the
    line before it, so that fibers in sequence, or the same one again, need one read per line. What emits
    nothing is dropped: it is offered, and `drops` says so a cycle later.

    Parameters
    ----------
    lines, lanes : int     Size of a half.
    depth : int            Entries that `o` takes without being asked: its FIFO.
    locates : bool         Requests have a `plus`.

    Members
    -------
    block : In(1)                  Requests are for whole arrays.
    i : In(stream of `request_layout`)
    o : Out(stream of `entries_layout`)     Never waits: `taken` gives room back.
    drops : Out(1)                 What `o` offered in the cycle before does not count; 0 if that was nothing.
    taken : In(1)                  One entry has left the FIFO after `o`.
    segments : Out(ReadPort)

    Timing: one request per cycle; one read if its line is not kept, two if its pair of segments straddles two
    lines and the first is not kept. Latency 2 from `i` to `o`.
    Source: Onyx JSSC III-B (Seg/Val state machine, reservation buffer).
    """

    def __init__(self, lines: int, lanes: int, depth: int, locates: bool) -> None:
        self.lines, self.lanes, self.depth, self.locates = lines, lanes, depth, locates
        self.request, entries = request_layout(locates), entries_layout(lines * lanes)
        super().__init__({"block": In(1), "i": In(stream.Signature(self.request)),
                          "o": Out(stream.Signature(entries, always_ready=True)), "drops": Out(1), "taken": In(1),
                          "segments": Out(ReadPort(lines, lanes))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        asking = Signal(self.request, reset_less=True)
        moves = Signal()
        self._ask(m, asking, moves)
        self._look_up(m, asking, moves)
        return m

    def _ask(self, m: Module, asking: data.View, moves: Signal) -> None:
        """A request waits here for room and lines; it `moves` when all it needs is there or on its way."""
        port = self.segments
        lane_bits = (self.lanes - 1).bit_length()
        # The line that the look-up will hold by the time the request gets there, and whether it then also
        # holds the last word of the line before.
        kept = Signal(len(port.line), reset_less=True)
        kept_valid = Signal()
        before_valid = Signal()
        before = Signal(len(port.line), reset_less=True)     # kept - 1: the request's next line need not be known to compare.
        room = Signal(range(self.depth + 1), init=self.depth)
        line = Signal(len(port.line))
        next_line = Signal(len(port.line))
        lane = Signal(lane_bits)
        here = Signal()
        straddles = Signal()
        has_first = Signal()
        hit = Signal()
        arrives = Signal()
        granted = Signal()
        m.d.comb += [
            lane.eq(asking.start), line.eq(asking.start >> lane_bits), next_line.eq(line + 1),
            straddles.eq(lane == self.lanes - 1),
            has_first.eq(kept_valid & (kept == line)),
            hit.eq(Mux(straddles, before_valid & (before == line), has_first)),
            port.request.eq(here & (room != 0) & asking.fiber & ~hit),
            port.array.eq(SEGMENTS),
            port.line.eq(Mux(straddles & has_first, next_line, line)),
            granted.eq(port.request & port.free),
            arrives.eq(port.free & (~straddles | has_first)),   # what is asked for
            moves.eq(here & (room != 0) & (~asking.fiber | hit | arrives)),
            self.i.ready.eq(~here | moves),
        ]
        with m.If(self.i.ready):
            m.d.sync += [asking.eq(self.i.payload), here.eq(self.i.valid)]
        with m.If(granted):
            m.d.sync += [kept.eq(port.line), kept_valid.eq(1), before.eq(port.line - 1),
                         before_valid.eq(kept_valid & (port.line == kept + 1))]
        # Lines of the next level are others, under the same numbers.
        with m.If(moves & asking.last):
            m.d.sync += [kept_valid.eq(0), before_valid.eq(0)]
        m.d.sync += room.eq(room - moves + self.taken + self.drops)

    def _look_up(self, m: Module, asking: data.View, moves: Signal) -> None:
        """One cycle later the line has arrived."""
        port, entries = self.segments, self.o.payload
        found = Signal(data.StructLayout(_REQUEST), reset_less=True)
        looking = Signal()
        loads = Signal()
        # Segments are at most the entries that fit: of each word only so many bits are kept.
        bits = len(entries.end)
        segments = data.ArrayLayout(bits, self.lanes)
        line = Signal(segments, reset_less=True)
        line_now = Signal(segments)
        before = Signal(bits, reset_less=True)
        before_now = Signal(bits)
        arrived = Cat(port.words.word_select(each, DATA_BITS)[:bits] for each in range(self.lanes))
        # What does not move is overwritten: it is not looked at.
        m.d.sync += [looking.eq(moves), loads.eq(port.request & port.free)]
        m.d.sync += [found[name].eq(asking[name]) for name in _REQUEST]
        if self.locates:
            m.d.sync += found.start.eq(asking.start + asking.plus)
        m.d.comb += [line_now.eq(Mux(loads, arrived, line)),
                     before_now.eq(Mux(loads, line[self.lanes - 1], before))]
        m.d.sync += [line.eq(line_now), before.eq(before_now)]

        m.d.comb += [entries[name].eq(found[name]) for name in _COMMON if name != "start"]
        lane = found.start[:(self.lanes - 1).bit_length()]
        # A pair that straddles lines starts in the last word of the line before.
        starts = Array([*(line_now[each] for each in range(self.lanes - 1)), before_now])
        ends = Array([*(line_now[each] for each in range(1, self.lanes)), line_now[0]])
        with m.If(found.fiber):
            m.d.comb += [entries.start.eq(starts[lane]), entries.end.eq(ends[lane])]
        with m.Else():
            m.d.comb += [entries.start.eq(Mux(self.block & ~found.literal, 0, found.start)),
                         entries.end.eq(Mux(self.block, found.start, ~found.none))]
        m.d.comb += self.o.valid.eq(looking)
        # Whether there are none is found a cycle later in the lines kept, as the SRAM takes its time.
        silent = looking & ~found.stop & ~found.literal
        same_words = Signal()
        none = Signal()
        lane_before = Signal.like(lane, reset_less=True)
        m.d.sync += [same_words.eq(silent & found.fiber), none.eq(silent & found.none),
                     lane_before.eq(lane)]
        pairs = Cat(*(one == other for one, other in pairwise(line)), before == line[0])
        m.d.comb += self.drops.eq(none | (same_words & pairs.bit_select(lane_before, 1)))
