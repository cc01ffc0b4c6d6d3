"""Choices, sums and comparisons of words, as an ALU writes them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Mux, Value


def choice(parts: Sequence[tuple[Value, Value]]) -> Value:
    """The words of which the selects are 1, ORed."""
    return reduce(or_, (word & one.replicate(len(word)) for word, one in parts))


def extended(word: Value, is_signed: Value) -> Value:
    """The integer that a word stands for, one bit wider."""
    return Cat(word, word[-1] & is_signed).as_signed()


def add(left: Value, right: Value, carry: Value) -> Value:
    """left + right + carry with the carry that leaves, by one adder."""
    return (Cat(Const(1, 1), left) + Cat(carry, right))[1:]


def full_add(left: Value, right: Value, carry: Value) -> tuple[Value, Value]:
    """Sum and carry of three bits."""
    return left ^ right ^ carry, left & right | carry & (left | right)


def less(left: Value, right: Value, carry: Value, is_signed: Value) -> Value:
    """Whether left < right, given the carry of left + ~right + 1."""
    return Mux(is_signed & (left[-1] != right[-1]), left[-1], ~carry)
