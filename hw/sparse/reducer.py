"""Reducer: sums each innermost fiber, or takes its maximum."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ..arch.primitive import REDUCER
from ..arch.tile import PE, TileSpec
from ..arch.token import DATA_BITS
from .interface import is_done, is_next, is_stop, is_value, level, members, stop_token


class Reducer(wiring.Component):
    """Sum each innermost fiber to one value and lower the other stops by one level.

    Behaviour, plain: ``1 2 S0 3 S1 D`` becomes ``3 3 S0 D``. Every stop emits the sum of the values before
    it, 0 if there are none; S0 is consumed, Sn leaves as S(n-1). ``1 2 S0 D`` becomes the scalar ``3 D``.

    Behaviour, guided: the coordinates of the level above say how many sums there are, which stops alone
    cannot: crd ``0 2 S0 S1 D`` with val ``1 2 S0 S1 S2 D`` becomes ``3 0 S0 S1 D``. One fiber is summed for
    every coordinate; a stop Sn of crd takes the S(n+1) of val that closed its last fiber, or that stands
    alone where crd has no coordinates. Streams out of step wait for ever.

    Sums wrap at 16 bits; maybe counts as 0.

    With `spec.reduce_max` and the operation max, the largest value of a fiber in place of the sum, in two's complement. Zeros
    that are not stored count, so a fiber of fewer values than `extent`, or of none, gives 0 if all are below it: with extent 3,
    ``-2 -1 S0 -2 -1 -4 S1 D`` becomes ``0 -1 S0 D``. No fiber has 2**16 values or more.

    Parameters
    ----------
    spec : TileSpec     Its `reduce_max`.

    Members
    -------
    cfg : guided, and with `reduce_max` op and extent
    val : In            Values.
    crd : In            Coordinates of the level above; not read if plain.
    val_o : Out         Sums.

    Timing: n + 1 cycles for a fiber of n values: the sum leaves in the cycle of the stop; one more for a stop
    above S0. `val_o` follows `val` and `crd` in the same cycle.
    Source: Onyx JSSC III-C (reducer). The guide is ours: it tells a fiber without values from no fiber. Onyx's reducer does
    any operation of the ALU from a start value, which leaves open what zeros that are not stored are.
    """

    def __init__(self, spec: TileSpec = PE) -> None:
        self.maxima = spec.reduce_max
        super().__init__(members(REDUCER) | {"cfg": In(spec.config(REDUCER).layout)})

    @property
    def module_name(self) -> str:
        return "reducer_max" if self.maxima else "reducer"

    @property
    def emit_key(self) -> bool:
        return self.maxima

    def elaborate(self, platform: object) -> Module:
        m = Module()
        val, crd, out = self.val.payload, self.crd.payload, self.val_o
        guided = self.cfg.guided
        total = Signal(DATA_BITS)
        summing = Signal()      # The fiber has values in `total`.
        summed = Signal()       # Its sum has left, its stop has not.

        emit_sum = Signal()
        emit_stop = Signal()
        emit_done = Signal()
        with m.If(self.val.valid & (~guided | self.crd.valid)):
            with m.If(is_done(val)):
                m.d.comb += emit_done.eq((~guided | is_done(crd)) & ~summing)
            with m.Elif(is_stop(val) & guided):
                m.d.comb += [
                    emit_sum.eq(is_value(crd) & ~summed),
                    emit_stop.eq(is_stop(crd) & is_next(level(crd), level(val)) & ~summing),
                ]
            with m.Elif(is_stop(val)):
                m.d.comb += [emit_sum.eq(~summed), emit_stop.eq(summed)]

        value = Mux(val.control, 0, val.data)
        together, found = total + value, total
        if self.maxima:
            count = Signal(DATA_BITS)
            maximum = self.cfg.op
            larger = ~summing | (value.as_signed() > total.as_signed())
            together = Mux(maximum, Mux(larger, value, total), together)
            found = Mux(maximum & total[-1] & (count != self.cfg.extent), 0, total)
        add = Signal()
        leaves = Signal()
        lowest = Signal()
        m.d.comb += [
            # Values may come before their coordinate, but not where another token shows that there is none.
            add.eq(self.val.valid & is_value(val) & ~summed & ~(guided & self.crd.valid & ~is_value(crd))),
            lowest.eq(level(val) == 0),
            out.valid.eq(emit_sum | emit_stop | emit_done),
            out.payload.eq(Mux(emit_sum, found,
                               Mux(emit_stop, stop_token((level(val) - 1)[:8]), val.as_value()))),
            leaves.eq(out.valid & out.ready),
            self.crd.ready.eq(guided & leaves),
            self.val.ready.eq(add | (leaves & (~emit_sum | lowest))),
        ]
        with m.If(add):
            m.d.sync += [total.eq(together), summing.eq(1)]
        with m.Elif(leaves):
            m.d.sync += [total.eq(0), summing.eq(0), summed.eq(emit_sum & ~lowest)]
        if self.maxima:
            with m.If(add):
                m.d.sync += count.eq(count + 1)
            with m.Elif(leaves):
                m.d.sync += count.eq(0)
        return m
