"""The parser of `X(i,j) = B(i,k) * C(k,j)`.

Grammar (spaces are free; a bare name is a scalar):

    statement = access "=" value
    value     = sum [ (">" | "<" | "!=") sum ]
    sum       = product { ("+" | "-") product }
    product   = factor { ("*" | "/") factor }
    factor    = "-" factor | integer | access | "(" value ")" | function "(" value { "," value } ")"
              | ("sum" | "max") "(" name "," value ")"
    access    = name [ "(" name { "," name } ")" ]

The functions are those of `functions.py`, whose names no tensor has. `max` of a bare name is over an index if its other
argument has that index; else the name is a scalar.

Errors:  UserError with the column and a caret below the text.
Source:  the notation of tensor index expressions in Onyx JSSC II-A and IV-B.
"""

from __future__ import annotations

import re

from sardonyx.hw.arch.errors import UserError, shown
from sardonyx.tensors.fibertree import natural

from .expr import Access, Binary, Call, Constant, Expr, Negate, Total, indices, start
from .functions import DIVIDE, FUNCTIONS, GREATER, MAX, NAMES, SUM

_WORD = re.compile(r"\d+(?:\.\d*)?|(?P<name>[A-Za-z_]\w*)|\*\*|//|[-+*/=!<>]=|\S", re.ASCII)
_NO_OPERATORS = ("**", "//", "^", "%", "@", "+=", "-=", "*=", "/=", "&", "|")
_OPERATORS = f"use + - * / > < != and brackets, {' '.join((*NAMES, SUM))}, and one ="
_EQUALS = ("==", "<=", ">=")
# No array holds a statement this long; the limits keep recursion over its tree shallow.
LONGEST, DEEPEST = 600, 50
SPLIT = "split it into several statements"
MOST_DIGITS = 18     # Of a constant; what does not fit is said later.
SHOWN = 90     # Characters around a mistake.


