"""Affine address generator: a loop nest of counters and one adder.

The address starts at `start`; each step adds the stride of the innermost loop that has not ended, where a stride
already contains the return of the loops inside it, so one adder serves any depth.

    extents 2, 3 (stored as 1, 2), strides 2, 10 from 0:   0 2  12 14  24 26   last

Source: Amber JSSC IV (iteration domain and address generator by recurrence); stored as extent - 1 so that a register
file full of zeros is one iteration.
"""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Const, Module, Mux, Shape, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.soc import EXTENT_BITS, STRIDE_BITS


def loop_layout(levels: int) -> data.StructLayout:
    """The settings of a loop nest: per level, innermost first, extent - 1 and signed byte stride."""
    return data.StructLayout({"extent": data.ArrayLayout(unsigned(EXTENT_BITS), levels),
                              "stride": data.ArrayLayout(signed(STRIDE_BITS), levels)})


def count_loops(m: Module, extents: Sequence[Value], step: Value, restart: Value, ready: bool = False) -> Signal:
    """The iteration domain: counters of a loop nest, innermost first, that go through extent + 1 iterations each.

    `step` takes them to the next iteration, `restart`, which wins, to the first; before it they are undefined. Returns, for
    each loop, whether it is in its last iteration; after the last of all they are in the first again. With `ready` these are
    registers, in counters that are larger; else a test of all bits follows them.
    """
    return loop_counters(m, extents, step, restart, ready)[0]


def loop_counters(m: Module, extents: Sequence[Value], step: Value, restart: Value,
                  ready: bool = False) -> tuple[Signal, list[Signal]]:
    """As `count_loops`, and the iterations that each loop has left behind the current one; with `ready` one less."""
    at_end = Signal(len(extents))
    counters: list[Signal] = []
    for level, extent in enumerate(extents):
        # Counted down, because a test for 0 takes less than a comparison with the extent; to -1 it takes the sign alone.
        left = Signal(len(extent) + ready, name=f"left{level}", reset_less=True)
        counters.append(left)
        inner_ended = at_end[:level].all() if level else Const(1)
        m.d.comb += at_end[level].eq(left[-1] if ready else left == 0)
        reload = restart | at_end[level]
        with m.If(restart | step & inner_ended):
            m.d.sync += left.eq(Mux(reload, extent, left) - 1 if ready else Mux(reload, extent, left - 1))
    return at_end, counters


def advancing(m: Module, at_end: Signal, deltas: Sequence[Value], shape: Shape, name: str = "delta") -> Signal:
    """The delta of the loop that advances, the innermost one that has not ended; 0 in the last iteration of all."""
    delta = Signal(shape, name=name)
    for level in reversed(range(len(deltas))):
        with m.If(~at_end[level]):
            m.d.comb += delta.eq(deltas[level])
    return delta


class AffineGenerator(wiring.Component):
    """Walks a loop nest, one address per step.

    Parameters
    ----------
    levels : int         Loop levels, 1..16.
    address_bits : int

    Members
    -------
    loops : In           Settings, constant while running.
    start : In           First address.
    restart : In(1)      Go back to the first address (in the next cycle).
    step : In(1)         Advance.
    address : Out        The current address.
    last : Out(1)        The current address is the last of the nest.
    slice_ends : Out(1)  It is the last of an iteration of the outermost loop.

    Timing: address, last and slice_ends come from registers; one step per cycle.
    Source: Onyx JSSC V-C (loops of the load and store units).
    """

    def __init__(self, levels: int, address_bits: int) -> None:
        self.levels, self.address_bits = levels, address_bits
        super().__init__({"loops": In(loop_layout(levels)), "start": In(address_bits), "restart": In(1), "step": In(1),
                          "address": Out(address_bits), "last": Out(1), "slice_ends": Out(1)})

    @property
    def module_name(self) -> str:
        return f"affine_{self.levels}x{self.address_bits}"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Many loops, and an adder of all of the chain's bits behind the choice among their strides.
        at_end = count_loops(m, list(self.loops.extent), self.step, self.restart, ready=True)
        m.d.comb += [self.last.eq(at_end.all()), self.slice_ends.eq(at_end[:-1].all())]
        delta = advancing(m, at_end, list(self.loops.stride), signed(STRIDE_BITS))
        with m.If(self.restart):
            m.d.sync += self.address.eq(self.start)
        with m.Elif(self.step):
            m.d.sync += self.address.eq(self.address + delta)
        return m
