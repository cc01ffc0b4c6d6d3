"""Typed values as operations on 16-bit words.

A word holds the low 16 bits of its value, extended by its sign or by zeros if the type has 8 bits. Sums, differences,
products and bitwise operations need no more than the low bits of their operands, so 32-bit sums are free; minima,
comparisons, quotients and right shifts read the value itself, which must fit the word, signed or unsigned. Sums of 8 bits
are cut to them only where they can leave them and only where more than the low 8 bits are read.

    int32(a) * int32(b) >> 8, a and b uint16   ->   mul_middle a, b        a + b, both uint8   ->   and (add a, b), 255
"""

from __future__ import annotations

from collections.abc import Callable

from sardonyx.hw.arch.errors import UserError

from ...ir.dataflow import Operand, Ref
from ...lang.halide.pipeline import BOOL, Type
from . import ranges
from .nodes import Nodes
from .ranges import SIGNED_WORD, UNSIGNED_WORD, Interval
from .value import Coordinate, Value

WORD = 0xFFFF
SMALLER = "compute with smaller numbers, cast to 16 bits where the rest is not needed, or clamp earlier"


class Words:
    """Makes the nodes of values; `tap` and `pattern` give the inputs.

    Parameters
    ----------
    tap : function          The reference to a tap.
    pattern : function      The reference to a coordinate's remainder by a number.
    """

    def __init__(self, nodes: Nodes, tap: Callable[[Value], Ref], pattern: Callable[[Coordinate, int], Ref]) -> None:
        self.nodes, self._tap, self._pattern = nodes, tap, pattern
        self._words: dict[tuple[Value, int], Operand] = {}
        self._flags: dict[Value, Operand] = {}

    def make(self, value: Value) -> None:
        """Makes what users of a value may ask for, its operands having been made; so no call goes deep."""
        if value.type == BOOL:
            self.flag(value)
        elif value.op not in ("constant", "coordinate"):
            self.word(value, 8)
            self.word(value)

    def word(self, value: Value, bits: int = 16) -> Operand:
        """The word of a value, of which the low `bits` (8 or 16) are right; raises UserError if there is none."""
        if value.constant is not None:
            return value.integer & WORD
        if (value, bits) not in self._words:
            self._words[value, bits] = self._word(value, bits)
        return self._words[value, bits]

    def flag(self, value: Value) -> Operand:
        """The flag of a Boolean."""
        if value.constant is not None:
            return value.integer
        if value not in self._flags:
            self._flags[value] = self._flag(value)
        return self._flags[value]

    # Which operation.

    def _word(self, value: Value, bits: int) -> Operand:
        op = value.op
        if op == "tap":
            return self._tap(value)
        if op == "lookup":
            return self.nodes.make("lookup", self.word(value.args[0]), table=tuple(each & WORD for each in value.table))
        if value.type == BOOL:
            return self.nodes.make("word", self.flag(value))
        if op in ("add", "sub", "mul", "cast", "shl"):
            return self._ring(value, bits)
        if op in ("and", "or", "xor"):
            return self._bitwise(value, bits)
        if op == "select":
            condition, true, false = value.args
            return self.nodes.make("select", self.flag(condition), self.word(true, bits), self.word(false, bits))
        if op in ("min", "max"):
            return self._readers(value, op, *value.args)
        if op == "abs":
            return self.nodes.make("abs", self._signed_word(value, value.args[0]))
        if op == "absd":
            return self._distance(value)
        if op in ("div", "shr", "mod"):
            return self._division(value)
        raise AssertionError(f"{op} is no word")

    def _flag(self, value: Value) -> Operand:
        op = value.op
        if op in ("and", "or", "xor", "not"):
            return self.nodes.make("bit_" + op, *map(self.flag, value.args))
        if op in ("eq", "ne"):
            return self._equality(value)
        if op in ("lt", "le"):
            return self._readers(value, op, *value.args)
        assert op in ("tap", "lookup"), f"{op} is an operation of Booleans"
        return self.nodes.make("ne", self._word(value, 16), 0)

    # Operations that need the low bits only.

    def _ring(self, value: Value, bits: int) -> Operand:
        """add, sub, mul, shl and cast; what leaves 8 bits is extended again if the rest is read."""
        cut = value.type.bits < 16 and value.wraps
        inner = 8 if cut else bits
        if value.op == "cast":
            from_flag = value.args[0].type == BOOL
            result = self.nodes.make("word", self.flag(value.args[0])) if from_flag else self.word(value.args[0], inner)
        elif value.op == "shl":
            result = self._shift_left(value, inner)
        else:
            result = self.nodes.make(value.op, *(self.word(arg, inner) for arg in value.args))
        return self._extended(result, value.type) if cut and bits > 8 else result

    def _extended(self, word: Operand, type: Type) -> Operand:
        """A word whose low 8 bits are right as a value of a type of 8 bits."""
        if type.kind == "uint":
            return self.nodes.make("and", word, 0xFF)
        return self.nodes.make("shr", self.nodes.make("shl", word, 8), 8, signed=True)

    def _shift_left(self, value: Value, bits: int) -> Operand:
        a, by = value.args
        return self.nodes.make("shl", self.word(a, bits), self._count(value, by))

    def _bitwise(self, value: Value, bits: int) -> Operand:
        a, b = value.args
        masks = [each.integer & WORD for each in (a, b) if each.constant is not None]
        if value.op == "and" and any(mask <= 0xFF for mask in masks):
            bits = 8
        return self.nodes.make(value.op, self.word(a, bits), self.word(b, bits))

    # Operations that read values.

    def _signedness(self, values: tuple[Value, ...], unsigned: bool) -> bool | None:
        """Whether all values can be read as signed words (True) or as unsigned ones (False), with a preference."""
        fits = [kind for kind, word in ((False, UNSIGNED_WORD), (True, SIGNED_WORD))
                if all(value.interval.within(word) for value in values)]
        return (unsigned is False if len(fits) == 2 else fits[0]) if fits else None

    def _readers(self, value: Value, op: str, *args: Value) -> Operand:
        """An operation that reads both operands alike."""
        signed = self._signedness(args, args[0].type.kind == "uint")
        if signed is None:
            raise self._unfit(value, *args)
        return self.nodes.make(op, *map(self.word, args), signed=signed)

    def _unfit(self, value: Value, *args: Value) -> UserError:
        """The error for values that are read but do not fit words."""
        wide = [arg for arg in args if not (arg.interval.within(UNSIGNED_WORD) or arg.interval.within(SIGNED_WORD))]
        if wide:
            return refused(value, f"it reads a value of {wide[0].interval}, which does not fit a word of 16 bits", SMALLER)
        what = " and ".join(str(arg.interval) for arg in args)
        return refused(value, f"it reads values of {what} together, which are neither all signed words nor all unsigned ones",
                       SMALLER)

    def _signed_word(self, value: Value, arg: Value) -> Operand:
        if not arg.interval.within(SIGNED_WORD):
            raise self._unfit_signed(value, arg)
        return self.word(arg)

    def _unfit_signed(self, value: Value, arg: Value) -> UserError:
        return refused(value, f"it reads a value of {arg.interval}, which does not fit a signed word of 16 bits", SMALLER)

    def _equality(self, value: Value) -> Operand:
        """Words are equal if and only if values are, as long as these lie less than 2**16 apart."""
        a, b = value.args
        around = ranges.hull(a.interval, b.interval)
        if around.high - around.low > WORD:
            raise self._unfit(value, a, b)
        return self.nodes.make(value.op, self.word(a), self.word(b))

    def _distance(self, value: Value) -> Operand:
        """absd: of the difference if that fits, else the larger minus the smaller."""
        a, b = value.args
        difference = Interval(a.interval.low - b.interval.high, a.interval.high - b.interval.low)
        if difference.within(SIGNED_WORD):
            return self.nodes.make("abs", self.nodes.make("sub", self.word(a), self.word(b)))
        return self.nodes.make("sub", self._readers(value, "max", a, b), self._readers(value, "min", a, b))

    # Division.

    def _division(self, value: Value) -> Operand:
        """div, mod and shr."""
        a, by = value.args
        if value.op == "shr":
            return self._shift_right(value, a, by.integer) if by.constant is not None else self._shift_by(value, a, by)
        if by.constant is None:
            raise refused(value, "it divides by a value that is not constant",
                          "multiply by a reciprocal from a table: a Func of constants read at the divisor")
        count = by.integer
        if count <= 0:
            raise refused(value, f"it divides by {count}", "divide by another constant")
        power = count.bit_length() - 1
        if value.op == "div":
            return self._shift_right(value, a, power) if count == 1 << power else self._quotient(value, a, count)
        if a.op == "coordinate":
            assert a.coordinate is not None, "a coordinate has a place"
            return self._pattern(a.coordinate, count)
        if count == 1 << power:
            return self.nodes.make("and", self.word(a, 8 if power <= 8 else 16), count - 1 & WORD)
        quotient = self._quotient(value, a, count)
        return self.nodes.make("sub", self.word(a), self.nodes.make("mul", quotient, count & WORD))

    def _shift_by(self, value: Value, a: Value, by: Value) -> Operand:
        signed = self._signedness((a,), a.type.kind == "uint")
        if signed is None:
            raise self._unfit(value, a)
        return self.nodes.make("shr", self.word(a), self._count(value, by), signed=signed)

    def _count(self, value: Value, by: Value) -> Operand:
        """The word of a shift's count; beyond the width of the type it empties the value as the array does."""
        if not by.interval.within(UNSIGNED_WORD):
            raise refused(value, f"it shifts by {by.interval}, where a negative count would shift the other way",
                          "clamp the count to 0 and above")
        return self.word(by)

    def _shift_right(self, value: Value, a: Value, by: int) -> Operand:
        """The value divided by ``2**by``, rounded down."""
        signed = self._signedness((a,), a.type.kind == "uint")
        if signed is not None:
            return self.nodes.make("shr", self.word(a), min(by, 16), signed=signed)
        product = _exact(a)
        if product.op == "add" and not product.wraps and product.args[1].constant == 1 << by - 1:
            return self._rounded(value, product.args[0], by)
        if product.op == "shl" and not product.wraps and product.args[1].constant is not None:
            return self._shift_between(value, product.args[0], product.args[1].integer, by)
        if product.op != "mul" or product.wraps:
            raise self._unfit(value, a)
        signed = self._signedness(product.args, product.type.kind == "uint")
        if signed is None:
            raise self._unfit(value, *product.args)
        x, y = (self.word(arg) for arg in product.args)
        middle = Interval(product.interval.low >> 8, product.interval.high >> 8)
        if by == 8:
            return self.nodes.make("mul_middle", x, y, signed=signed)
        if by > 8 and middle.within(SIGNED_WORD if signed else UNSIGNED_WORD):
            return self.nodes.make("shr", self.nodes.make("mul_middle", x, y, signed=signed), by - 8, signed=signed)
        high = self.nodes.make("mul_high", x, y, signed=signed)
        if by >= 16:
            return self.nodes.make("shr", high, min(by - 16, 16), signed=signed) if by > 16 else high
        low = self.nodes.make("shr", self.nodes.make("mul", x, y), by)
        return self.nodes.make("or", self.nodes.make("shl", high, 16 - by), low)

    def _rounded(self, value: Value, a: Value, by: int) -> Operand:
        """``(a + 2**(by - 1)) >> by``, where the sum does not fit: one more if the last bit shifted out is a one."""
        last = self.nodes.make("and", self._shift_right(value, a, by - 1), 1) if by > 1 else \
            self.nodes.make("and", self.word(a), 1)
        return self.nodes.make("add", self._shift_right(value, a, by), last)

    def _shift_between(self, value: Value, a: Value, left: int, right: int) -> Operand:
        """A value shifted left by a constant and then right."""
        if left < right:
            return self._shift_right(value, a, right - left)
        return self.nodes.make("shl", self.word(a), left - right)

    def _quotient(self, value: Value, a: Value, by: int) -> Operand:
        """The value divided by a constant that is no power of two, rounded down.

        Negative values are first raised by a multiple of the divisor; where that leaves the word, they and their quotients are
        inverted: ``~(~a / by)``.
        """
        raised = -(a.interval.low // by) if a.interval.low < 0 else 0
        highest = a.interval.high + raised * by
        if highest <= WORD and reciprocal(by, highest):
            quotient = self._exact_quotient(self.nodes.make("add", self.word(a), raised * by & WORD), by, highest)
            return self.nodes.make("sub", quotient, raised) if raised else quotient
        if a.interval.within(UNSIGNED_WORD):
            return self._long_quotient(self.word(a), by)
        if not a.interval.within(SIGNED_WORD):
            raise self._unfit(value, a)
        sign = self.nodes.make("shr", self.word(a), 15, signed=True)
        quotient = self._exact_quotient(self.nodes.make("xor", self.word(a), sign), by, SIGNED_WORD.high)
        return self.nodes.make("xor", quotient, sign)

    def _exact_quotient(self, word: Operand, by: int, highest: int) -> Operand:
        """The quotient of a word up to `highest`, by a factor of 16 bits."""
        factor = reciprocal(by, highest)
        assert factor is not None, "numbers of 15 bits have a factor of 16"
        multiplier, shift = factor
        if shift in (8, 16):
            return self.nodes.make("mul_middle" if shift == 8 else "mul_high", word, multiplier)
        return self.nodes.make("shr", self.nodes.make("mul_high", word, multiplier), shift - 16)

    def _long_quotient(self, word: Operand, by: int) -> Operand:
        """The quotient of any word, by a factor of 17 bits, of which the highest is added as a word: Granlund and Montgomery,
        1994, section 4."""
        places = (by - 1).bit_length()
        high = self.nodes.make("mul_high", word, -(-(1 << 16 + places) // by) - (1 << 16))
        half = self.nodes.make("shr", self.nodes.make("sub", word, high), 1)
        return self.nodes.make("shr", self.nodes.make("add", high, half), places - 1)


def reciprocal(by: int, highest: int) -> tuple[int, int] | None:
    """A multiplier m < 2**16 and a shift s (8, or 16 and more) with ``a * m >> s == a // by`` for all a in 0..highest.

    With m = ceil(2**s / by) and e = m * by - 2**s the shifted product is q + r / by + a * e / (by * 2**s) for a = q * by + r.
    It stays below q + 1 if a * e < (by - r) * 2**s, for which the largest a with r = by - 1 and the highest a stand for all.
    """
    last = (highest + 1) // by * by - 1
    for shift in (8, *range(16, 32)):
        multiplier = -(-(1 << shift) // by)
        error = multiplier * by - (1 << shift)
        if multiplier <= WORD and all(a * error < (by - a % by) << shift for a in (last, highest)):
            return multiplier, shift
    return None


def _exact(value: Value) -> Value:
    """The value below casts that change nothing."""
    while value.op == "cast" and not value.wraps:
        value = value.args[0]
    return value


def refused(value: Value, what: str, fix: str) -> UserError:
    return UserError(what, str(value.origin) if value.origin else "", fix)
