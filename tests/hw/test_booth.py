"""The lower half of products: all words of few bits proved, 16 bits at the edges and at random."""

import random
from pathlib import Path

import pytest
from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.sim import Simulator, SimulatorContext
from prover import Harness, Side, Verdict, always, free, prove

from sardonyx.hw import booth
from sardonyx.hw.booth import low_product

EDGES = (0, 1, 2, 3, 0x5555, 0x7FFE, 0x7FFF, 0x8000, 0x8001, 0xAAAA, 0xFFFE, 0xFFFF)


class OfAll(Harness):
    """Any two words."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        super().__init__()

    def build(self, m: Module) -> None:
        a, b = free(m, self.bits, "a"), free(m, self.bits, "b")
        always(m, "lower half", low_product(a, b) == by_bits(a, b))


def by_bits(a: Value, b: Value) -> Value:
    """It as it is defined: a, times the weight of each bit of b; the prover has something else for ``*``."""
    return sum((Mux(bit, a << at, 0)[:len(a)] for at, bit in enumerate(b)), Const(0, len(a)))[:len(a)]


def test_lower_halves_of_all_words_are_right(tmp_path: Path) -> None:
    assert prove(Side({f"bits{bits}": OfAll(bits) for bits in (2, 4, 6)}), tmp_path) == Verdict(True)


def test_digits_that_turn_nothing_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unturned(factor: Value, is_signed: Value) -> Value:
        return right(factor, is_signed) & 0b0011_1111

    right = booth.recoded
    monkeypatch.setattr(booth, "recoded", unturned)
    assert prove(OfAll(6), tmp_path, bound=1, only="lower half").failed == ("lower half",)


def test_lower_halves_of_16_bits_are_right_at_the_edges_and_at_random() -> None:
    some = random.Random(1)
    m, a, b, low = Module(), Signal(16), Signal(16), Signal(16)
    m.d.comb += low.eq(low_product(a, b))

    async def check(context: SimulatorContext) -> None:
        pairs = [(left, right) for left in EDGES for right in EDGES]
        pairs += [(some.getrandbits(16), some.getrandbits(16)) for _ in range(100)]
        for left, right in pairs:
            context.set(a, left)
            context.set(b, right)
            assert context.get(low) == left * right % (1 << 16), (left, right)

    simulator = Simulator(m)
    simulator.add_testbench(check)
    simulator.run()
