"""Accumulator: a MEM tile that adds up the fibers of a summed index."""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from ..arch.buffer import accumulated
from ..arch.primitive import ACCUMULATOR
from ..arch.tile import TileSpec
from ..arch.token import DATA_BITS
from ..emit import macro
from ..sparse.interface import fork, is_done, is_next, is_stop, is_value, level, members, stop_token
from .line_set import LineSet, lowest, number
from .sram import Sram, SramPort


class Heads(NamedTuple):
    """What the next tokens are; at most one of the flags is set."""

    position: Value     # The word of an element.
    element: Value      # A value at a coordinate.
    lowest: Value       # The stop is S0.
    named: Value        # A stop of crd that closes the fiber of a coordinate of outer, or S0 without outer.
    ends: Value         # A stop that ends an accumulation.
    passed: Value       # A stop of both levels that ends none.
    done: Value
    beyond: Value       # A value at a coordinate for which there is no word.
    wrong: Value        # Tokens that do not belong together.


class Accumulator(wiring.Component):
    """Add up values at their coordinates, and give the sums that are not zero when the fiber around them ends.

    Behaviour: the fibers of a summed index hold fibers of coordinates with values; the sums of each are one fiber, a level up.

        crd ``0 3 S0 3 S1 1 S0 S2 D``      crd_o ``0 3 S0 1 S1 D``
        val ``5 6 S0 7 S1 4 S0 S2 D``      val_o ``5 13 S0 4 S1 D``

    With `use_outer` the coordinates of the level above are added up, too; the summed index is around both:

        outer ``0 2 S0 2 S1 D``            outer_o ``0 S0 D``
        crd   ``1 S0 3 S1 3 S2 D``         crd_o   ``1 S1 D``
        val   ``5 S0 6 S1 -6 S2 D``        val_o   ``5 S1 D``

    A stop Sn of crd goes with the S(n-1) of outer that closed its last fiber, or that stands alone where outer has no
    coordinates. Sums wrap at 16 bits, maybe counts as 0. Coordinates come in any order and leave in rising order; sums of 0 do
    not leave, nor do outer coordinates all of whose sums are 0.

    Parameters
    ----------
    spec : TileSpec     Its SRAM: a word in half of it is the sum at a coordinate, or at a pair (`accumulated`).
    shared : bool       The SRAM is outside, on `sram`; else it is inside.

    Members
    -------
    cfg : use_outer
    outer, crd, val : In
    outer_o, crd_o, val_o : Out
    sram : Out(SramPort)          If shared.
    overflow : Out(1)             A coordinate for which there is no word. Sticky until reset: neither it nor what follows is
                                  taken, and nothing more leaves.
    fault : Out(1)                Streams that are not of one shape. Sticky and with the same effect.

    Timing: a value takes 1 cycle at the line of four words of the one before it, else 2; a stop 1, one that closes a fiber of
    outer and one around it 2. From the stop that ends an accumulation to the first sum 4 cycles; then a line of n sums takes
    n cycles, but 2 at least, and a coordinate of outer and the last stop 1 each. Without a value in it the stop leaves in the
    next cycle.

    One line is in a register, where values are added; the others are in the SRAM. A set says which lines have values. So a line
    begins with 0 unread, memory is never cleared, and lines without values are never read. The set is more than half of this
    primitive. A bit for two lines would save a third of it all, but then the other line of the two is cleared and read in vain:
    twice the cycles where sums are few. Half of the SRAM is used: with all of it a pair of equal edges would be no longer, and
    the set twice as large.
    Source: the sparse accumulators of the Sparse Abstract Machine, of which Onyx JSSC IV-B lowers the one of one coordinate,
    as vector reducer, to a union with the row so far, an adder and two MEM tiles in a loop: a pass over the whole row for each
    fiber that is added. Sums by address take a cycle or two for a value however long the row is, one tile, and no loop between
    tiles.
    """

    def __init__(self, spec: TileSpec, shared: bool = False) -> None:
        self.lines, self.lanes, self.shared = spec.sram_lines, spec.sram_lanes, shared
        self.outer_bits, self.inner_bits = (edge.bit_length() - 1 for edge in accumulated(spec.level_words, 2))
        port = {"sram": Out(SramPort(self.lines, self.lanes))} if shared else {}
        super().__init__(members(ACCUMULATOR) | {"overflow": Out(1), "fault": Out(1)} | port)

    @property
    def emit_key(self) -> object:
        return self.lines, self.lanes, self.shared

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lane_bits = (self.lanes - 1).bit_length()
        line_bits = self.outer_bits + self.inner_bits - lane_bits
        sram = self.sram if self.shared else macro(Sram(self.lines, self.lanes))
        if not self.shared:
            m.submodules.sram = sram
        m.submodules.used = used = macro(LineSet(1 << line_bits))
        words = data.ArrayLayout(DATA_BITS, self.lanes)

        # The line in the register, the value that is added to it next, and, of a line that leaves, what is left of it.
        held = Signal(words, reset_less=True)
        held_line = Signal(line_bits, reset_less=True)
        holds = Signal()
        adds = Signal()
        lane = Signal(lane_bits, reset_less=True)
        addend = Signal(DATA_BITS, reset_less=True)
        left = Signal(self.lanes)
        # There may be another line. It is `used.more` of the cycle before, as that is late; where it differs, a line is there.
        drains = Signal()
        fetched = Signal()      # `sram.word` is that line.

        closed = Signal()       # The coordinate of outer is taken, the stop of its fiber is not.
        opened = Signal()       # A coordinate of outer has left.
        current = Signal(self.outer_bits, reset_less=True)

        head = self._heads(m, holds, closed)
        line = Signal(line_bits)
        m.d.comb += [line.eq(head.position[lane_bits:]), used.line.eq(line)]
        same = holds & (held_line == line)
        next_word = data.View(words, sram.word)

        take = Signal()
        take_outer = Signal()
        m.d.comb += [self.crd.ready.eq(take), self.val.ready.eq(take), self.outer.ready.eq(take_outer)]
        m.d.comb += [sram.address.eq(held_line), sram.data.eq(held.as_value())]
        two = self.cfg.use_outer
        # What leaves: a sum, a coordinate of outer, the stop; and whether it does.
        give = Signal()
        turn = Signal()
        finish = Signal()
        finished = Signal()
        rest = left & ~lowest(left)

        m.d.sync += adds.eq(0)
        with m.If(adds):
            m.d.sync += held[lane].eq(held[lane] + addend)
        value = self.val.payload
        add = [adds.eq(1), lane.eq(head.position[:lane_bits]), addend.eq(Mux(value.control, 0, value.data))]

        with m.FSM():
            with m.State("ADD"):
                with m.If(head.element & same):
                    m.d.comb += take.eq(1)
                    m.d.sync += add
                with m.Elif(head.element):
                    m.d.comb += [sram.enable.eq(1), sram.address.eq(line)]
                    m.next = "CHANGE"
                with m.Elif(head.named):
                    m.d.comb += [take.eq(head.lowest), take_outer.eq(1)]
                    m.d.sync += closed.eq(~head.lowest)
                with m.Elif(head.ends & ~adds):
                    m.d.comb += [sram.enable.eq(holds), sram.write.eq(holds.replicate(self.lanes))]
                    m.d.comb += used.start.eq(1)
                    m.d.sync += [holds.eq(0), drains.eq(holds), fetched.eq(0)]
                    m.next = "GIVE"
                with m.Elif(head.passed):
                    m.d.comb += [take.eq(1), take_outer.eq(two)]
                    m.d.sync += closed.eq(0)
                with m.Elif(head.done):
                    m.d.comb += [take.eq(finished), take_outer.eq(finished & two)]
            with m.State("CHANGE"):
                # The value before has been added in the cycle before.
                m.d.comb += [sram.enable.eq(holds), sram.write.eq(holds.replicate(self.lanes)), used.put.eq(1), take.eq(1)]
                m.d.sync += [held.eq(Mux(used.has, sram.word, 0)), held_line.eq(line), holds.eq(1), *add]
                m.next = "ADD"
            with m.State("GIVE"):
                m.d.comb += [turn.eq(left.any() & two & ~(opened & (current == self._outer(held_line)))),
                             give.eq(left.any() & ~turn), finish.eq(~left.any() & ~drains)]
                # Read until it is taken: what memories show is theirs only in the cycle after a read.
                m.d.comb += [sram.enable.eq(used.more), sram.address.eq(used.first)]
                with m.If(turn & finished):
                    m.d.sync += [opened.eq(1), current.eq(self._outer(held_line))]
                with m.If(give & finished):
                    m.d.sync += left.eq(rest)
                m.d.comb += used.next.eq(fetched & (~left.any() | (give & finished & ~rest.any())))
                m.d.sync += [fetched.eq(used.more & ~used.next), drains.eq(used.more)]
                with m.If(used.next):
                    m.d.sync += [held.eq(sram.word), held_line.eq(used.first),
                                 left.eq(Cat(next_word[n].any() for n in range(self.lanes)))]
                with m.If(finish & finished):
                    m.d.comb += [take.eq(1), take_outer.eq(two)]
                    m.d.sync += [opened.eq(0), closed.eq(0)]
                    m.next = "ADD"

        at = Signal(lane_bits)
        m.d.comb += at.eq(number(lowest(left)))
        inner = Cat(at, held_line)
        m.d.comb += finished.eq(self._give(m, head, Mux(two, inner[:self.inner_bits], inner), held[at],
                                           self._outer(held_line), give, turn, finish, opened))
        with m.If(head.beyond):
            m.d.sync += self.overflow.eq(1)
        with m.If(head.wrong):
            m.d.sync += self.fault.eq(1)
        return m

    def _heads(self, m: Module, holds: Value, closed: Value) -> Heads:
        outer, crd, val, two = self.outer.payload, self.crd.payload, self.val.payload, self.cfg.use_outer
        there = Signal()
        m.d.comb += there.eq(self.crd.valid & self.val.valid & (~two | self.outer.valid) & ~self.overflow & ~self.fault)
        pair = Cat(crd.data[:self.inner_bits], outer.data[:self.outer_bits])
        beyond = Mux(two, crd.data[self.inner_bits:].any() | outer.data[self.outer_bits:].any(), crd.data[len(pair):].any())
        # A coordinate of outer whose fiber is open.
        names = ~outer.control & ~closed
        element = ~crd.control & is_value(val) & (~two | names)
        stops = is_stop(crd) & (crd.as_value() == val.as_value())
        above = is_stop(outer) & is_next(level(outer), level(crd))
        lowest = level(crd) == 0
        flags = {
            "element": element & ~beyond,
            "named": stops & Mux(two, names, lowest),
            "ends": stops & Mux(two, above & (level(outer) != 0), ~lowest),
            "passed": stops & two & above & (level(outer) == 0),
            "done": is_done(crd) & is_done(val) & ~holds & ~closed & (~two | is_done(outer)),
            "beyond": element & beyond,
        }
        found = {name: Signal(name=name) for name in (*flags, "wrong")}
        m.d.comb += [found[name].eq(there & flag) for name, flag in flags.items()]
        m.d.comb += found["wrong"].eq(there & ~Cat(flags.values()).any())
        return Heads(position=Mux(two, pair, crd.data[:len(pair)]), lowest=lowest, **found)

    def _outer(self, line: Value) -> Value:
        """The coordinate of outer that a line belongs to."""
        return line[len(line) - self.outer_bits:]

    def _give(self, m: Module, head: Heads, coordinate: Value, total: Value, outer: Value, give: Value, turn: Value,
              finish: Value, opened: Value) -> Value:
        """Give a sum, a coordinate of outer, the stop of an accumulation, or done; whether that ends in this cycle."""
        token, two = self.crd.payload, self.cfg.use_outer
        lower = (level(token) - 1)[:8]
        # The stop between two fibers leaves with the second one's coordinate of outer.
        closing = Mux(head.done, token.as_value(), Mux(turn, stop_token(0), stop_token(lower)))
        ending = head.done | finish
        m.d.comb += [
            self.crd_o.payload.eq(Mux(give, coordinate, closing)),
            self.val_o.payload.eq(Mux(give, total, closing)),
            self.outer_o.payload.eq(Mux(turn, outer, Mux(head.done, token.as_value(), stop_token((lower - 1)[:8]))))]
        inner = give | turn & opened | ending
        return fork(m, give | turn | ending, (self.crd_o, inner), (self.val_o, inner), (self.outer_o, two & (turn | ending)))
