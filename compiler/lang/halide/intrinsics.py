"""Halide's pure functions of integers, written with the few that `Intrinsic` names.

Where there is a choice, no value is wider than the operands: an average is ``(a & b) + ((a ^ b) >> 1)``, a saturating
sum clamps one operand first.

Source:  IROperator.h of Halide 21 says what each function means; lower_lerp of Lerp.cpp for lerp.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .pipeline import BOOL, Binary, Cast, Expr, Intrinsic, Number, Select, Type

# Hints to Halide's optimizer; their value is their first argument.
TRANSPARENT = ("likely", "likely_if_innermost", "unsafe_promise_clamped", "promise_clamped", "memoize_expr")
KEPT = ("abs", "absd", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left", "shift_right", "popcount",
        "count_leading_zeros", "count_trailing_zeros", "div_round_to_zero", "mod_round_to_zero")


def limits(type_: Type) -> tuple[int, int]:
    """The least and the largest integer of a type."""
    if type_.kind == "int":
        return -(1 << type_.bits - 1), (1 << type_.bits - 1) - 1
    return 0, (1 << type_.bits) - 1


def is_integer(type_: Type) -> bool:
    """Integers and Booleans."""
    return type_.kind in ("int", "uint")


@dataclass(frozen=True)
class _Term:
    """An expression with Python's operators, for the definitions below; numbers take the type of the other side."""

    expr: Expr

    @property
    def type(self) -> Type:
        return self.expr.type

    @property
    def low(self) -> int:
        return limits(self.type)[0]

    @property
    def high(self) -> int:
        return limits(self.type)[1]

    def of(self, other: _Term | int) -> Expr:
        return Number(self.type, other) if isinstance(other, int) else other.expr

    def binary(self, op: str, other: _Term | int, type_: Type | None = None) -> _Term:
        return _Term(Binary(op, type_ or self.type, self.expr, self.of(other)))

    def call(self, name: str, *others: _Term | int) -> _Term:
        return _Term(Intrinsic(name, self.type, (self.expr, *map(self.of, others))))

    def to(self, type_: Type) -> _Term:
        return self if type_ == self.type else _Term(Cast(type_, self.expr))

    def select(self, true: _Term, false: _Term) -> _Term:
        return _Term(Select(true.type, self.expr, true.expr, false.expr))

    def min(self, other: _Term | int) -> _Term:
        return self.binary("min", other)

    def max(self, other: _Term | int) -> _Term:
        return self.binary("max", other)

    def clamp(self, low: _Term | int, high: _Term | int) -> _Term:
        return self.min(high).max(low)

    def __add__(self, other: _Term | int) -> _Term:
        return self.binary("add", other)

    def __sub__(self, other: _Term | int) -> _Term:
        return self.binary("sub", other)

    def __rsub__(self, other: int) -> _Term:
        return _Term(Binary("sub", self.type, Number(self.type, other), self.expr))

    def __mul__(self, other: _Term | int) -> _Term:
        return self.binary("mul", other)

    def __floordiv__(self, other: _Term | int) -> _Term:
        return self.binary("div", other)

    def __and__(self, other: _Term | int) -> _Term:
        return self.call("bitwise_and", other)

    def __or__(self, other: _Term | int) -> _Term:
        return self.call("bitwise_or", other)

    def __xor__(self, other: _Term | int) -> _Term:
        return self.call("bitwise_xor", other)

    def __invert__(self) -> _Term:
        return self.call("bitwise_not")

    def __lshift__(self, other: _Term | int) -> _Term:
        return self.call("shift_left", other)

    def __rshift__(self, other: _Term | int) -> _Term:
        return self.call("shift_right", other)

    def __gt__(self, other: _Term | int) -> _Term:
        return self.binary("gt", other, BOOL)

    def __lt__(self, other: _Term | int) -> _Term:
        return self.binary("lt", other, BOOL)

    def equals(self, number: int) -> _Term:
        return self.binary("eq", number, BOOL)


def _constant(term: _Term) -> int | None:
    return int(term.expr.value) if isinstance(term.expr, Number) else None


def _saturating_add(type_: Type, a: _Term, b: _Term) -> _Term:
    if type_.kind == "uint":
        return a + b.min(a.high - a)
    return a + b.clamp(a.low - a.min(0), a.high - a.max(0))


def _saturating_sub(type_: Type, a: _Term, b: _Term) -> _Term:
    if type_.kind == "uint":
        return a.max(b) - b
    return a - b.clamp(a.max(-1) - a.high, a.min(-1) - a.low)


def _saturating_cast(type_: Type, a: _Term) -> _Term:
    low, high = limits(type_)
    clamped = a.min(high) if high < a.high else a
    return (clamped.max(low) if low > a.low else clamped).to(type_)


def _rounding_shift_right(type_: Type, a: _Term, b: _Term) -> _Term:
    # One more if the last bit that is shifted out is a one.
    count = _constant(b)
    if count is not None:
        return (a >> b) + ((a >> b - 1 if count != 1 else a) & 1) if count > 0 else a >> b
    return (a >> b) + ((b > 0).select((a >> b - 1) & 1, _Term(Number(a.type, 0))))


def _rounding_shift_left(type_: Type, a: _Term, b: _Term) -> _Term:
    return (a << b) + ((b < 0).select((a << b + 1) & 1, _Term(Number(a.type, 0))))


def _product(type_: Type, a: _Term, b: _Term) -> _Term:
    wide = Type(type_.kind, 2 * type_.bits)
    return a.to(wide) * b.to(wide)


def _mul_shift_right(type_: Type, a: _Term, b: _Term, count: _Term) -> _Term:
    shifted = _product(type_, a, b) >> count
    # The upper half always fits.
    return shifted.to(type_) if (_constant(count) or 0) >= type_.bits else _saturating_cast(type_, shifted)


