"""The rows of a transfer: runs of as many words each, from line to line as far apart as it says."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.system import MORE_ROWS_BITS

ADDRESS_BITS = 32
LINES = ADDRESS_BITS - 3
# Which bytes of its first and of its last line a run has: all but the first `skip`, the first `rest` (0: all).
EDGES = {"skip": 3, "rest": 3}
SIDE = data.StructLayout({"line": LINES, "pitch": LINES, "lines": LINES, "more": MORE_ROWS_BITS, **EDGES})
RUN = data.StructLayout({"line": LINES, "lines": LINES, "ends": 1, **EDGES})


class Rows(wiring.Component):
    """Walks the rows of one side of a transfer.

    Behaviour: line 5, pitch 64, 3 lines, 2 more     lines 5..7, 69..71, 133..135, which is the end

    Rows that overlap, and pitches that go back, are what lines modulo 2^29 make of them: runs come in the order of rows.

    Members
    -------
    i : In(stream)      The first row, lines from one to the next, how many more there are; lines and edges of each.
    o : Out(stream)     First line of a row, how many, its edges, whether it is the last row.

    Timing: a row a cycle, the first one in the cycle after its transfer, no cycle between transfers; all outputs come from
    registers. `i.ready` follows `o.ready` in the same cycle.
    Source: a design of its own; an affine generator of two loops, as load DMAs have of more (JSSC V-C).
    """

    def __init__(self) -> None:
        super().__init__({"i": In(stream.Signature(SIDE)), "o": Out(stream.Signature(RUN))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row = Signal(SIDE, reset_less=True)
        going = Signal()
        run = self.o.payload
        m.d.comb += [self.o.valid.eq(going), run.ends.eq(row.more == 0),
                     *(run[name].eq(row[name]) for name in ("line", "lines", *EDGES)),
                     self.i.ready.eq(~going | (self.o.ready & run.ends))]
        with m.If(self.i.ready):
            m.d.sync += [going.eq(self.i.valid), row.eq(self.i.payload)]
        with m.Elif(self.o.ready):
            m.d.sync += [row.line.eq(row.line + row.pitch), row.more.eq(row.more - 1)]
        return m
