"""Joiner: the coordinates that two fibers share, or that either has."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from ..arch.primitive import JOINER
from ..arch.token import MAYBE, TOKEN
from .interface import fork, is_maybe, is_value, members


class Joiner(wiring.Component):
    """Intersect or unite two coordinate streams, with the references that belong to them.

    Behaviour, with references ``7 8 9 S0 D`` of side 0 and ``3 4 S0 D`` of side 1:

        crd0 ``0 2 5 S0 D``     intersect: crd ``2 S0 D``          union: crd ``0 2 5 6 S0 D``
        crd1 ``2 6 S0 D``                  ref0_o ``8 S0 D``              ref0_o ``7 8 9 N S0 D``
                                           ref1_o ``3 S0 D``              ref1_o ``N 3 N 4 S0 D``

    Stops and done are equal on both sides and leave once. Sides with unequal stops, or with references where there
    are none, wait for ever; a stop beside one of another level, and a maybe as coordinate, are a `fault`. A maybe
    among the references is a reference like any other.

    Members
    -------
    cfg : op, use_ref0, use_ref1      A reference stream that is not used is neither awaited nor produced.
    crd0, ref0, crd1, ref1 : In       Coordinates rise within a fiber; references run in step with them.
    crd, ref0_o, ref1_o : Out         One token on each for every coordinate kept.
    fault : Out(1)                    The streams do not belong together. Sticky until reset; what leaves is undefined.

    Timing: one comparison per cycle, so as many cycles as tokens on both sides, those in common counted once.
    Outputs follow inputs in the same cycle; each takes its token when it is ready, the last one ends the step.
    Source: Onyx JSSC III-C (intersector/unioner). One comparator serves both operations: the control bit
    puts stops after all coordinates.
    """

    def __init__(self) -> None:
        super().__init__(members(JOINER) | {"fault": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        crd0, crd1 = self.crd0.payload, self.crd1.payload
        sides = ((self.crd0, self.ref0, self.ref0_o, self.cfg.use_ref0),
                 (self.crd1, self.ref1, self.ref1_o, self.cfg.use_ref1))
        same = Signal()
        take0 = Signal()
        take1 = Signal()
        both = Signal()
        keep = Signal()
        m.d.comb += [
            same.eq(crd0.as_value() == crd1.as_value()),
            take0.eq(same | (crd0.as_value() < crd1.as_value())),
            take1.eq(same | ~take0),
            # Two controls that differ are streams out of step: wait, so that the watchdog shows where.
            both.eq(_here(*sides[0]) & _here(*sides[1]) & ~(crd0.control & crd1.control & ~same)),
            keep.eq(both & (same | self.cfg.op)),
            self.crd.payload.eq(Mux(take0, crd0, crd1)),
        ]
        # Compared beside the way of the tokens and kept in a register, so that no path gets longer. Where both sides show the
        # same control, `_here` has made sure that references do so too.
        strange = [is_maybe(crd0), *(use & (ref.payload.data != crd.payload.data) for crd, ref, _, use in sides)]
        with m.If(both & same & crd0.control & Cat(strange).any()):
            m.d.sync += self.fault.eq(1)
        over = fork(m, keep, (self.crd, Const(1)), *((out, use) for _, _, out, use in sides))
        for (crd, ref, out, use), take in zip(sides, (take0, take1)):
            m.d.comb += [
                crd.ready.eq(both & take & over),
                ref.ready.eq(both & take & over & use),
                out.payload.eq(Mux(self.crd.payload.control, self.crd.payload,
                                   Mux(take, ref.payload, TOKEN.from_bits(MAYBE)))),
            ]
        return m


def _here(crd: Any, ref: Any, out: Any, use: Value) -> Value:
    """Whether a side shows a coordinate or control, and the reference that goes with it if used."""
    return crd.valid & (~use | (ref.valid & (is_value(ref.payload) ^ crd.payload.control)))
