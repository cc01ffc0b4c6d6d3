"""Every operator, type and function: read from Halide, written with the few of the language, evaluated, compared."""

import halide as hl
import numpy as np
import pytest
from halide_programs import TYPES, C, X, Y, agree, image, noise
from hypothesis import given, settings
from hypothesis import strategies as st

INTEGERS = ("uint8", "int8", "uint16", "int16", "uint32", "int32")


def images(dtype: str) -> "tuple[hl.Expr, hl.Expr, dict[hl.ImageParam, np.ndarray]]":
    """Two operands and images of all values; products and sums of int32 stay in range, where Halide defines them."""
    a, b = image("a", dtype), image("b", dtype)
    first, second = noise(dtype, (12, 17), 1), noise(dtype, (12, 17), 2)
    if dtype == "int32":
        first, second = first // 65536, second // 65536
    return a[X, Y], b[X, Y], {a: first, b: second}


def agree_on_all(exprs: "list[hl.Expr]", arrays: "dict[hl.ImageParam, np.ndarray]") -> None:
    """One expression in each plane of a result: compiling them together takes Halide a second less for each."""
    func = hl.Func("results")
    func[X, Y, C] = hl.mux(C, exprs)
    agree(func, (len(exprs), 12, 17), arrays)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_arithmetic_and_comparisons(dtype: str) -> None:
    a, b, arrays = images(dtype)
    agree_on_all([
        a + b, a - b, a * b, a / b, a // b, a % b, a / 7, a % 7, a / 8, a % 8, -a if dtype.startswith("i") else a,
        hl.min(a, b), hl.max(a, b), hl.clamp(a, 3, 100), hl.select(a < b, a, b), hl.select(a <= b, a, b),
        hl.select(a > b, a, b), hl.select(a >= b, a, b), hl.select(a == b, a, b), hl.select(a != b, a, b),
        hl.select((a < b) & (b > 3) | hl.logical_not(a == 1), a, b), hl.select(a < 3, a, a > 50, b, 7),
        hl.likely(a), hl.mux(a % 3, [a, b, a + b]), hl.cast(TYPES[dtype], 3) - a], arrays)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits_and_shifts(dtype: str) -> None:
    a, b, arrays = images(dtype)
    exprs = [a & b, a | b, a ^ b, ~a, a << 3, a >> 3, a << (b & 7), a >> (b & 7), hl.popcount(a),
             hl.count_leading_zeros(a | 1), hl.count_trailing_zeros(a | 1)]
    if dtype.startswith("i"):
        exprs += [a << ((b & 7) - 3), a >> ((b & 7) - 3)]
    agree_on_all(exprs, arrays)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_fixed_point_functions(dtype: str) -> None:
    a, b, arrays = images(dtype)
    bits = TYPES[dtype].bits()
    exprs = [
        hl.cast(TYPES[dtype], hl.absd(a, b)), hl.halving_add(a, b), hl.halving_sub(a, b), hl.rounding_halving_add(a, b),
        hl.saturating_add(a, b), hl.saturating_sub(a, b), hl.rounding_shift_right(a, hl.cast(TYPES[dtype], 3)),
        hl.rounding_shift_right(a, b & 3), hl.rounding_shift_left(a, b & 3), hl.div_round_to_zero(a, b | 1),
        hl.mod_round_to_zero(a, b | 1), hl.mul_shift_right(a, b, bits), hl.mul_shift_right(a, b, bits - 1),
        hl.mul_shift_right(a, b, 3), hl.rounding_mul_shift_right(a, b, bits - 1), hl.lerp(a, b, hl.u8(a)),
        hl.lerp(a, b, hl.u16(b)), hl.lerp(a, b, hl.u32(a))]
    if dtype.startswith("i"):
        exprs += [hl.cast(TYPES[dtype], hl.abs(a)), hl.rounding_shift_right(a, (b & 7) - 3)]
    agree_on_all(exprs, arrays)


