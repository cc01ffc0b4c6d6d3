"""The operation table of the PE: codes, operands, type and meaning of every integer operation and condition.

The ALU, the mapper and the simulators read this table; `TileSpec.ops` says which operations a PE has. A meaning is written with
operators alone, so it applies to Python integers and to NumPy arrays of int64 alike: operands a, b, c are 0..65535, d is 0 or
1, `signed` says how multiply, shift right and compare read them; what it returns is cut to a word afterwards.

Source: Amber (JSSC) PE operations; Onyx JSSC V-A and Fig. 11 (mul-add, add-add, mul-shift, min-max). Departures: `shr`
shifts by b like `shl` (the public hardware takes c), and the three-operand sums subtract exactly instead of needing a
carry-in, so that no constant has to be remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

from .check import Identifier, Real, Whole, check

# An integer, or an array of int64.
Number = Any
Meaning = Callable[[Number, Number, Number, Number, bool], Number]


@dataclass(frozen=True)
class Type:
    """What operands a, b, c and results are: integers of some bits, which wrap."""

    name: Annotated[str, Identifier()]
    bits: Annotated[int, Whole(1, 16)]

    def __post_init__(self) -> None:
        check(self, "type")

    @property
    def size(self) -> int:
        """Words that there are."""
        return 1 << self.bits

    def integer(self, word: Number, signed: bool) -> Number:
        """The integer that a word stands for."""
        return word - ((word & self.size >> 1) << 1) if signed else word


INT16 = Type("int16", 16)
WORD = INT16.size


@dataclass(frozen=True)
class Op:
    """One operation of the PE.

    Parameters
    ----------
    name : str
    code : int            In the configuration field `op`.
    operands : str        Operands read, a subset of ``abcd``; d is one bit.
    meaning : function    The exact result.
    type : Type           Of the operands a, b, c and of the result.
    late : str            The operand that the third cycle of the operation takes, if there is one: the register file may give
                          it a cycle later than the others, which the second takes. All streams are taken in the first cycle.
    sums : bool           The meaning is a + x + d with a word x: flags C and V tell carry and overflow, which are 0 else.
    latency : int         Cycles from the operands behind their registers to the result.
    cost : float          Estimate of area in gate equivalents relative to a 16-bit adder = 1; the mapper minimises it.
    """

    name: Annotated[str, Identifier()]
    code: Annotated[int, Whole(0, 63)]
    operands: str
    doc: str
    meaning: Meaning = field(repr=False)
    type: Type = INT16
    late: str = ""
    sums: bool = False
    latency: Annotated[int, Whole(0, 15)] = 2
    cost: Annotated[float, Real(0, 1000)] = 1.0

    def __post_init__(self) -> None:
        check(self, "operation")

    def delay(self, operand: str) -> int:
        """Cycles from the first of the operation to the one in which an operand is taken from the register file."""
        return self.latency - int(operand != self.late)

    def __call__(self, a: Number, b: Number = 0, c: Number = 0, d: Number = 0, signed: bool = False) -> Number:
        """The result, of any integers as operands."""
        size = self.type.size
        return self.meaning(a % size, b % size, c % size, d, signed) % size

    def results(self, a: Number, b: Number, c: Number, d: Number, signed: bool) -> tuple[Number, Number, Number]:
        """The result, carry and overflow of words."""
        exact = self.meaning(a, b, c, d, signed)
        result = exact % self.type.size
        if not self.sums:
            return result, result & 0, result & 0
        return result, exact >> self.type.bits, ((a ^ result) & (exact - a - d ^ result)) >> self.type.bits - 1


def _integer(word: Number, signed: bool) -> Number:
    return INT16.integer(word, signed)


def _product(a: Number, b: Number, signed: bool) -> Number:
    return _integer(a, signed) * _integer(b, signed)


def _places(by: Number) -> Number:
    """16 places or more empty a word."""
    return by - (by - 16) * (by > 16)


def _less(a: Number, b: Number) -> Number:
    return a + (b - a) * (b < a)


def _more(a: Number, b: Number) -> Number:
    return a + (b - a) * (b > a)


def _table(*rows: tuple[str, str, str, str, float, Meaning]) -> tuple[Op, ...]:
    return tuple(Op(name, code, operands, doc, meaning, late=late, sums=name in ("adc", "sbc"), cost=cost)
                 for code, (name, operands, late, doc, cost, meaning) in enumerate(rows))


OPS = _table(
    ("adc", "abd", "b", "a + b + d", 1.0, lambda a, b, c, d, s: a + b + d),
    ("sbc", "abd", "b", "a + ~b + d; d = 1 subtracts", 1.0, lambda a, b, c, d, s: a + (b ^ WORD - 1) + d),
    ("abs", "a", "", "|a|; -32768 stays", 1.0, lambda a, b, c, d, s: abs(_integer(a, True))),
    ("sel", "abd", "", "d ? a : b", 0.3, lambda a, b, c, d, s: b + (a - b) * d),
    ("mult0", "ab", "", "bits 15:0 of a * b", 8.0, lambda a, b, c, d, s: a * b),
    ("mult1", "ab", "", "bits 23:8 of a * b", 8.0, lambda a, b, c, d, s: _product(a, b, s) >> 8),
    ("mult2", "ab", "", "bits 31:16 of a * b", 8.0, lambda a, b, c, d, s: _product(a, b, s) >> 16),
    ("shr", "ab", "b", "a >> b, arithmetic if signed", 1.5, lambda a, b, c, d, s: _integer(a, s) >> _places(b)),
    ("shl", "ab", "b", "a << b", 1.5, lambda a, b, c, d, s: a << _places(b)),
    ("or", "ab", "", "a | b", 0.2, lambda a, b, c, d, s: a | b),
    ("and", "ab", "", "a & b", 0.2, lambda a, b, c, d, s: a & b),
    ("xor", "ab", "", "a ^ b", 0.2, lambda a, b, c, d, s: a ^ b),
    ("muladd", "abc", "c", "a * b + c", 9.0, lambda a, b, c, d, s: a * b + c),
    ("mulsub", "abc", "c", "a * b - c", 9.0, lambda a, b, c, d, s: a * b - c),
    ("taa", "abc", "c", "a + b + c", 2.0, lambda a, b, c, d, s: a + b + c),
    ("tas", "abc", "c", "a + b - c", 2.0, lambda a, b, c, d, s: a + b - c),
    ("tsa", "abc", "c", "a - b + c", 2.0, lambda a, b, c, d, s: a - b + c),
    ("tss", "abc", "c", "a - b - c", 2.0, lambda a, b, c, d, s: a - b - c),
    ("crop", "abc", "c", "max(min(a, b), c): min, max and clamp", 2.0,
     lambda a, b, c, d, s: _more(_less(_integer(a, s), _integer(b, s)), _integer(c, s))),
    ("mulshr", "abc", "c", "bits 15:0 of a * b, then >> c, arithmetic if signed", 9.5,
     lambda a, b, c, d, s: _integer(a * b % WORD, s) >> _places(c)))
BY_NAME = {op.name: op for op in OPS}


@dataclass(frozen=True)
class Condition:
    """A test of the flags Z (result is 0), N (top bit), C (carry), V (overflow), or the 3-input truth table."""

    name: Annotated[str, Identifier()]
    code: Annotated[int, Whole(0, 31)]
    doc: str
    meaning: Callable[[Number, Number, Number, Number, Number], Number] = field(repr=False)

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
CONDITION_CODES = {condition.name: condition.code for condition in CONDITIONS}


def predicate(op: Op, cond: int, lut: int, a: Number, b: Number, c: Number, d: Number, e: Number, f: Number,
              signed: bool) -> Number:
    """What output `p` shows for an operation on words; unused codes show 0."""
    return results(op, cond, lut, a, b, c, d, e, f, signed)[1]


def results(op: Op, cond: int, lut: int, a: Number, b: Number, c: Number, d: Number, e: Number, f: Number,
            signed: bool) -> tuple[Number, Number]:
    """What the outputs `res` and `p` show."""
    result, carry, overflow = op.results(a, b, c, d, signed)
    if cond >= len(CONDITIONS):
        return result, result & 0
    table = lut >> (d | e << 1 | f << 2) & 1
    return result, CONDITIONS[cond].meaning((result == 0) * 1, result >> 15, carry, overflow, table)
