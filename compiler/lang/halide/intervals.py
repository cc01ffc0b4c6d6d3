"""Intervals of integers, and that of an operation from those of its operands: sound, and exact where these are independent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from .pipeline import Binary, Cast, Intrinsic, Not, Number, Select


@dataclass(frozen=True)
class Interval:
    """The integers from `low` to `high`, both included."""

    low: int
    high: int

    @property
    def extent(self) -> int:
        """How many they are."""
        return self.high - self.low + 1

    def __or__(self, other: Interval) -> Interval:
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def __contains__(self, other: Interval) -> bool:
        return self.low <= other.low and other.high <= self.high

    def __str__(self) -> str:
        return f"{self.low}..{self.high}"


def _corners(values: Iterator[int]) -> Interval:
    found = tuple(values)
    return Interval(min(found), max(found))


def _number(expr: Number, args: list[Interval], whole: Interval) -> Interval:
    return Interval(int(expr.value), int(expr.value))


def _cast(expr: Cast, args: list[Interval], whole: Interval) -> Interval:
    # All values move by one multiple of the type's range, or they are torn apart.
    moved = (args[0].low - whole.low) // whole.extent * whole.extent
    return Interval(args[0].low - moved, args[0].high - moved)


def _not(expr: Not, args: list[Interval], whole: Interval) -> Interval:
    return Interval(1 - args[0].high, 1 - args[0].low)


def _select(expr: Select, args: list[Interval], whole: Interval) -> Interval:
    condition, true, false = args
    if condition.low == condition.high:
        return true if condition.low else false
    return true | false


def _parts(divisor: Interval) -> Iterator[Interval]:
    """A divisor's negative and positive values."""
    if divisor.low < 0:
        yield Interval(divisor.low, min(divisor.high, -1))
    if divisor.high > 0:
        yield Interval(max(divisor.low, 1), divisor.high)


def _quotient(a: int, b: int) -> int:
    return a // b if b > 0 else -(a // -b)


def _div(a: Interval, b: Interval) -> Interval:
    found = [_corners(_quotient(*pair) for pair in product((a.low, a.high), (part.low, part.high))) for part in _parts(b)]
    if b.low <= 0 <= b.high:
        found.append(Interval(0, 0))
    return _corners(each for part in found for each in (part.low, part.high))


def _mod(a: Interval, b: Interval) -> Interval:
    if b.low == b.high != 0 and a.low // abs(b.low) == a.high // abs(b.low):
        return Interval(a.low % abs(b.low), a.high % abs(b.low))
    if a.low >= 0 and a.high < b.low:
        return a
    return Interval(0, max(abs(b.low) - 1, abs(b.high) - 1, 0))


def _compare(op: str, a: Interval, b: Interval) -> Interval:
    always = {"lt": a.high < b.low, "le": a.high <= b.low, "gt": a.low > b.high, "ge": a.low >= b.high,
              "eq": a.low == a.high == b.low == b.high, "ne": a.high < b.low or a.low > b.high}
    never = {"lt": always["ge"], "le": always["gt"], "gt": always["le"], "ge": always["lt"], "eq": always["ne"],
             "ne": always["eq"]}
    return Interval(int(always[op]), int(not never[op]))


def _binary(expr: Binary, args: list[Interval], whole: Interval) -> Interval:
    a, b = args
    match expr.op:
        case "add":
            return Interval(a.low + b.low, a.high + b.high)
        case "sub":
            return Interval(a.low - b.high, a.high - b.low)
        case "mul":
            return _corners(x * y for x, y in product((a.low, a.high), (b.low, b.high)))
        case "div":
            return _div(a, b)
        case "mod":
            return _mod(a, b)
        case "min" | "and":
            return Interval(min(a.low, b.low), min(a.high, b.high))
        case "max" | "or":
            return Interval(max(a.low, b.low), max(a.high, b.high))
    return _compare(expr.op, a, b)


def _shift(a: Interval, left: Interval, bits: int) -> Interval:
    if not -bits <= left.low <= left.high <= bits:
        return Interval(min(a.low << bits, a.low), a.high << bits)
    return _corners(x << count if count >= 0 else x >> -count
                    for x, count in product((a.low, a.high), (left.low, left.high)))


def _intrinsic(expr: Intrinsic, args: list[Interval], whole: Interval) -> Interval:
    a, b = args[0], args[-1]
    match expr.name:
        case "abs":
            return Interval(0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high)), max(abs(a.low), abs(a.high)))
        case "absd":
            return Interval(max(a.low - b.high, b.low - a.high, 0), max(a.high - b.low, b.high - a.low))
        case "shift_left":
            return _shift(a, b, expr.type.bits)
        case "shift_right":
            return _shift(a, Interval(-b.high, -b.low), expr.type.bits)
        case "bitwise_not":
            return Interval(~a.high, ~a.low) if whole.low else Interval(whole.high - a.high, whole.high - a.low)
        case "bitwise_and" if a.low >= 0 or b.low >= 0:
            return Interval(0, min(each.high for each in args if each.low >= 0))
        case "bitwise_or" | "bitwise_xor" if a.low >= 0 and b.low >= 0:
            ones = (1 << max(a.high, b.high).bit_length()) - 1
            return Interval(max(a.low, b.low) if expr.name == "bitwise_or" else 0, ones)
        case "popcount" | "count_leading_zeros" | "count_trailing_zeros":
            return Interval(0, expr.type.bits)
    return whole
VALUES: Mapping[type, Callable[..., Interval]] = {
    Number: _number, Cast: _cast, Not: _not, Select: _select, Binary: _binary, Intrinsic: _intrinsic}
