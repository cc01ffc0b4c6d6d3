"""Walk a fixed list of numbers, over and over, that is no loop nest, but runs of numbers that are equally far apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal, signed
from amaranth.lib import data
from amaranth.lib.wiring import Component, In, Out

from ...memory.table import Table


class RunTable(Component):
    """Runs of numbers that are known when it is made, in any order.

    Behaviour: of the runs (3, 2, 1) and (0, 3, 5), first number, how many and their distance, it gives 3 4 0 5 10, and 3 again.

    Parameters
    ----------
    runs : sequence of (int, int, int)     One at least.
    bits : int                             Of a number, from 0.

    Members
    -------
    valid, step, number, ends, last     As of `Nest`; each number is the last of its innermost loop.

    Timing: `number` is a sum of two registers, of which one chooses among constants in the cycle before.
    Source: Stellar IV-D (the order of an array that is no constant request).
    """

    def __init__(self, runs: Sequence[tuple[int, int, int]], bits: int) -> None:
        reached = [number for first, extent, stride in runs for number in (first, first + (extent - 1) * stride)]
        if not runs or min(reached) < 0 or max(reached) >> bits or any(extent < 1 for _, extent, _ in runs):
            raise ValueError(f"a table has one run or more, of numbers of {bits} bits")
        self.runs, self.bits = tuple(runs), bits
        super().__init__({"valid": Out(1), "step": In(1), "number": Out(bits), "ends": Out(1), "last": Out(1)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        longest = max(extent for _, extent, _ in self.runs)
        layout = data.StructLayout({"first": self.bits, "stride": signed(self.bits + 1), "last": range(longest)})
        entries = [layout.const({"first": first, "stride": stride, "last": extent - 1}).as_bits()
                   for first, extent, stride in self.runs]
        m.submodules.table = table = Table(entries, layout.size)
        run: Any = data.View(layout, table.number)
        nth = Signal(range(longest))
        ahead = Signal(signed(self.bits + 1))        # of the first one of the run
        over = Signal()
        m.d.comb += [over.eq(nth == run.last), self.valid.eq(table.valid), self.number.eq(run.first + ahead), self.ends.eq(1),
                     self.last.eq(table.last & over), table.step.eq(self.step & over)]
        with m.If(self.valid & self.step):
            m.d.sync += [nth.eq(Mux(over, 0, nth + 1)), ahead.eq(Mux(over, 0, ahead + run.stride))]
        return m
