"""The operation table of the PE: codes, operands and meaning of every integer operation and condition.

The ALU, the mapper and the simulators read this table. A meaning works on Python integers: operands a, b, c are
0..65535, d is 0 or 1, `signed` says how multiply, shift right and compare read them; it returns the 16-bit result and the
carry and overflow flags. Results wrap modulo 2**16.

Source: Amber (JSSC) PE operations; Onyx JSSC V-A and Fig. 11 (mul-add, add-add, mul-shift, min-max). Departures: `shr`
shifts by b like `shl` (the public hardware takes c), and the three-operand sums subtract exactly instead of needing a
carry-in, so that no constant has to be remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from .check import Identifier, Real, Whole, check

WORD = 1 << 16
Meaning = Callable[[int, int, int, int, bool], "tuple[int, int, int]"]


@dataclass(frozen=True)
class Op:
    """One operation: code, operands read (a subset of ``abcd``), meaning, cycles of latency and cost.

    `cost` is an estimate of area in gate equivalents relative to a 16-bit adder = 1; the mapper minimises it.
    """

    name: Annotated[str, Identifier()]
    code: Annotated[int, Whole(0, 63)]
    operands: str
    doc: str
    meaning: Meaning
    amber: bool = True
    latency: Annotated[int, Whole(0, 15)] = 0
    cost: Annotated[float, Real(0, 1000)] = 1.0

    def __post_init__(self) -> None:
        check(self, "operation")

    def __call__(self, a: int, b: int = 0, c: int = 0, d: int = 0, signed: bool = False) -> int:
        """The 16-bit result."""
        return self.meaning(a % WORD, b % WORD, c % WORD, d, signed)[0]


def integer(value: int, signed: bool) -> int:
    """The integer that a 16-bit word stands for."""
    return value - WORD if signed and value >= WORD // 2 else value


def _plain(result: int) -> tuple[int, int, int]:
    return result % WORD, 0, 0


def _add(a: int, b: int, carry: int) -> tuple[int, int, int]:
    total = a + b + carry
    exact = integer(a, True) + integer(b, True) + carry
    return total % WORD, total >> 16, int(exact != integer(total % WORD, True))


def _mult(shift: int) -> Meaning:
    return lambda a, b, c, d, signed: _plain(integer(a, signed) * integer(b, signed) >> shift)


def _shr(a: int, by: int, signed: bool) -> tuple[int, int, int]:
    return _plain(integer(a, signed) >> min(by, 16))


def _crop(a: int, b: int, c: int, d: int, signed: bool) -> tuple[int, int, int]:
    low = min(integer(a, signed), integer(b, signed))
    return _plain(max(low, integer(c, signed)))


OPS = tuple(
    Op(name, code, operands, doc, meaning, amber, cost=cost)
    for code, (name, operands, doc, amber, cost, meaning) in enumerate((
        ("adc", "abd", "a + b + d", True, 1.0, lambda a, b, c, d, s: _add(a, b, d)),
        ("sbc", "abd", "a + ~b + d; d = 1 subtracts", True, 1.0, lambda a, b, c, d, s: _add(a, b ^ 0xFFFF, d)),
        ("abs", "a", "|a|; -32768 stays", True, 1.0, lambda a, b, c, d, s: _plain(abs(integer(a, True)))),
        ("sel", "abd", "d ? a : b", True, 0.3, lambda a, b, c, d, s: _plain(a if d else b)),
        ("mult0", "ab", "bits 15:0 of a * b", True, 8.0, _mult(0)),
        ("mult1", "ab", "bits 23:8 of a * b", True, 8.0, _mult(8)),
        ("mult2", "ab", "bits 31:16 of a * b", True, 8.0, _mult(16)),
        ("shr", "ab", "a >> b, arithmetic if signed", True, 1.5, lambda a, b, c, d, s: _shr(a, b, s)),
        ("shl", "ab", "a << b", True, 1.5, lambda a, b, c, d, s: _plain(a << min(b, 16))),
        ("or", "ab", "a | b", True, 0.2, lambda a, b, c, d, s: _plain(a | b)),
        ("and", "ab", "a & b", True, 0.2, lambda a, b, c, d, s: _plain(a & b)),
        ("xor", "ab", "a ^ b", True, 0.2, lambda a, b, c, d, s: _plain(a ^ b)),
        ("muladd", "abc", "a * b + c", False, 9.0, lambda a, b, c, d, s: _plain(a * b + c)),
        ("mulsub", "abc", "a * b - c", False, 9.0, lambda a, b, c, d, s: _plain(a * b - c)),
        ("taa", "abc", "a + b + c", False, 2.0, lambda a, b, c, d, s: _plain(a + b + c)),
        ("tas", "abc", "a + b - c", False, 2.0, lambda a, b, c, d, s: _plain(a + b - c)),
        ("tsa", "abc", "a - b + c", False, 2.0, lambda a, b, c, d, s: _plain(a - b + c)),
        ("tss", "abc", "a - b - c", False, 2.0, lambda a, b, c, d, s: _plain(a - b - c)),
        ("crop", "abc", "max(min(a, b), c): min, max and clamp", False, 2.0, _crop),
        ("mulshr", "abc", "bits 15:0 of a * b, then >> c, arithmetic if signed", False, 9.5,
         lambda a, b, c, d, s: _shr(a * b % WORD, c, s)),
    )))
BY_NAME = {op.name: op for op in OPS}


@dataclass(frozen=True)
class Condition:
    """A test of the flags Z (result is 0), N (top bit), C (carry), V (overflow), or the 3-input truth table."""

    name: Annotated[str, Identifier()]
    code: Annotated[int, Whole(0, 31)]
    doc: str
    meaning: Callable[[int, int, int, int, int], int]

    def __post_init__(self) -> None:
        check(self, "condition")


CONDITIONS = tuple(
    Condition(name, code, doc, meaning)
    for code, (name, doc, meaning) in enumerate((
        ("eq", "Z", lambda z, n, c, v, lut: z),
        ("ne", "not Z", lambda z, n, c, v, lut: z ^ 1),
        ("uge", "C", lambda z, n, c, v, lut: c),
        ("ult", "not C", lambda z, n, c, v, lut: c ^ 1),
        ("negative", "N", lambda z, n, c, v, lut: n),
        ("positive", "not N", lambda z, n, c, v, lut: n ^ 1),
        ("overflow", "V", lambda z, n, c, v, lut: v),
        ("no_overflow", "not V", lambda z, n, c, v, lut: v ^ 1),
        ("ugt", "C and not Z", lambda z, n, c, v, lut: c & (z ^ 1)),
        ("ule", "not C or Z", lambda z, n, c, v, lut: (c ^ 1) | z),
        ("sge", "N = V", lambda z, n, c, v, lut: n ^ v ^ 1),
        ("slt", "N != V", lambda z, n, c, v, lut: n ^ v),
        ("sgt", "not Z and N = V", lambda z, n, c, v, lut: (z ^ 1) & (n ^ v ^ 1)),
        ("sle", "Z or N != V", lambda z, n, c, v, lut: z | (n ^ v)),
        ("lut", "truth table at f e d", lambda z, n, c, v, lut: lut),
    )))


def predicate(op: Op, cond: int, lut: int, a: int, b: int, c: int, d: int, e: int, f: int, signed: bool) -> int:
    """What output `p` shows for an operation on operands; unused codes show 0."""
    result, carry, overflow = op.meaning(a, b, c, d, signed)
    if cond >= len(CONDITIONS):
        return 0
    return CONDITIONS[cond].meaning(int(result == 0), result >> 15, carry, overflow, lut >> (d | e << 1 | f << 2) & 1)
