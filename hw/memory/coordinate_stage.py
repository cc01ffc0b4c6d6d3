"""Coordinate stage: emits the entries of arrays, one a cycle."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.token import DATA_BITS
from .level_buffer import ReadPort
from .level_writer import COORDINATES, SEGMENTS
from .segment_stage import entries_layout

# A token of the coordinate stream and, if it is data, the reference beside it.
SCANNED = data.StructLayout({"data": DATA_BITS, "control": 1, "ref": DATA_BITS})


class CoordinateStage(wiring.Component):
    """Walks through entries and reads them, one line for as many as it holds.

    Parameters
    ----------
    lines, lanes : int     Size of a half.
    depth : int            Tokens that `o` takes without being asked: its FIFO, from 3 for a token per cycle.

    Members
    -------
    counted, extent : In           Entries are not stored: they are 0, 1, ... to this extent from the start of each fiber.
    single : In(1)                 All are single entries.
    i : In(stream of `entries_layout`)
    o : Out(stream of SCANNED)     Never waits: `taken` gives room back.
    taken : In(1)                  One token has left the FIFO after `o`.
    entries : Out(ReadPort)
    free : Out(1)                  The last token of a level has been prepared, nothing more is read of it.

    Timing: one token per cycle, S0 included, while lines are granted at once. Latency 2 from `i` to `o`.
    Source: Onyx JSSC III-B (Coord state machine).
    """

    def __init__(self, lines: int, lanes: int, depth: int) -> None:
        self.lanes, self.depth = lanes, depth
        self.layout = entries_layout(lines * lanes)
        super().__init__({"counted": In(1), "extent": In(DATA_BITS), "single": In(1), "i": In(stream.Signature(self.layout)),
                          "o": Out(stream.Signature(SCANNED, always_ready=True)), "taken": In(1),
                          "entries": Out(ReadPort(lines, lanes)), "free": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        current = Signal(self.layout, reset_less=True)
        empty = Signal(reset_less=True)      # there are no entries
        index = Signal(DATA_BITS, reset_less=True)
        stored = Signal()
        moves = Signal()
        self._ask(m, current, empty, index, stored, moves)
        self._take(m, current, index, stored, moves)
        return m

    def _ask(self, m: Module, current: data.View, empty: Signal, index: Signal, stored: Signal, moves: Signal) -> None:
        """Choose one token a cycle. It `moves` when its line, if it is stored, is there or on its way."""
        port = self.entries
        lane_bits = (self.lanes - 1).bit_length()
        # The line that will be there by the time the token is taken from it, and whether that is the current one's: compared
        # when the entries are taken, as who has the SRAM follows it.
        kept = Signal(len(port.line), reset_less=True)
        kept_array = Signal(reset_less=True)
        kept_valid = Signal()
        hit = Signal()
        room = Signal(range(self.depth + 1), init=self.depth)
        here = Signal()
        able = Signal()
        granted = Signal()
        ends = Signal()
        m.d.comb += [
            able.eq(here & (room != 0)),
            stored.eq(~current.stop & ~current.literal & ~self.counted),
            port.array.eq(Mux(current.control, SEGMENTS, COORDINATES)),
            port.line.eq(current.start >> lane_bits),
            port.request.eq(able & stored & ~hit), granted.eq(port.request & port.free),
            moves.eq(able & (~stored | hit | port.free)),
            ends.eq(Mux(current.stop, empty, current.literal | self.single
                        | Mux(self.counted, (index + 1)[:DATA_BITS] == self.extent,
                              (current.start + 1)[:len(current.end)] == current.end))),
            self.free.eq(moves & ends & current.last),
            self.i.ready.eq(~here | (moves & ends)),
        ]
        # A stored entry that moves leaves its line behind.
        after = Mux(here & stored, Cat(port.line, port.array), Cat(kept, kept_array))
        coming = Cat((self.i.payload.start >> lane_bits)[:len(kept)], ~self.i.payload.control)
        first = Mux(self.counted, 0, self.i.payload.start[:len(current.end)])
        with m.If(self.i.ready):
            m.d.sync += [current.eq(self.i.payload), here.eq(self.i.valid), index.eq(0),
                         empty.eq(~self.i.payload.literal & (first == self.i.payload.end)),
                         hit.eq((kept_valid | granted) & ~self.free & (coming == after))]
        with m.Elif(moves):
            m.d.sync += current.stop.eq(0)
            with m.If(~current.stop):
                m.d.sync += [current.start.eq(current.start + 1), index.eq(index + 1),
                             hit.eq(current.start[:lane_bits] != self.lanes - 1)]
        with m.If(granted):
            m.d.sync += [kept.eq(port.line), kept_array.eq(port.array), kept_valid.eq(1)]
        # Lines of the next level are others, under the same numbers.
        with m.If(self.free):
            m.d.sync += kept_valid.eq(0)
        m.d.sync += room.eq(room - moves + self.taken)

    def _take(self, m: Module, current: data.View, index: Signal, stored: Signal, moves: Signal) -> None:
        """One cycle later the line has arrived."""
        port = self.entries
        looking = Signal()
        loads = Signal()
        from_line = Signal(reset_less=True)
        token = Signal(SCANNED, reset_less=True)
        lane = Signal(range(self.lanes), reset_less=True)
        line = Signal(len(port.words), reset_less=True)
        line_now = Signal(len(port.words))
        m.d.sync += [looking.eq(moves), loads.eq(port.request & port.free), from_line.eq(stored), lane.eq(current.start),
                     token.control.eq(current.stop | (current.literal & current.control)),
                     token.ref.eq(current.start)]
        with m.If(current.stop):
            m.d.sync += token.data.eq(0)      # S0
        with m.Elif(current.literal):
            m.d.sync += token.data.eq(current.start)
        with m.Else():
            m.d.sync += token.data.eq(index)
        m.d.comb += [
            line_now.eq(Mux(loads, port.words, line)),
            self.o.valid.eq(looking), self.o.payload.eq(token),
        ]
        with m.If(from_line):
            m.d.comb += self.o.payload.data.eq(line_now.word_select(lane, DATA_BITS))
        m.d.sync += line.eq(line_now)
