"""Divider: quotients of two streams of integers, a bit a cycle."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ..arch.primitive import DIVIDER, QUOTIENT_CYCLES
from ..arch.token import DATA_BITS
from ..sparse.interface import is_value, members

TOP = DATA_BITS - 1


class Divider(wiring.Component):
    """Divide integers in two's complement, rounding down; a / 0 is 0.

    Behaviour: each operand is a stream or the constant. Of two data tokens (maybe counts as 0) one quotient leaves, what
    `numpy.floor_divide` gives of int16: -32768 / -1 wraps. Equal stops and done pass. Operands out of step wait for ever, and
    a divider without stream operands is silent.

        a ``7 65529 S0 7 5 S1 D``, b ``2 2 S0 0 N S1 D``     res ``3 65532 S0 0 0 S1 D``

    Magnitudes are divided, one bit of the quotient in each cycle, the highest first: from what is left of the dividend and its
    next bit the divisor is taken where it fits. Where the signs differ the quotient of |a| - 1 is inverted, which is the one
    rounded down.

    Members
    -------
    cfg : stream_a, stream_b, constant
    a, b : In           Dividends and divisors.
    res : Out           Quotients, stops and done.

    Timing: `QUOTIENT_CYCLES` for a quotient; one for a stop or done, and for a quotient with a 0 as either operand. `valid`
    and payload of `res` come from registers; `ready` of the inputs follows that of `res` and their own valid.
    Source: restoring division, Parhami, Computer Arithmetic, 13.2. Onyx multiplies with reciprocals in BF16, of a table.
    """

    def __init__(self) -> None:
        super().__init__(members(DIVIDER))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        cfg, out = self.cfg, self.res
        operands = ((self.a, cfg.stream_a), (self.b, cfg.stream_b))
        a, b = (Mux(use, each.payload.data & ~each.payload.control.replicate(DATA_BITS), cfg.constant)
                for each, use in operands)
        first = Mux(cfg.stream_a, self.a.payload.as_value(), self.b.payload.as_value())
        equal = ~cfg.stream_a | ~cfg.stream_b | (self.a.payload.as_value() == self.b.payload.as_value())
        values = Cat(~use | is_value(each.payload) for each, use in operands).all()
        controls = Cat(~use | ~is_value(each.payload) for each, use in operands).all() & equal

        full = Signal()
        left = Signal(range(DATA_BITS + 1))     # Bits of the quotient that are not yet there.
        control = Signal()
        inverted = Signal()
        divisor = Signal(DATA_BITS)
        rest = Signal(TOP)                      # Below the divisor, which is 2**15 at most.
        quotient = Signal(DATA_BITS)            # Bits of the dividend leave it at the top as bits of the quotient enter.
        room = Signal()
        taken = Signal()
        there = (cfg.stream_a | cfg.stream_b) & Cat(~use | each.valid for each, use in operands).all()
        m.d.comb += [
            taken.eq(there & (values | controls)),
            out.valid.eq(full & (left == 0)),
            out.payload.data.eq(quotient ^ inverted.replicate(DATA_BITS)), out.payload.control.eq(control),
            room.eq(~full | (out.valid & out.ready)),
            *(each.ready.eq(use & taken & room) for each, use in operands)]

        # |a|, and 1 less where the signs differ: a, ~a, a - 1 or ~a + 1.
        dividend = (a ^ a[TOP].replicate(DATA_BITS)) + Cat(b[TOP], (b[TOP] & ~a[TOP]).replicate(TOP))
        divides = ~controls & (a != 0) & (b != 0)
        ahead = Cat(quotient[TOP], rest)
        less = Signal(DATA_BITS + 1)
        fits = ~less[DATA_BITS]
        m.d.comb += less.eq(ahead - divisor)
        with m.If(room):
            m.d.sync += [full.eq(taken), control.eq(controls), left.eq(Mux(divides, DATA_BITS, 0)),
                         inverted.eq(divides & (a[TOP] ^ b[TOP])), rest.eq(0),
                         divisor.eq((b ^ b[TOP].replicate(DATA_BITS)) + b[TOP]),
                         quotient.eq(Mux(controls, first[:DATA_BITS], Mux(divides, dividend[:DATA_BITS], 0)))]
        with m.Elif(left != 0):
            m.d.sync += [left.eq(left - 1), rest.eq(Mux(fits, less[:TOP], ahead[:TOP])), quotient.eq(Cat(fits, quotient[:TOP]))]
        assert QUOTIENT_CYCLES == DATA_BITS + 1, "a bit a cycle, after the one that takes the operands"
        return m
