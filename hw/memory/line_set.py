"""Line set: which lines of an SRAM are in use, and those lines in order."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out


class LineSet(wiring.Component):
    """A set of line numbers to which numbers are added, and which is then emptied from the lowest up.

    Behaviour: `start` shows the lowest number as `first`, `next` the following one, until `more` is 0 and the set is empty.

    Parameters
    ----------
    lines : int        Numbers are below this power of two, from 2.

    Members
    -------
    line : In          The number that is meant by the next two.
    put : In(1)        Add it; not while `more` is 1, nor in the cycle of `start`.
    has : Out(1)       It is in the set already; in the cycles of `put`.
    start : In(1)      Begin to empty the set; not while `more` is 1.
    next : In(1)       `first` is done with.
    more : Out(1)      There is a number at `first`.
    first : Out

    Timing: `has` follows `line` and `put` in the same cycle; `more` and `first` follow `start` and `next` a cycle later.

    Bits stand in rows, which are words of a memory. A row with any is taken out as a whole, and its bits are then found one by
    one: two short searches for a long one, and one choice among rows for all that is asked. A row that was taken out keeps its
    bits, but no longer counts as filled: so no row is ever cleared, not by a reset either, and latches can hold them.
    Source: ours; the papers' vector reducer merges fibers, and has no set to empty (Onyx JSSC IV-B).
    """

    def __init__(self, lines: int) -> None:
        self.lines = lines
        super().__init__({"line": In(range(lines)), "put": In(1), "has": Out(1), "start": In(1), "next": In(1), "more": Out(1),
                          "first": Out(range(lines))})

    @property
    def emit_key(self) -> object:
        return self.lines

    @property
    def module_name(self) -> str:
        return f"line_set_{self.lines}"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        column_bits = (len(self.line) + 1) // 2
        columns = 1 << column_bits
        m.submodules.rows = rows = Memory(shape=columns, depth=self.lines // columns, init=[])
        read, write = rows.read_port(domain="comb"), rows.write_port()
        filled = Signal(rows.depth)

        column = Signal(columns)
        row = Signal(rows.depth)
        m.d.comb += [column.eq(Const(1, columns) << self.line[:column_bits]),
                     row.eq(Const(1, rows.depth) << self.line[column_bits:])]
        # What is left of the row that was taken out, and which it is.
        left = Signal(columns)
        taken = Signal(rows.depth, reset_less=True)
        rest = left & ~lowest(left)
        take = Signal()
        m.d.comb += take.eq(self.start | (self.next & ~rest.any()))

        following = lowest(filled)
        is_filled = Signal()
        found = Signal(columns)
        m.d.comb += [is_filled.eq(Mux(self.put, (filled & row).any(), filled.any())),
                     read.addr.eq(Mux(self.put, self.line[column_bits:], number(following))),
                     found.eq(read.data & is_filled.replicate(columns)),
                     self.has.eq((found & column).any()),
                     write.addr.eq(self.line[column_bits:]), write.data.eq(found | column), write.en.eq(self.put)]
        with m.If(take):
            m.d.sync += [left.eq(found), taken.eq(following), filled.eq(filled & ~following)]
        with m.Elif(self.next):
            m.d.sync += left.eq(rest)
        with m.If(self.put):
            m.d.sync += filled.eq(filled | row)
        m.d.comb += [self.more.eq(left.any()), self.first.eq(Cat(number(lowest(left)), number(taken)))]
        return m


def lowest(bits: Value) -> Value:
    """The lowest bit that is set, alone."""
    return bits & (~bits + 1)[:len(bits)]


def number(bit: Value) -> Value:
    """The number of the one bit that is set; 0 if none is."""
    return Cat(Cat(bit[n] for n in range(len(bit)) if n >> place & 1).any() for place in range((len(bit) - 1).bit_length()))
