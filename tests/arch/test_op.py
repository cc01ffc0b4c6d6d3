"""The operation table against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.op import BY_NAME, CONDITIONS, OPS, predicate, results

words = st.one_of(st.integers(0, 0xFFFF), st.sampled_from([0, 1, 0x7FFF, 0x8000, 0xFFFF]))

# The meaning in NumPy, on 64-bit integers of the signed operands.
NUMPY = {
    "taa": lambda a, b, c: a + b + c, "tas": lambda a, b, c: a + b - c, "tsa": lambda a, b, c: a - b + c,
    "tss": lambda a, b, c: a - b - c, "muladd": lambda a, b, c: a * b + c, "mulsub": lambda a, b, c: a * b - c,
    "crop": lambda a, b, c: np.maximum(np.minimum(a, b), c), "mult0": lambda a, b, c: a * b,
    "mult1": lambda a, b, c: (a * b) >> 8, "mult2": lambda a, b, c: (a * b) >> 16, "abs": lambda a, b, c: np.abs(a),
    "and": lambda a, b, c: a & b, "or": lambda a, b, c: a | b, "xor": lambda a, b, c: a ^ b,
}


def _signed(word):
    return np.int64(np.uint16(word).astype(np.int16))


@given(words, words, words)
def test_operations_mean_what_numpy_computes_on_signed_words(a, b, c):
    for name, meaning in NUMPY.items():
        expected = int(meaning(_signed(a), _signed(b), _signed(c))) % 65536
        assert BY_NAME[name](a, b, c, signed=True) == expected, name


@given(words, words)
def test_sums_and_differences_wrap(a, b):
    assert BY_NAME["adc"](a, b) == (a + b) % 65536
    assert BY_NAME["sbc"](a, b, d=1) == (a - b) % 65536


@given(words, words)
def test_comparison_is_a_difference_and_a_condition(a, b):
    code = {c.name: c.code for c in CONDITIONS}
    x, y = int(_signed(a)), int(_signed(b))
    for name, expected in (("eq", a == b), ("ne", a != b), ("uge", a >= b), ("ult", a < b), ("ugt", a > b), ("ule", a <= b),
                           ("sge", x >= y), ("slt", x < y), ("sgt", x > y), ("sle", x <= y)):
        assert predicate(BY_NAME["sbc"], code[name], 0, a, b, 0, 1, 0, 0, False) == expected, name


@given(words, words, st.integers(0, 1))
def test_carry_chains_a_wider_sum(a, b, carry):
    result, out, _ = BY_NAME["adc"].results(a, b, 0, carry, False)
    assert out << 16 | result == a + b + carry


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_codes_are_positions(op):
    assert OPS[op.code] is op


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_one_meaning_serves_integers_and_arrays(op):
    rng = np.random.default_rng(7)
    corners = np.array([0, 1, 15, 16, 17, 0x7FFF, 0x8000, 0xFFFF])
    a, b, c = (np.where(rng.random(200) < 0.5, rng.choice(corners, 200), rng.integers(0, 1 << 16, 200)) for _ in range(3))
    bits = [rng.integers(0, 2, 200) for _ in range(3)]
    for signed in (False, True):
        for cond in range(len(CONDITIONS) + 1):
            arrays = results(op, cond, 0x6A, a, b, c, *bits, signed)
            rows = zip(*(each.tolist() for each in (a, b, c, *bits)), strict=True)
            assert list(zip(*(each.tolist() for each in arrays), strict=True)) == [
                results(op, cond, 0x6A, *row, signed) for row in rows]


@given(words, words, st.integers(0, 1))
def test_only_sums_have_a_carry_and_an_overflow(a, b, carry):
    for op in OPS:
        _, out, overflow = op.results(a, b, 5, carry, True)
        exact = {"adc": _signed(a) + _signed(b) + carry, "sbc": _signed(a) + ~_signed(b) + carry}.get(op.name, 0)
        assert overflow == (op.sums and not -0x8000 <= exact < 0x8000) and (op.sums or out == 0)
