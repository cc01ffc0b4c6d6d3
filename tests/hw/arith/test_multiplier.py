"""The product of all words, proved for few bits; that of 16 is part of the operations of the ALU (test_alu)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.sim import Simulator
from prover import Harness, Side, Verdict, always, free, prove

from sardonyx.hw.arith.multiplier import Multiplier
from sardonyx.hw.booth import recoded
from sardonyx.hw.emit import macro

EDGES = (0, 1, 2, 3, 0x5555, 0x7FFE, 0x7FFF, 0x8000, 0x8001, 0xAAAA, 0xFFFE, 0xFFFF)


class OfAll(Harness):
    """Any two words, signed or not."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        super().__init__()

    def build(self, m: Module) -> None:
        a, b, is_signed = (free(m, width, name) for width, name in ((self.bits, "a"), (self.bits, "b"), (1, "is_signed")))
        product = connected(m, macro(Multiplier(self.bits)), a, b, is_signed)
        always(m, "product", product == by_bits(a, b, is_signed))


def connected(m: Module, multiplier: Multiplier, a: Value, b: Value, is_signed: Value) -> Value:
    m.submodules.multiplier = multiplier
    m.d.comb += [multiplier.a.eq(a), multiplier.digits.eq(recoded(b, is_signed)), multiplier.is_signed.eq(is_signed)]
    return multiplier.product


def by_bits(a: Value, b: Value, is_signed: Value) -> Value:
    """The product as it is defined: a, times the weight of each bit of b."""
    bits = len(a)
    wide = Cat(a, (a[-1] & is_signed).replicate(bits))
    weighed = [wide << at for at in range(bits - 1)] + [Mux(is_signed, -wide, wide) << (bits - 1)]
    return sum((Mux(b[at], each[:2 * bits], 0) for at, each in enumerate(weighed)), Const(0, 2 * bits))[:2 * bits]


def test_products_of_all_words_are_right(tmp_path: Path) -> None:
    assert prove(Side({f"bits{bits}": OfAll(bits) for bits in (4, 6)}), tmp_path) == Verdict(True)


def test_products_of_16_bits_are_right_at_the_edges_and_at_random() -> None:
    some = random.Random(1)
    m, a, b, is_signed, product = Module(), Signal(16), Signal(16), Signal(), Signal(32)
    m.d.comb += product.eq(connected(m, Multiplier(16), a, b, is_signed))

    async def check(context):
        pairs = [(left, right) for left in EDGES for right in EDGES]
        pairs += [(some.getrandbits(16), some.getrandbits(16)) for _ in range(60)]
        for left, right in pairs:
            for sign in (0, 1):
                for signal, value in ((a, left), (b, right), (is_signed, sign)):
                    context.set(signal, value)
                meant = [word - (1 << 16) if sign and word >> 15 else word for word in (left, right)]
                assert context.get(product) == meant[0] * meant[1] % (1 << 32), (left, right, sign)

    simulator = Simulator(m)
    simulator.add_testbench(check)
    simulator.run()


def test_a_factor_of_no_digits_gives_0_and_turns_nothing() -> None:
    m, a, product = Module(), Signal(16), Signal(32)
    m.submodules.multiplier = multiplier = Multiplier(16)
    m.d.comb += [multiplier.a.eq(a), product.eq(multiplier.product)]

    async def check(context):
        for word in EDGES:
            for sign in (0, 1):
                context.set(a, word)
                context.set(multiplier.is_signed, sign)
                assert context.get(product) == 0

    simulator = Simulator(m)
    simulator.add_testbench(check)
    simulator.run()


@pytest.mark.parametrize("bits", [2, 7])
def test_other_widths_are_refused(bits: int) -> None:
    with pytest.raises(ValueError, match=f"a factor has an even number of bits, 4 or more, not {bits}"):
        Multiplier(bits)
