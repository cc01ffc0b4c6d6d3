"""Interval analysis: the smallest and largest value that an operation can have, before and after it wraps.

    uint8 a, b:   uint16(a) + uint16(b)  0..510, does not wrap        a + b  0..255, wraps
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...lang.halide.pipeline import Type


@dataclass(frozen=True)
class Interval:
    """The integers from `low` to `high`, both included."""

    low: int
    high: int

    def within(self, other: Interval) -> bool:
        return other.low <= self.low and self.high <= other.high

    def __str__(self) -> str:
        return f"{self.low}..{self.high}"


# Shifts by more bits than any type has are as good as by this many.
FAR = 64
UNSIGNED_WORD = Interval(0, 0xFFFF)
SIGNED_WORD = Interval(-0x8000, 0x7FFF)


def of_type(type: Type) -> Interval:
    """All values of an integer type."""
    if type.kind == "uint":
        return Interval(0, (1 << type.bits) - 1)
    return Interval(-(1 << type.bits - 1), (1 << type.bits - 1) - 1)


def hull(*parts: Interval) -> Interval:
    """The smallest interval around all."""
    return Interval(min(part.low for part in parts), max(part.high for part in parts))


def around(values: Iterable[int]) -> Interval:
    """The smallest interval around numbers."""
    known = list(values)
    return Interval(min(known), max(known))


def wrap(exact: Interval, type: Type) -> Interval:
    """What a type makes of an interval: moved by a multiple of 2**bits if it stays in one piece, else all values."""
    every = of_type(type)
    turns = (exact.low - every.low) >> type.bits
    moved = Interval(exact.low - (turns << type.bits), exact.high - (turns << type.bits))
    return moved if moved.within(every) else every


def wrap_value(value: int, type: Type) -> int:
    """An integer as a type has it."""
    every = of_type(type)
    return (value - every.low) % (1 << type.bits) + every.low


def exact(op: str, a: Interval, b: Interval, same: bool = False) -> Interval | None:
    """Values of an operation on integers before it wraps; None if nothing is known.

    `same` says that both operands are one value.
    """
    if op == "add":
        return Interval(a.low + b.low, a.high + b.high)
    if op == "sub":
        return Interval(0, 0) if same else Interval(a.low - b.high, a.high - b.low)
    if op == "mul":
        return _square(a) if same else around(x * y for x in (a.low, a.high) for y in (b.low, b.high))
    if op == "min":
        return Interval(min(a.low, b.low), min(a.high, b.high))
    if op == "max":
        return Interval(max(a.low, b.low), max(a.high, b.high))
    if op == "absd":
        return magnitude(Interval(a.low - b.high, a.high - b.low))
    if op == "div" and b.low > 0:
        return around(x // y for x in (a.low, a.high) for y in (b.low, b.high))
    if op == "mod" and b.low > 0:
        return a if a.low >= 0 and a.high < b.low else Interval(0, b.high - 1)
    if op in ("shl", "shr") and b.low >= 0:
        counts = min(b.low, FAR), min(b.high, FAR)
        return around(x << y if op == "shl" else x >> y for x in (a.low, a.high) for y in counts)
    return _bitwise(op, a, b)


def magnitude(a: Interval) -> Interval:
    """Values of abs before it wraps."""
    ends = abs(a.low), abs(a.high)
    return Interval(0 if a.low <= 0 <= a.high else min(ends), max(ends))


def _square(a: Interval) -> Interval:
    ends = magnitude(a)
    return Interval(ends.low ** 2, ends.high ** 2)


def _bitwise(op: str, a: Interval, b: Interval) -> Interval | None:
    """Bitwise operations where a sign does not get in the way."""
    if op == "and" and (a.low >= 0 or b.low >= 0):
        return Interval(0, min(part.high for part in (a, b) if part.low >= 0))
    if op in ("or", "xor") and a.low >= 0 and b.low >= 0:
        low = max(a.low, b.low) if op == "or" else 0
        return Interval(low, (1 << max(a.high, b.high).bit_length()) - 1)
    return None


def compare(op: str, a: Interval, b: Interval) -> bool | None:
    """A comparison where the intervals decide it."""
    if op == "lt":
        return True if a.high < b.low else False if a.low >= b.high else None
    if op == "le":
        return True if a.high <= b.low else False if a.low > b.high else None
    apart = a.high < b.low or b.high < a.low
    known = a == b and a.low == a.high
    return (op == "ne") if apart else (op == "eq") if known else None