@pytest.mark.parametrize("dtype", ("uint8", "int8", "uint16", "int16"))
def test_widening_functions(dtype: str) -> None:
    a, b, arrays = images(dtype)
    wide = hl.Int(64)
    double = hl.widening_mul(a, b)
    agree_on_all([hl.cast(wide, each) for each in (
        hl.widening_add(a, b), hl.widening_sub(a, b), double, hl.widening_shift_left(a, b & 7),
        hl.widening_shift_right(a, b & 7), hl.widen_right_add(double, b), hl.widen_right_sub(double, b),
        hl.widen_right_mul(double, b))], arrays)


def test_division_by_negative_numbers_and_zero() -> None:
    a, b, arrays = images("int16")
    minus = hl.i16(-3)
    agree_on_all([a / minus, a % minus, a / hl.i16(-8), a % hl.i16(-8), a / (b & 1), a % (b & 1), a / (-(b & 7)),
                  a % (-(b & 7)), minus / (b | 1), minus % (b | 1)], arrays)


@pytest.mark.parametrize("source", (*INTEGERS, "bool"))
def test_casts(source: str) -> None:
    a = image("a", source)
    targets = [hl.i64(hl.cast(TYPES[target], a[X, Y])) for target in TYPES]
    if source != "bool":
        targets += [hl.i64(each(a[X, Y])) for each in (hl.u8_sat, hl.i8_sat, hl.u16_sat, hl.i16_sat, hl.i32_sat)]
        targets.append(hl.i64(hl.extract_bits(hl.UInt(8), a[X, Y], 3)))
        targets.append(hl.i64(hl.concat_bits([hl.u8(a[X, Y]), hl.u8(a[X, Y] >> 4)])))
    agree_on_all(targets, {a: noise(source, (12, 17))})


def test_booleans() -> None:
    a, b, arrays = images("bool")
    agree_on_all([a & b, a | b, a ^ b, hl.logical_not(a), a == b, a != b, hl.select(a, b, hl.logical_not(b))], arrays)


UNARY = (lambda a: ~a, lambda a: a >> 2, lambda a: a << 1, lambda a: a / 3, lambda a: a % 5, lambda a: hl.clamp(a, 2, 90),
         lambda a: hl.i16(hl.u8(a)), lambda a: hl.i16(hl.abs(a)), lambda a: hl.i16(hl.i32(a) * 300 >> 8))
BINARY = (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, hl.min, hl.max, lambda a, b: a & b,
          lambda a, b: a ^ b, lambda a, b: a / b, lambda a, b: a % b, lambda a, b: hl.i16(hl.absd(a, b)),
          lambda a, b: hl.select(a < b, b, a), lambda a, b: hl.saturating_add(a, b), lambda a, b: hl.halving_add(a, b))


@st.composite
def stencils(draw: st.DrawFn) -> "tuple[hl.Func, hl.ImageParam]":
    """Up to four Funcs of int16, each of two operations on those before it, read up to two points away."""
    source = image("source", "int16")
    funcs = [source]

    def access() -> hl.Expr:
        dx, dy = draw(st.integers(-2, 2)), draw(st.integers(-2, 2))
        return draw(st.sampled_from(funcs))[X + dx, Y + dy]

    for number in range(draw(st.integers(1, 4))):
        func = hl.Func(f"stage{number}")
        value = draw(st.sampled_from(BINARY))(access(), draw(st.sampled_from(UNARY))(access()))
        func[X, Y] = draw(st.sampled_from(BINARY))(value, access())
        if draw(st.booleans()):
            func.compute_root()
        funcs.append(func)
    output = hl.Func("output")
    output[X, Y] = funcs[-1][X + 8, Y + 8]
    return output, source


@settings(max_examples=15)
@given(stencils(), st.integers(0, 9))
def test_random_stencils(program: "tuple[hl.Func, hl.ImageParam]", seed: int) -> None:
    output, source = program
    agree(output, (9, 14), {source: noise("int16", (25, 30), seed)})
