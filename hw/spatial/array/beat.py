"""The beat of a spatial array: when an operation begins, and in which of its steps it is."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal
from amaranth.lib.wiring import Component, In, Out


class Beat(Component):
    """Begins operations and says which of their steps is done now.

    Behaviour: an operation begins in a cycle in which its first words are at hand, and then goes on by a step in every cycle in
    which nothing that a step needs is missing. The next one may begin `interval` steps later, or two, three, ... intervals;
    when none is under way, at once. Steps are counted here as they are launched (`wave`).

    Parameters
    ----------
    steps : int       Of an operation, 1 or more.
    interval : int    Steps between two operations, or multiples of it, 1 or more.

    Members
    -------
    ready : In(1)       The words of the first step that takes any are at hand.
    complete : In(1)    Words and room for all steps in `at` are there; may follow `at`.
    at : Out(steps)     Bit n: an operation is in its step n.
    step : Out(1)       A step is done.

    Timing: bit 0 of `at` follows `ready`, `step` both inputs, in the same cycle; all else comes from registers.
    Source: Stellar IV-C and Fig. 11 count time in every PE. Departure: one pulse for an operation passes a chain of
    registers, as many operations may be under way as the interval allows, and no PE counts.
    """

    def __init__(self, steps: int, interval: int) -> None:
        if steps < 1 or interval < 1:
            raise ValueError(f"{steps} steps and an interval of {interval}: both are 1 or more")
        self.steps, self.interval = steps, interval
        self.module_name = f"spatial_beat_{steps}_{interval}"
        super().__init__({"ready": In(1), "complete": In(1), "at": Out(steps), "step": Out(1)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        later = Signal(self.steps - 1)     # bit n: an operation is in its step n + 1
        phase = Signal(range(self.interval))
        begins = Signal()
        m.d.comb += [
            begins.eq(self.ready & ((phase == 0) | ~later.any())),
            self.at.eq(Cat(begins, later)),
            self.step.eq(self.at.any() & self.complete),
        ]
        with m.If(self.step):
            m.d.sync += later.eq(self.at)
            if self.interval > 1:
                m.d.sync += phase.eq(Mux(begins, 1, Mux(phase == self.interval - 1, 0, phase + 1)))
        return m


class ShortBeat(Component):
    """The beat of an array whose operations may end early: all of their steps from one on are alike.

    Behaviour: as `Beat` with an interval of all steps, but an operation ends behind the step that its length says.

    Parameters
    ----------
    steps : int    Of the longest operation.
    cut : int      The step from which on all are alike, 1 or more.

    Members
    -------
    ready : In(1)          The words of the first step that takes any are at hand, and the length is.
    complete : In(1)       As in `Beat`.
    length : In            Steps of the operation, 1..steps; as long as it is under way.
    at : Out(cut + 1)      Bit n: the operation is in its step n; the last bit: in step `cut` or a later one.
    step, last : Out(1)    A step is done; it is the last one of the operation.

    Timing: as in `Beat`.
    """

    def __init__(self, steps: int, cut: int) -> None:
        if not 1 <= cut < steps:
            raise ValueError(f"a cut at {cut} of {steps} steps: it is 1 or more, and not behind the last")
        self.steps, self.cut = steps, cut
        self.module_name = f"spatial_short_beat_{steps}_{cut}"
        super().__init__({"ready": In(1), "complete": In(1), "length": In(range(steps + 1)), "at": Out(cut + 1),
                          "step": Out(1), "last": Out(1)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        now = Signal(range(self.steps))
        m.d.comb += [
            self.at.eq(Cat(self.ready & (now == 0), *(now == step for step in range(1, self.cut)), now >= self.cut)),
            self.step.eq(self.at.any() & self.complete),
            self.last.eq(self.step & (now == self.length - 1)),
        ]
        with m.If(self.step):
            m.d.sync += now.eq(Mux(self.last, 0, now + 1))
        return m
