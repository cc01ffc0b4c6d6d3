"""What each operation computes, on NumPy arrays of the operation's own type.

Integers of 8 to 64 bits wrap as NumPy's do; Booleans are bool arrays. Arrays of any shapes are broadcast.

Errors:  UserError for floats: Halide computes them in an order and with fused operations that it chooses itself.
Source:  Halide 21, IROperator.h for division, shifts and absd; each is compared with Halide's own code by the tests.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx.hw.arch.errors import UserError

from .intrinsics import is_integer
from .pipeline import Binary, Cast, Expr, Intrinsic, Not, Number, Select, Type
from .text import show

_COMPARE = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
            "ge": np.greater_equal}
_WRAPPING = {"add": np.add, "sub": np.subtract, "mul": np.multiply}
_SAME = {"min": np.minimum, "max": np.maximum, "and": np.logical_and, "or": np.logical_or}
_BITS = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor}


def dtype(type_: Type) -> np.dtype:
    """The NumPy type of an integer type or bool."""
    if not is_integer(type_):
        raise UserError(f"values of type {type_} are not evaluated", fix="compute with integers")
    return np.dtype(bool) if type_.bits == 1 else np.dtype(f"{type_.kind}{type_.bits}")


def apply(expr: Expr, args: Sequence[np.ndarray]) -> np.ndarray:
    """The value of a Number, Cast, Binary, Not, Select or Intrinsic for the values of its operands."""
    # Overflow and division by zero are defined here; NumPy warns of them for single values.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return np.asarray(_value(expr, args)).astype(dtype(expr.type), copy=False)


def _value(expr: Expr, args: Sequence[np.ndarray]) -> np.ndarray:
    match expr:
        case Number():
            return np.array(expr.value, dtype(expr.type))
        case Cast():
            # The lowest bit alone makes a Boolean.
            return args[0].astype(np.uint8) & 1 if expr.type.bits == 1 else args[0].astype(dtype(expr.type))
        case Not():
            return np.logical_not(args[0])
        case Select():
            return np.where(*args)
        case Binary():
            return _binary(expr, *args)
        case Intrinsic():
            return _intrinsic(expr, args)
    raise AssertionError(f"{show(expr)} has no value of its own")


def _binary(expr: Binary, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    if expr.op in _COMPARE:
        return _COMPARE[expr.op](left, right)
    if expr.op in _SAME:
        return _SAME[expr.op](left, right)
    if expr.type.bits == 1:
        # Arithmetic modulo 2, which NumPy does not do on bool.
        left, right = left.astype(np.uint8), right.astype(np.uint8)
    if expr.op in _WRAPPING:
        value = _WRAPPING[expr.op](left, right)
        return value & 1 if expr.type.bits == 1 else value
    quotient, remainder = _divide(left, right)
    return quotient if expr.op == "div" else remainder


def _divide(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Euclidean: the remainder is never negative. Both are 0 by 0."""
    zero = right == 0
    divisor = np.where(zero, right.dtype.type(1), right)
    quotient, remainder = np.floor_divide(left, divisor), np.remainder(left, divisor)
    # NumPy rounds down; by a negative divisor that leaves a negative remainder.
    below = remainder < 0
    quotient = quotient + below.astype(quotient.dtype)
    remainder = np.where(below, remainder - divisor, remainder)
    nothing = left.dtype.type(0)
    return np.where(zero, nothing, quotient), np.where(zero, nothing, remainder)


def _intrinsic(expr: Intrinsic, args: Sequence[np.ndarray]) -> np.ndarray:
    name, bits = expr.name, expr.type.bits
    if name in _BITS:
        return _BITS[name](*args)
    match name:
        case "bitwise_not":
            return np.invert(args[0])
        case "shift_left":
            return _shift(args[0], args[1].astype(np.int64), bits)
        case "shift_right":
            return _shift(args[0], -args[1].astype(np.int64), bits)
        case "abs":
            return np.abs(args[0])
        case "absd":
            return np.maximum(*args) - np.minimum(*args)
        case "popcount":
            return sum(_bit(args[0], at) for at in range(bits))
        case "count_leading_zeros":
            return _zeros(args[0], range(bits - 1, -1, -1))
        case "count_trailing_zeros":
            return _zeros(args[0], range(bits))
        case "div_round_to_zero" | "mod_round_to_zero":
            # fmod takes the sign of the dividend; what is left over divides exactly.
            divisor = np.where(args[1] == 0, args[1].dtype.type(1), args[1])
            remainder = np.fmod(args[0], divisor)
            result = (args[0] - remainder) // divisor if name.startswith("div") else remainder
            return np.where(args[1] == 0, args[0].dtype.type(0), result)
    raise UserError(f"function {name} is not evaluated: {show(expr)}", fix="compute with integers")


def _shift(value: np.ndarray, left: np.ndarray, bits: int) -> np.ndarray:
    """Shifted to the left, by a negative count to the right; int64 counts."""
    count = np.clip(np.abs(left), 0, bits).astype(value.dtype)
    # All bits out is 0 or the sign; NumPy leaves counts beyond the width to the processor for scalars only.
    up = np.where(count >= bits, value.dtype.type(0), np.left_shift(value, np.minimum(count, bits - 1).astype(value.dtype)))
    down = np.right_shift(np.right_shift(value, np.minimum(count, bits - 1).astype(value.dtype)),
                          (count >= bits).astype(value.dtype))
    return np.where(left >= 0, up, down)


def _bit(value: np.ndarray, at: int) -> np.ndarray:
    return np.right_shift(value, value.dtype.type(at)) & value.dtype.type(1)


def _zeros(value: np.ndarray, places: range) -> np.ndarray:
    """Zeros before the first one along the places of the bits; all of them for 0."""
    count, going = np.zeros(value.shape, np.int64), np.ones(value.shape, bool)
    for at in places:
        going = going & (_bit(value, at) == 0)
        count = count + going
    return count
