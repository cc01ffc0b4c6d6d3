"""Between streams of the CGRA and an array whose rows each take a fiber."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.token import DATA_BITS, DONE, TOKEN, stop
from ..emit import macro
from ..sparse.interface import every, fork, is_done
from ..stream.fifo import Fifo

# What the next word of a row is: an element, none as its row is beyond the last one, or the end of all.
ELEMENT, BEYOND, END = range(3)
TOLD = 2
# Rows that are under way in an array.
UNDER_WAY = 16


class Dealer(wiring.Component):
    """Deals the fibers of streams to rows in turn, and brings their sums back in order.

    Behaviour: with two rows ``crd 0 2 S0 1 S1 D``, with values in step, becomes the fiber of 0 and 2 for row 0, and that of 1
    for row 1; their words 5 and 7 become ``5 7 S0 D``. Where rows are left at done they get empty fibers, whose words are
    dropped.

    Parameters
    ----------
    rows : int         Of the array.
    operands : int     Streams of values in step.
    bits : int         Of a word of the array.

    Members
    -------
    crd : In(stream of TOKEN)          Coordinates; any stop ends a fiber.
    val0, ... : In(stream of TOKEN)    Values, for each operand.
    o0_0, ... : Out(stream)            For each operand and row: value and coordinate, as `elastic_pe.pair` has them.
    word0, ... : In(stream)            Of each row.
    sum : Out(stream of TOKEN)         The low 16 bits of words.

    Timing: a coordinate a cycle; an end a cycle, and one for each row that is left. `UNDER_WAY` rows may be in the array.
    Source: a design of its own.
    """

    def __init__(self, rows: int, operands: int, bits: int) -> None:
        self.rows, self.operands, self.bits = rows, operands, bits
        tokens = stream.Signature(TOKEN)
        pairs = stream.Signature(data.StructLayout({"value": DATA_BITS, "crd": TOKEN}))
        super().__init__({
            "crd": In(tokens), **{f"val{n}": In(tokens) for n in range(operands)},
            **{f"o{n}_{row}": Out(pairs) for n in range(operands) for row in range(rows)},
            **{f"word{row}": In(stream.Signature(bits)) for row in range(rows)}, "sum": Out(tokens)})

    @property
    def module_name(self) -> str:
        return f"dealer_{self.rows}x{self.operands}_{self.bits}"

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.told = told = macro(Fifo(TOLD, UNDER_WAY))
        self._deal(m, told)
        self._gather(m, told)
        return m

    def _deal(self, m: Module, told: Any) -> None:
        """Fibers to rows; of each row what its word will be."""
        crd, values = self.crd, [getattr(self, f"val{n}") for n in range(self.operands)]
        row = Signal(range(self.rows))
        there = Signal()
        ends = Signal()
        over = Signal()
        fills = Signal()        # the streams are done, and rows are left
        tells = Signal()
        m.d.comb += [
            over.eq(is_done(crd.payload)), fills.eq(over & (row != 0)), ends.eq(crd.payload.control & (~over | fills)),
            there.eq(every([crd.valid, *(value.valid for value in values)])), tells.eq(crd.payload.control),
            told.i.payload.eq(Mux(fills, BEYOND, Mux(over, END, ELEMENT)))]
        offers = []
        for n, value in enumerate(values):
            for at in range(self.rows):
                out = getattr(self, f"o{n}_{at}")
                m.d.comb += [out.payload.value.eq(Mux(ends, 0, value.payload.data)),
                             out.payload.crd.eq(Mux(ends, stop(0), crd.payload))]
                offers.append((out, (row == at) & (~over | fills)))
        done = Signal()
        m.d.comb += done.eq(there & fork(m, there, *offers, (told.i, tells)))
        for each in (crd, *values):
            m.d.comb += each.ready.eq(done & ~fills)
        with m.If(done & ends):
            m.d.sync += row.eq(Mux(row == self.rows - 1, 0, row + 1))

    def _gather(self, m: Module, told: Any) -> None:
        """Words of rows in turn, as tokens."""
        row = Signal(range(self.rows))
        closing = Signal()      # the stop has been given, done is next
        word = Signal(self.bits)
        there = Signal()
        taken = Signal()
        words = [getattr(self, f"word{at}") for at in range(self.rows)]
        for at, each in enumerate(words):
            with m.If(row == at):
                m.d.comb += [word.eq(each.payload), there.eq(each.valid), each.ready.eq(taken)]
        kind, token = told.o.payload, Value.cast(self.sum.payload)
        with m.If(told.o.valid & (kind == END)):
            m.d.comb += [token.eq(Mux(closing, DONE, stop(0))), self.sum.valid.eq(1), told.o.ready.eq(closing & self.sum.ready)]
            with m.If(self.sum.ready):
                m.d.sync += closing.eq(~closing)
        with m.Elif(told.o.valid):
            m.d.comb += [token.eq(Cat(word[:DATA_BITS], Const(0, 1))), self.sum.valid.eq(there & (kind == ELEMENT)),
                         taken.eq(there & ((kind == BEYOND) | self.sum.ready)), told.o.ready.eq(taken)]
        with m.If(taken):
            m.d.sync += row.eq(Mux(row == self.rows - 1, 0, row + 1))