def mistake(text: str, column: int, what: str, fix: str = "", origin: str = "") -> UserError:
    """A UserError that points into an expression."""
    place = f"{origin}, column {column + 1}" if origin else f"column {column + 1}"
    left = max(column - SHOWN // 2, 0) if len(text) > SHOWN else 0
    shown = text[left:left + SHOWN]
    return UserError(f"{what}\n  {shown}\n  {' ' * (column - left)}^", where=place, fix=fix)


class Parser:
    """One reading of a statement; `origin` stands in errors."""

    def __init__(self, text: str, origin: str = "") -> None:
        self.text, self.origin = re.sub(r"\s", " ", text), origin
        self.words = [(match["name"] is not None, match.group(), match.start())
                      for match in _WORD.finditer(text)]
        self.at = 0
        self.brackets = 0

    def statement(self) -> tuple[Access, Expr]:
        """The result and the expression."""
        if len(self.words) > LONGEST:
            raise self.error(self.words[LONGEST][2], f"the statement is longer than {LONGEST} words", SPLIT)
        result = self._access()
        self._expect("=")
        expr = self._value()
        if self.at < len(self.words):
            raise self._unexpected("an operator or the end")
        return result, expr

    def error(self, column: int, what: str, fix: str = "") -> UserError:
        return mistake(self.text, column, what, fix, self.origin)

    def _peek(self) -> str:
        return self.words[self.at][1] if self.at < len(self.words) else ""

    def _column(self) -> int:
        return self.words[self.at][2] if self.at < len(self.words) else len(self.text)

    def _unexpected(self, wanted: str) -> UserError:
        word = self._peek()
        if word in _NO_OPERATORS:
            return self.error(self._column(), f"operator '{word}' is not supported", _OPERATORS)
        if word in _EQUALS:
            return self.error(self._column(), f"operator '{word}' is not supported: it gives 1 where both sides are 0, "
                              "so the result would be dense", "use > < or !=")
        found = f"'{shown(word)}'" if word else "the end"
        return self.error(self._column(), f"{wanted} was expected, not {found}",
                          "write it as in X(i,j) = B(i,k) * C(k,j)")

    def _expect(self, word: str) -> None:
        if self._peek() != word:
            raise self._unexpected(f"'{word}'")
        self.at += 1

    def _name(self, wanted: str) -> tuple[str, int]:
        if self.at == len(self.words) or not self.words[self.at][0]:
            raise self._unexpected(wanted)
        self.at += 1
        return self.words[self.at - 1][1:]

    def _access(self) -> Access:
        name, column = self._name("a tensor")
        if name in FUNCTIONS or name == SUM:
            raise self.error(column, f"{name} is a function and no tensor", "give it arguments in brackets on the right side, "
                             "or rename the tensor")
        found: list[str] = []
        if self._peek() == "(":
            self.at += 1
            found.append(self._name("an index")[0])
            if self._peek() == "(":
                raise self.error(column, f"there is no function {shown(name)}",
                                 f"use {' '.join((*NAMES, SUM))}; in the brackets of a tensor are names of indices")
            while self._peek() == ",":
                self.at += 1
                found.append(self._name("an index")[0])
            self._expect(")")
        own = tuple(dict.fromkeys(found))
        return Access(name, own, name, natural(len(own)), column, tuple(found) if len(own) < len(found) else ())

    def _value(self) -> Expr:
        expr = self._sum()
        word, column = self._peek(), self._column()
        if word not in (">", "<", "!="):
            return expr
        self.at += 1
        other = self._sum()
        if self._peek() in (">", "<", "!="):
            raise self.error(self._column(), "comparisons stand in a row", "put one of them in brackets")
        if word == "!=":
            return Call("nonzero", (Binary("-", expr, other, column),), start(expr))
        return Call(GREATER, (expr, other) if word == ">" else (other, expr), column)

    def _sum(self) -> Expr:
        expr = self._product()
        while self._peek() in ("+", "-"):
            _, op, column = self.words[self.at]
            self.at += 1
            expr = Binary(op, expr, self._product(), column)
        return expr

    def _product(self) -> Expr:
        expr = self._factor()
        while (op := self._peek()) in ("*", DIVIDE):
            column = self._column()
            self.at += 1
            other = self._factor()
            expr = Binary("*", expr, other, column) if op == "*" else Call(DIVIDE, (expr, other), column)
        return expr

    def _factor(self) -> Expr:
        word, column = self._peek(), self._column()
        if word == "-":
            columns = []
            while self._peek() == "-":
                columns.append(self._column())
                self.at += 1
            if len(columns) > DEEPEST:
                raise self.error(column, f"more than {DEEPEST} signs stand in a row", "leave out every two of them")
            expr = self._factor()
            for column in reversed(columns):
                expr = Negate(expr, column)
            return expr
        if word == "(":
            found = self._bracket()
            if len(found) > 1:
                raise self.error(column, "there is a comma in brackets that are no function's",
                                 f"use a function: {', '.join(NAMES)}")
            return found[0]
        if (word in FUNCTIONS or word == SUM) and self.at + 1 < len(self.words) and self.words[self.at + 1][1] == "(":
            self.at += 1
            return self._total(column) if word == SUM else self._call(word, column)
        if word[:1].isdigit():
            if not (word.isascii() and word.isdigit()):
                raise self.error(column, f"{shown(word)} is not an integer", "scale the operands to integers")
            if len(word) > MOST_DIGITS:
                raise self.error(column, f"a constant of {len(word)} digits does not fit 16 bits", "use -32768 to 32767")
            self.at += 1
            return Constant(int(word), column)
        return self._access()

    def _enter(self) -> None:
        """Take an opening bracket."""
        self.brackets += 1
        if self.brackets > DEEPEST:
            raise self.error(self._column(), f"brackets are nested deeper than {DEEPEST}", SPLIT)
        self.at += 1

    def _bracket(self) -> list[Expr]:
        """The values in brackets, with commas between them."""
        self._enter()
        found = [self._value()]
        while self._peek() == ",":
            self.at += 1
            found.append(self._value())
        self._expect(")")
        self.brackets -= 1
        return found

    def _total(self, column: int) -> Total:
        self._enter()
        index, _ = self._name("an index")
        self._expect(",")
        found = Total(index, self._value(), column)
        self._expect(")")
        self.brackets -= 1
        return found

    def _call(self, name: str, column: int) -> Expr:
        found, wanted = self._bracket(), FUNCTIONS[name].arguments
        if len(found) != wanted:
            raise self.error(column, f"{name} takes {wanted} argument{'s' * (wanted > 1)}, not {len(found)}",
                             "nest it, as in max(a, max(b, c))" if wanted == 2 and len(found) > 2 else
                             f"write {name}({', '.join('ab'[:wanted])})")
        first = found[0]
        if name == MAX and isinstance(first, Access) and not first.modes and first.tensor in indices(found[1]):
            return Total(first.tensor, found[1], column, MAX)
        return Call(name, tuple(found), column)
