"""Scatter: a MEM tile that writes values at their coordinates, and gives them with the zeros between."""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from ..arch.primitive import SCATTER
from ..arch.tile import TileSpec
from ..arch.token import DATA_BITS, STOP_LEVELS
from ..emit import macro
from ..sparse.interface import is_done, is_stop, is_value, members
from .sram import Sram, SramPort

HALVES = 2
STOP_BITS = (STOP_LEVELS - 1).bit_length()


class Held(NamedTuple):
    """What the reading side knows of the older array: whether it is closed, its half, its words."""

    closed: Value
    half: Value
    count: Value


class Scatter(wiring.Component):
    """Write values at positions of dense fibers, and give all words of the fibers as a block, those that are missing as 0.

    Behaviour: the data of `at` and `val` belong together, one by one. A fiber has `extent` words, and each stop of `at` ends
    one, but for those below `below`; stops of `val` mean nothing. Positions come in any order and with gaps; of two values at
    one the later stays. With extent 4:

        at ``2 0 S0 S0 3 S1 D``, val ``5 6 S0 7 S1 D``      block_o ``12  6 0 5 0  0 0 0 0  0 0 0 7``

    A fiber may be several dense levels, with positions in all of them and stops of its own; with `below` 1:

        at ``2 S0 0 S1 3 S2 D``, val ``5 6 7 D``            block_o ``8  6 0 5 0  0 0 0 7``

    With `whole` a transaction is one fiber, whose positions may be those of several dense levels: stops mean nothing.

        at ``3 S0 1 S1 D``, val ``7 S0 8 S1 D``             block_o ``4  0 8 0 7``

    Parameters
    ----------
    spec : TileSpec     Its SRAM. An array has half of it at most, so that one is written while another is given.
    shared : bool       The SRAM is outside, on `sram`; else it is inside.

    Members
    -------
    cfg : extent, whole, below
    at : In                     Positions.
    val : In                    Values; maybe is 0.
    block_o : Out               Length and words.
    sram : Out(SramPort)        If shared.
    overflow : Out(1)           The fibers have more words than half the SRAM. Sticky until reset: nothing more is taken, and
                                but for the array before nothing more leaves.
    fault : Out(1)              A position that is not below the extent, or streams of which one ends before the other. Sticky
                                and with the same effect.

    Timing: a value takes 1 cycle, a stop of either stream 1, both at once if they meet. Values at the line of four words of the
    one before share its write. While an array is given, lines are read and cleared in two cycles of four, which go before
    writes: values in any order are then taken every second cycle. From done to the length 1 cycle, from there to the first
    word 3, then a word a cycle, or two words every three cycles with lines of two. `valid` comes from registers; the SRAM's
    enable follows `at` in the same cycle.

    A line is cleared as soon as it has been read, so that what is not written is 0. After reset all lines are cleared once,
    the lowest of both halves first, one in each cycle in which the SRAM is not used otherwise; what is not yet clear waits.
    Source: level writer of dense levels, Onyx JSSC III-B, whose words come in order, however. That lines are cleared behind
    the reader is ours: it takes no cycles that a block does not take anyway, where the accumulator has a set of lines.
    """

    def __init__(self, spec: TileSpec, shared: bool = False) -> None:
        self.lines, self.lanes, self.shared = spec.sram_lines, spec.sram_lanes, shared
        port = {"sram": Out(SramPort(self.lines, self.lanes))} if shared else {}
        super().__init__(members(SCATTER) | {"overflow": Out(1), "fault": Out(1)} | port)

    @property
    def emit_key(self) -> object:
        return self.lines, self.lanes, self.shared

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sram = self.sram if self.shared else macro(Sram(self.lines, self.lanes))
        if not self.shared:
            m.submodules.sram = sram
        cleared = Signal(range(self.lines + 1))     # Lines that have been cleared once, of both halves in turn.
        clears = cleared != self.lines
        reads = Signal()        # The reading side has the port,
        writes = Signal()       # or the writing side.
        m.d.comb += [sram.enable.eq(clears), sram.address.eq(Cat(cleared[1:-1], cleared[0])),
                     sram.write.eq(clears.replicate(self.lanes)), sram.data.eq(0)]
        freed = Signal()
        held = self._write(m, sram, cleared, reads, writes, freed)
        self._read(m, sram, cleared, reads, held, freed)
        with m.If(clears & ~reads & ~writes):
            m.d.sync += cleared.eq(cleared + 1)
        return m

    def _write(self, m: Module, sram: wiring.PureInterface, cleared: Value, reads: Value, writes: Signal, freed: Value
               ) -> Held:
        """Take tokens, and write the line that is left for another. Returns the older array."""
        at, val, cfg = self.at.payload, self.val.payload, self.cfg
        words = self.lines // HALVES * self.lanes
        lane_bits = (self.lanes - 1).bit_length()
        line_bits = (words - 1).bit_length() - lane_bits
        line = Signal(data.StructLayout({"words": data.ArrayLayout(DATA_BITS, self.lanes), "number": line_bits}),
                      reset_less=True)
        mask = Signal(self.lanes)               # Words of it that have come.
        base = Signal(range(words + 1))         # Words of the fibers before.
        filling = Signal()
        oldest = Signal()
        closed = Signal(HALVES)
        count = Signal(data.ArrayLayout(range(words + 1), HALVES), reset_less=True)

        stuck = self.overflow | self.fault
        free = ~closed.bit_select(filling, 1) & ~stuck
        there, other = self.at.valid & free, self.val.valid & free
        skips = other & is_stop(val)
        element = there & other & ~at.control & is_value(val)
        stop = there & is_stop(at)
        ends_fiber = stop & ~cfg.whole & (at.data[:STOP_BITS] >= cfg.below)
        done = there & other & is_done(at) & is_done(val)
        position = Signal(range(2 * words))
        ends = Signal(DATA_BITS + 1)            # Words with this fiber.
        m.d.comb += [position.eq(base + at.data[:len(base)]), ends.eq(base + cfg.extent)]
        beyond = at.data >= cfg.extent
        too_long = (ends > words) & (element | done & cfg.whole | ends_fiber)
        wrong = there & ~at.control & beyond | there & other & (
            is_done(at) & is_value(val) | ~at.control & is_done(val) | at.control & ~is_stop(at) & ~is_done(at))

        number, lane = position[lane_bits:lane_bits + line_bits], position[:lane_bits]
        ready = Cat(filling, line.number) < cleared
        leaves = Signal()       # The line has to be written before the token is taken.
        m.d.comb += [leaves.eq(mask.any() & (done | element & (number != line.number))),
                     writes.eq(leaves & ready & ~reads & ~wrong & ~too_long)]
        take = (~leaves | writes) & ~wrong & ~too_long
        with m.If(writes):
            m.d.comb += [sram.enable.eq(1), sram.write.eq(mask), sram.address.eq(Cat(line.number, filling)),
                         sram.data.eq(line.words.as_value())]
        with m.If(ends_fiber & take):
            m.d.sync += base.eq(ends)
        with m.If((element | done) & take):
            m.d.sync += mask.eq(Mux(leaves, 0, mask) | Mux(element, 1 << lane, 0))
        with m.If(element & take):
            m.d.sync += [line.number.eq(number), line.words[lane].eq(Mux(val.control, 0, val.data))]
        with m.If(done & take):
            m.d.sync += [filling.eq(~filling), base.eq(0), count[filling].eq(Mux(cfg.whole, ends, base))]
        for half in range(HALVES):
            with m.If(done & take & (filling == half)):
                m.d.sync += closed[half].eq(1)
            with m.Elif(freed & (oldest == half)):
                m.d.sync += closed[half].eq(0)
        with m.If(freed):
            m.d.sync += oldest.eq(~oldest)
        m.d.comb += [self.at.ready.eq((element | done | stop) & take), self.val.ready.eq(skips | (element | done) & take)]
        with m.If(too_long):
            m.d.sync += self.overflow.eq(1)
        with m.If(wrong):
            m.d.sync += self.fault.eq(1)
        return Held(closed.bit_select(oldest, 1), oldest, Mux(oldest, count[1], count[0]))

    def _read(self, m: Module, sram: wiring.PureInterface, cleared: Value, reads: Value, held: Held, freed: Value) -> None:
        """Give the older array, and clear each line when it has been read."""
        out = self.block_o
        lane_bits = (self.lanes - 1).bit_length()
        line_bits = (self.lines // HALVES - 1).bit_length()
        next_line = Signal(line_bits + 1)       # Of the half, to be read.
        clears = Signal()                       # The line before it was read in the cycle before.
        ahead = Signal(self.lanes * DATA_BITS, reset_less=True)
        has_ahead = Signal()
        line = Signal(data.ArrayLayout(DATA_BITS, self.lanes), reset_less=True)
        has_line = Signal()
        begun = Signal()                        # The length has left.
        given = Signal(held.count.shape())      # Words that have left.

        shown = Array(line[n] for n in range(self.lanes))
        word = Signal()
        last = Signal()
        turns = Signal()
        m.d.comb += [
            out.valid.eq(held.closed & (~begun | has_line)),
            out.payload.data.eq(Mux(begun, shown[given[:lane_bits]], held.count)),
            word.eq(begun & has_line & out.ready),
            last.eq(given + 1 == held.count),
            freed.eq(Mux(begun, word & last, held.closed & out.ready & (held.count == 0))),
            # The line is done with, and the one ahead takes its place.
            turns.eq(~has_line | word & (given[:lane_bits].all() | last))]
        more = (next_line << lane_bits) < held.count
        asks = held.closed & more & ~clears & ~has_ahead & (Cat(held.half, next_line[:line_bits]) < cleared)
        m.d.comb += reads.eq(asks | clears)
        with m.If(asks):
            m.d.comb += [sram.enable.eq(1), sram.write.eq(0), sram.address.eq(Cat(next_line[:line_bits], held.half))]
        with m.If(clears):
            before = Signal(line_bits)
            m.d.comb += [before.eq(next_line - 1), sram.enable.eq(1), sram.address.eq(Cat(before, held.half)),
                         sram.write.eq((1 << self.lanes) - 1), sram.data.eq(0)]
            m.d.sync += ahead.eq(sram.word)
        m.d.sync += clears.eq(asks)
        with m.If(asks):
            m.d.sync += next_line.eq(next_line + 1)
        with m.If(turns):
            m.d.sync += [line.eq(ahead), has_line.eq(has_ahead & ~freed), has_ahead.eq(clears)]
        with m.Elif(clears):
            m.d.sync += has_ahead.eq(1)
        with m.If(held.closed & out.ready & ~begun):
            m.d.sync += begun.eq(held.count != 0)
        with m.If(word):
            m.d.sync += given.eq(given + 1)
        with m.If(freed):
            m.d.sync += [begun.eq(0), given.eq(0), next_line.eq(0), has_line.eq(0), has_ahead.eq(0)]
