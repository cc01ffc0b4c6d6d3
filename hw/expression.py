"""Expressions of Verilog as Yosys writes them, one operator each, put together into longer ones.

Verilog widens the operands of an operator to what stands around it. An expression may therefore take the place of a wire only
where that changes nothing: `~ a` of one bit is 1 or 0 on a wire, but all ones in a sum of 16 bits.

Input:   the right side of an assignment, and the widths of wires.
Output:  `Expression`, with its width, its text, and whether it is `fragile`: whether it means something else among wider
         operands. None for what is not understood (signed numbers): that stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

NAME = r"(?:\\\S+ |[A-Za-z_]\w*)"
_NUMBER = r"\d+'[hbdo][0-9a-fx]+"
_ATOM = rf"(?:\{{ [^{{}}]* \}}|{_NUMBER}|{NAME}(?:\[\d+(?::\d+)?\])?)"
_UNARY = re.compile(rf"([~!|&^-]) ?({_ATOM})")
_BINARY = re.compile(rf"({_ATOM}) (==|!=|<=|>=|<<|>>|&&|\|\||[-+*&|^<>]) ({_ATOM})")
_CHOICE = re.compile(rf"({_ATOM}) \? ({_ATOM}) : ({_ATOM})")
_WHOLE = re.compile(_ATOM)
_PART = re.compile(rf"({NAME})(?:\[(\d+)(?::(\d+))?\])?")
_CHAINED = ("|", "&", "^", "&&", "||")
_TRUTH = ("==", "!=", "<=", ">=", "<", ">", "&&", "||")


@dataclass(frozen=True)
class Expression:
    """An operator and its operands, or a wire, part of one, number (no operator).

    Parameters
    ----------
    operator : str       Unary ones of `operands` with one, ``?`` with three, ``{}`` of any number.
    width : int          Bits of its value where nothing around it is wider.
    text : str           Of a leaf.
    """

    operator: str
    operands: tuple[Expression, ...]
    width: int
    text: str = ""

    @cached_property
    def unary(self) -> bool:
        return len(self.operands) == 1 and self.operator != "{}"

    @cached_property
    def truth(self) -> bool:
        """Whether its value is one bit that nothing around it changes."""
        return self.operator in _TRUTH or (self.unary and self.operator in "!|&^")

    @cached_property
    def fragile(self) -> bool:
        if not self.operands or self.truth or self.operator == "{}":
            return False
        if self.operator in ("+", "-", "*", "~", "<<"):
            return True
        return any(self.operands[at].fragile for at in self.widened())

    def widened(self) -> range:
        """Which operands are as wide as what stands around the expression."""
        return range(1, 3) if self.operator == "?" else range(1) if self.operator in ("<<", ">>") else range(len(self.operands))

    def contexts(self, around: int) -> Iterator[int]:
        """How wide each operand is evaluated if the expression is evaluated as wide as `around`."""
        if self.truth and not self.unary and self.operator not in ("&&", "||"):
            around = max(each.width for each in self.operands)
        elif self.truth or self.operator == "{}":
            around = 0
        widened = self.widened()
        yield from (max(around, each.width) if at in widened else each.width for at, each in enumerate(self.operands))

    @property
    def has_parts(self) -> bool:
        """Whether it reads part of a vector, which simulators take for all of it."""
        return "[" in self.written

    @cached_property
    def written(self) -> str:
        """As Verilog."""
        if not self.operands:
            return self.text
        if self.operator == "{}":
            return f"{{ {', '.join(each.written for each in self.operands)} }}"
        if self.unary:
            return f"{self.operator}{self._inside(self.operands[0])}"
        if self.operator == "?":
            condition, yes, no = (self._inside(each) for each in self.operands)
            return f"{condition} ? {yes} : {no}"
        return f" {self.operator} ".join(self._inside(each) for each in self.operands)

    def _inside(self, operand: Expression) -> str:
        if not operand.operands or operand.operator == "{}":
            bare = True
        elif operand.unary:
            bare = operand.operator in "~!" and not self.unary
        else:
            bare = operand.operator == self.operator in _CHAINED and not self.unary
        return operand.written if bare else f"({operand.written})"


def parse(text: str, width_of: Callable[[str], int]) -> Expression | None:
    """The expression of a text; None if it is not one of those above."""
    if _WHOLE.fullmatch(text):
        return _atom(text, width_of)
    if found := _UNARY.fullmatch(text):
        operator, names = found[1], found.groups()[1:]
    elif found := _BINARY.fullmatch(text):
        operator, names = found[2], (found[1], found[3])
    elif found := _CHOICE.fullmatch(text):
        operator, names = "?", found.groups()
    else:
        return None
    operands = tuple(_atom(name, width_of) for name in names)
    if None in operands:
        return None
    known = tuple(each for each in operands if each is not None)
    if operator == "!" and known[0].width > 1:      # which is how Yosys writes a comparison with 0
        operator, known = "==", (known[0], Expression("", (), 1, "1'h0"))
    if len(known) == 2 and operator not in ("<<", ">>"):
        known = _widened(known[0], known[1].width), _widened(known[1], known[0].width)
    whole = Expression(operator, known, 0)
    if whole.truth:
        return replace(whole, width=1)
    widths = [known[at].width for at in whole.widened()]
    return replace(whole, width=max(widths))


def _widened(operand: Expression, width: int) -> Expression:
    """A hexadecimal number as wide as what it meets; Yosys writes the least."""
    _, mark, digits = operand.text.partition("'h")
    if operand.operands or not mark or operand.width >= width or "x" in digits:
        return operand
    return Expression("", (), width, f"{width}'h{int(digits, 16):0{-(-width // 4)}x}")


def _atom(text: str, width_of: Callable[[str], int]) -> Expression | None:
    if text.startswith("{"):
        parts = [_atom(each.strip() + (" " if each.strip().startswith("\\") else ""), width_of)
                 for each in text[1:-1].split(",")]
        if None in parts:
            return None
        known = tuple(each for each in parts if each is not None)
        return Expression("{}", known, sum(each.width for each in known))
    if text[0].isdigit():
        return Expression("", (), int(text.partition("'")[0]), text)
    found = _PART.fullmatch(text)
    if found is None:
        return None
    name, high, low = found.groups()
    return Expression("", (), width_of(name) if high is None else int(high) - int(low or high) + 1, text)
