"""What tells that an accelerator waits for ever."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...arch.command import PATIENCE_BITS


class Watchdog(wiring.Component):
    """Counts cycles in which nothing moves, though something is under way.

    Behaviour: memory that is slow does not count, as the bus has something to do then: what is waited for comes from the array.

    Members
    -------
    patience : In(32)      So many cycles are too many; 0: none are.
    busy : In(1)           A command waits, or a request is under way.
    moves : In(1)          A command or an element of a stream is taken.
    quiet : In(1)          As of `Quiet`.
    bites : Out(1)         For a cycle: too many have passed. Nothing is under way on the bus.

    Timing: `bites` in the cycle behind `patience` of them in which nothing moved.
    Source: a design of its own.
    """

    def __init__(self) -> None:
        super().__init__({"patience": In(PATIENCE_BITS), "busy": In(1), "moves": In(1), "quiet": In(1), "bites": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        still = Signal(PATIENCE_BITS)       # cycles without a move
        waits = Signal()
        m.d.comb += [waits.eq(self.busy & ~self.moves & self.quiet),
                     self.bites.eq(waits & (self.patience != 0) & (still >= self.patience))]
        m.d.sync += still.eq(still + 1)
        with m.If(~waits | self.bites):
            m.d.sync += still.eq(0)
        return m
