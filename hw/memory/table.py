"""Walk a fixed list of numbers, over and over, where these are no loop nest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, Elaboratable, Module, Mux, Signal
from amaranth.lib.wiring import Component, In, Out


class Table(Component):
    """Numbers that are known when it is made, in any order.

    Behaviour: of 3 1 5 it gives 3, 1, 5, and 3 again.

    Parameters
    ----------
    numbers : sequence of int     From 0; at least one.
    bits : int                    Of a number.

    Members
    -------
    valid, step, number, ends, last     As of `Nest`; each number is the last of its innermost loop.

    Timing: all outputs come from registers, `last` by a gate.
    Source: Stellar IV-D (the order of an array that is no constant request).
    """

    def __init__(self, numbers: Sequence[int], bits: int) -> None:
        if not numbers or min(numbers) < 0 or max(numbers) >> bits:
            raise ValueError(f"a table has one number or more, of {bits} bits")
        self.numbers, self.bits = tuple(numbers), bits
        super().__init__({"valid": Out(1), "step": In(1), "number": Out(bits), "ends": Out(1), "last": Out(1)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        count = len(self.numbers)
        number = Signal(self.bits, init=self.numbers[0])
        following = Signal(range(count), init=1 % count)
        m.d.sync += self.valid.eq(1)
        m.d.comb += [self.number.eq(number), self.ends.eq(1), self.last.eq(following == 0)]
        with m.If(self.valid & self.step):
            m.d.sync += [number.eq(Array(self.numbers)[following]), following.eq(Mux(following == count - 1, 0, following + 1))]
        return m
