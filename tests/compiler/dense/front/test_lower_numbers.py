"""Words of 8, 16 and 32 bits: where they are cut, shifted products, division by constants."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from halide_ast import I8, I16, I32, U8, U16, U32, E, Type, absd, call, cast, low, of
from hypothesis import given
from hypothesis import strategies as st
from lower_programs import agrees, of_two, operations, shown

from sardonyx.compiler.dense.front.words import reciprocal
from sardonyx.compiler.lang.halide.pipeline import Binary


@pytest.mark.parametrize(("build", "types", "expected"), [
    (lambda a, b: a + b, (U8, U8), {"add": 1, "and": 1}),
    (lambda a, b: a + b, (I8, I8), {"add": 1, "shl": 1, "shr": 1}),
    (lambda a, b: a + b + a + b, (U8, U8), {"add": 3, "and": 1}),
    (lambda a, b: cast(U16, a + b) * 3, (U8, U8), {"add": 1, "and": 1, "mul": 1}),
    (lambda a, b: cast(I16, a - b) + 1, (I8, I8), {"sub": 1, "shl": 1, "shr": 1, "add": 1}),
    (lambda a, b: cast(U16, a.equals(b)), (U16, U16), {"eq": 1, "word": 1}),
    (lambda a, b: (a & 15) + (b & 15), (U8, U8), {"and": 2, "add": 1}),
    (lambda a, b: (a + b) & 63, (U8, U8), {"add": 1, "and": 1}),
    (lambda a, b: (a + b) % 32, (U8, U8), {"add": 1, "and": 1}),
    (lambda a, b: (a * b) >> 1, (U8, U8), {"mul": 1, "and": 1, "shr": 1}),
    (lambda a, b: cast(U8, cast(U16, a) + cast(U16, b)), (U8, U8), {"add": 1, "and": 1}),
    (lambda a, b: a - b, (U16, U16), {"sub": 1}),
    (lambda a, b: cast(U16, (cast(I32, a) * cast(I32, b) + cast(I32, a)) * 5), (U16, U16), {"mul": 2, "add": 1}),
    (lambda a, b: cast(I8, a), (U8, U8), {"shl": 1, "shr": 1}),
    (lambda a, b: absd(a, b), (U8, U8), {"sub": 1, "abs": 1}),
    (lambda a, b: absd(a, b), (U16, U16), {"max": 1, "min": 1, "sub": 1}),
    (lambda a, b: call("abs", U8, a), (I8, I8), {"abs": 1}),
    (lambda a, b: low(a, b), (I16, I16), {"min": 1}),
])
def test_values_are_cut_to_their_type_only_where_they_leave_it(build: Callable[[E, E], E], types: tuple[Type, Type],
                                                               expected: dict[str, int]) -> None:
    assert operations(agrees(of_two(build, *types))) == expected


@pytest.mark.parametrize(("shift", "expected"), [
    (8, {"mul_middle": 1}), (16, {"mul_high": 1}), (20, {"mul_high": 1, "shr": 1}),
    (12, {"mul_high": 1, "shl": 1, "mul": 1, "shr": 1, "or": 1}), (3, {"mul_high": 1, "shl": 1, "mul": 1, "shr": 1, "or": 1}),
])
@pytest.mark.parametrize(("narrow", "wide"), [(U16, U32), (I16, I32)])
def test_a_shifted_product_of_words_takes_its_bits(shift: int, expected: dict[str, int], narrow: Type, wide: Type) -> None:
    program = of_two(lambda a, b: cast(narrow, cast(wide, a) * cast(wide, b) >> shift), narrow, narrow)
    assert operations(agrees(program)) == expected


def test_dividing_a_product_by_256_takes_its_middle_bits() -> None:
    program = of_two(lambda a, b: cast(I16, cast(I32, a) * cast(I32, b) // 256), I16, I16)
    assert shown(agrees(program))[-1] == "2 mul_middle.s @0, @1"


@pytest.mark.parametrize("by", [1, 8, 9, 16, 17])
@pytest.mark.parametrize(("narrow", "wide"), [(U16, U32), (I16, I32)])
def test_a_product_is_rounded_when_it_is_shifted(by: int, narrow: Type, wide: Type) -> None:
    half = 1 << by - 1
    program = of_two(lambda a, b: cast(narrow, cast(wide, low(a, 30000)) * cast(wide, b) + half >> by), narrow, narrow)
    assert operations(agrees(program, (31, 20), (30, 19)))["mul_high"] <= 1


def test_a_product_that_fits_the_middle_bits_is_shifted_further() -> None:
    program = of_two(lambda a, b: cast(U16, cast(U32, a) * cast(U32, b) >> 11), U8, U16)
    assert operations(agrees(program)) == {"mul_middle": 1, "shr": 1}


@pytest.mark.parametrize("by", [3, 5, 9, 10, 12, 49, 100, 255, 641])
@pytest.mark.parametrize("type_", [U8, I8, U16, I16])
def test_division_by_constants_is_exact(by: int, type_: Type) -> None:
    """A multiplication and a shift where a factor of 16 bits is exact; with 16 bits that fill a word at most four more."""
    by = min(by, 2 ** (type_.bits - (type_.kind == "int")) - 1)
    quotient, remainder = (of_two(lambda a, b, op=op: E(Binary(op, type_, a.expr, of(by, type_).expr)) + (b - b), type_, type_)
                           for op in ("div", "mod"))
    count = operations(agrees(quotient, (31, 20), (30, 19)))
    assert count["mul_high"] + count["mul_middle"] == 1
    assert count["shr"] <= (1 if type_.bits == 8 else 2)
    assert sum(count.values()) - count["mul_high"] - count["mul_middle"] - count["shr"] <= 2
    agrees(remainder, (31, 20), (30, 19))


@given(st.integers(2, 65535), st.integers(0, 65535))
def test_reciprocals_are_exact_up_to_the_highest_numerator(by: int, highest: int) -> None:
    found = reciprocal(by, highest)
    if found is not None:
        multiplier, shift = found
        numerators = np.arange(highest + 1, dtype=np.int64)
        assert multiplier < 1 << 16
        assert (numerators * multiplier >> shift == numerators // by).all()


def test_a_full_word_has_no_exact_reciprocal_of_7_but_15_bits_have() -> None:
    assert reciprocal(7, 65535) is None
    assert reciprocal(7, 32767) is not None
