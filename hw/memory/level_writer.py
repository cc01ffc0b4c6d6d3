"""Level writer: turns a block or a token stream into words appended to the arrays of a level."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.token import DATA_BITS, TOKEN
from ..sparse.interface import is_done, is_stop

# The arrays of a level; values stand where coordinates do.
SEGMENTS, COORDINATES = 0, 1

# One step of writing: append a word to an array, close the level after it, or both.
APPEND = data.StructLayout({"append": 1, "array": 1, "word": DATA_BITS, "close": 1})


class LevelWriter(wiring.Component):
    """Append what arrives to the segments and coordinates of a level, or to its values.

    Behaviour: a stream is counted: data goes to the coordinates, every stop closes a fiber. The leading 0
    of the segments is not sent, the buffer puts it there (`LevelBuffer.lead`). A block brings its segments
    and lengths along. A maybe is written as 0. A block with control tokens, with segments that fall or with a segment
    beyond its coordinates is `wrong`; a dense level has an extent in place of its second segment, and no coordinates.

        stream ``4 7 S0 S0 9 S1 D``             segments (0) 2 2 3, coordinates 4 7 9
        block  ``4 0 2 2 3  3 4 7 9``           segments 0 2 2 3, coordinates 4 7 9
        values stream ``5 S0 6 S1 D``, block ``2 5 6``    values 5 6

    Members
    -------
    from_stream, values, dense : In(1)      Configuration: read `wr`, else `block`; a value array, else a level; an extent.
    count : In      Coordinates of this level that were appended.
    wr : In(stream of TOKEN)
    block : In(stream of TOKEN)     Data words.
    o : Out(stream of APPEND)
    wrong : Out(1)                  The block is none, in the cycles in which that shows.
    length, ends : Out(1)           If early: the step's word is the length of its array, of a block that is no dense level; the
                                    segments end with this step.

    Timing: one word or token per cycle; combinational from inputs to `o` and from `o.ready` to the inputs.
    Source: Onyx JSSC III-B, Fig. 4 (level writer).
    """

    def __init__(self, early: bool = False) -> None:
        self.early = early
        read_early = {"length": Out(1), "ends": Out(1)} if early else {}
        super().__init__({"from_stream": In(1), "values": In(1), "dense": In(1), "count": In(DATA_BITS),
                          "wr": In(stream.Signature(TOKEN)), "block": In(stream.Signature(TOKEN)),
                          "o": Out(stream.Signature(APPEND)), "wrong": Out(1)} | read_early)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with m.If(self.from_stream):
            self._stream(m)
        with m.Else():
            self._block(m)
        return m

    def _stream(self, m: Module) -> None:
        """Data to the coordinates, their count so far to the segments at every stop."""
        token, step = self.wr.payload, self.o.payload
        stop = Signal()
        done = Signal()
        m.d.comb += [
            stop.eq(is_stop(token)), done.eq(is_done(token)),
            step.append.eq(~done & ~(stop & self.values)),
            step.array.eq(Mux(stop, SEGMENTS, COORDINATES)),
            step.word.eq(Mux(stop, self.count, Mux(token.control, 0, token.data))),
            step.close.eq(done),
            self.o.valid.eq(self.wr.valid), self.wr.ready.eq(self.o.ready),
        ]

    def _block(self, m: Module) -> None:
        """An array is its length and that many words; a level is two arrays, values are one."""
        step, word = self.o.payload, self.block.payload.data
        left = Signal(DATA_BITS)      # Words of the array still to come.
        length = Signal(init=1)       # They are none: its length is next.
        second = Signal()             # In the coordinates of a level.
        reached = Signal(DATA_BITS)   # The segment before, which neither the next one nor the coordinates' number is below.
        counts = Signal()
        ends = Signal()
        final = Signal()
        m.d.comb += [
            ends.eq(Mux(length, word == 0, left == 1)),
            final.eq(self.values | second),
            step.append.eq(~length),
            step.array.eq(Mux(final, COORDINATES, SEGMENTS)),
            step.word.eq(word),
            step.close.eq(ends & final),
            self.o.valid.eq(self.block.valid), self.block.ready.eq(self.o.ready),
            counts.eq(~self.values & ~self.dense & (length == second)),
            self.wrong.eq(self.block.valid & (self.block.payload.control | (counts & (word < reached)))),
        ]
        if self.early:
            m.d.comb += [self.length.eq(length & ~self.dense), self.ends.eq(ends & ~final)]
        with m.If(self.o.valid & self.o.ready):
            with m.If(counts):
                m.d.sync += reached.eq(Mux(second, 0, word))
            m.d.sync += [left.eq(Mux(length, word, left - 1)), length.eq(ends)]
            with m.If(ends):
                m.d.sync += second.eq(~final)