def _rounding_mul_shift_right(type_: Type, a: _Term, b: _Term, count: _Term) -> _Term:
    return _saturating_cast(type_, _rounding_shift_right(type_, _product(type_, a, b), count))


def _concat_bits(type_: Type, *parts: _Term) -> _Term:
    result = parts[0].to(type_)
    for at, part in enumerate(parts[1:], 1):
        result = result | (part.to(type_) << at * part.type.bits)
    return result


def _mux(type_: Type, index: _Term, *values: _Term) -> _Term:
    result = values[-1]
    for at, value in reversed(tuple(enumerate(values[:-1]))):
        result = index.equals(at).select(value, result)
    return result


def _lerp(type_: Type, zero: _Term, one: _Term, weight: _Term) -> _Term:
    if type_ == BOOL:
        return (weight > weight.high // 2).select(one, zero)
    # Values count from the least of the type; weights are scaled to its width, so that all ones means `one`.
    unsigned, low = Type("uint", type_.bits), limits(type_)[0]
    shift = 1 << type_.bits - 1
    first, second = (part.to(unsigned) - shift if low else part for part in (zero, one))
    if weight.type.bits < type_.bits:
        weight = weight.to(unsigned) * (((1 << type_.bits) - 1) // weight.high)
    elif weight.type.bits > type_.bits:
        weight = (weight // (weight.high // ((1 << type_.bits) - 1))).to(unsigned)
    wide = Type("uint", 2 * type_.bits)
    total = first.to(wide) * (weight.high - weight).to(wide) + second.to(wide) * weight.to(wide)
    bits = _Term(Number(wide, type_.bits))
    mean = _rounding_shift_right(wide, _rounding_shift_right(wide, total, bits) + total, bits).to(unsigned)
    return (mean + shift).to(type_) if low else mean


_DEFINITIONS: dict[str, Callable[..., _Term]] = {
    "widening_add": lambda type_, a, b: a.to(type_) + b.to(type_),
    "widening_sub": lambda type_, a, b: a.to(type_) - b.to(type_),
    "widening_mul": lambda type_, a, b: a.to(type_) * b.to(type_),
    "widening_shift_left": lambda type_, a, b: a.to(type_) << b,
    "widening_shift_right": lambda type_, a, b: a.to(type_) >> b,
    "widen_right_add": lambda type_, a, b: a + b.to(type_),
    "widen_right_sub": lambda type_, a, b: a - b.to(type_),
    "widen_right_mul": lambda type_, a, b: a * b.to(type_),
    "halving_add": lambda type_, a, b: (a & b) + ((a ^ b) >> 1),
    "halving_sub": lambda type_, a, b: ((a ^ b) >> 1) - (~a & b),
    "rounding_halving_add": lambda type_, a, b: (a | b) - ((a ^ b) >> 1),
    "saturating_add": _saturating_add,
    "saturating_sub": _saturating_sub,
    "saturating_cast": _saturating_cast,
    "rounding_shift_right": _rounding_shift_right,
    "rounding_shift_left": _rounding_shift_left,
    "mul_shift_right": _mul_shift_right,
    "rounding_mul_shift_right": _rounding_mul_shift_right,
    "concat_bits": _concat_bits,
    # Above the top bit stand zeros, also of a signed number.
    "extract_bits": lambda type_, a, b: (a.to(Type("uint", a.type.bits)) >> b).to(type_),
    "mux": _mux,
    "lerp": _lerp,
}


# The operands of a function: T of the type of the result, A of the type of the first operand, ? any integer; the one
# before a star any number of times.
_OPERANDS = {
    **dict.fromkeys(("likely", "likely_if_innermost", "memoize_expr"), "T?*"), "unsafe_promise_clamped": "T?*",
    "promise_clamped": "T?*", "abs": "?", "absd": "?A", **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), "TT"),
    "bitwise_not": "T", "shift_left": "T?", "shift_right": "T?",
    **dict.fromkeys(("popcount", "count_leading_zeros", "count_trailing_zeros"), "T"),
    "div_round_to_zero": "TT", "mod_round_to_zero": "TT",
    **dict.fromkeys(("widening_add", "widening_sub", "widening_mul", "widening_shift_left", "widening_shift_right"), "??"),
    **dict.fromkeys(("widen_right_add", "widen_right_sub", "widen_right_mul"), "T?"),
    **dict.fromkeys(("halving_add", "halving_sub", "rounding_halving_add", "saturating_add", "saturating_sub"), "TT"),
    "saturating_cast": "?", "rounding_shift_right": "T?", "rounding_shift_left": "T?", "mul_shift_right": "???",
    "rounding_mul_shift_right": "???", "concat_bits": "??*", "extract_bits": "??", "mux": "?TT*", "lerp": "TT?",
}


def fits(call: Intrinsic) -> bool:
    """Whether a function that is known here has operands of the number and the types that it takes."""
    if call.name not in _OPERANDS:
        return True
    pattern = _OPERANDS[call.name]
    if pattern.endswith("*"):
        pattern = pattern[:-2] + pattern[-2] * (len(call.args) - len(pattern) + 2)
    wanted = {"T": call.type, "A": call.args[0].type if call.args else None}
    return len(pattern) == len(call.args) and all(kind == "?" or arg.type == wanted[kind]
                                                  for kind, arg in zip(pattern, call.args))


def expand(call: Intrinsic) -> Expr | None:
    """What a call on integers means; None if the function is not known."""
    if call.name in TRANSPARENT:
        return call.args[0]
    if call.name in KEPT:
        return call
    if call.name not in _DEFINITIONS:
        return None
    return _DEFINITIONS[call.name](call.type, *map(_Term, call.args)).expr
