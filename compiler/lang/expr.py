"""Index expressions: their tree and the parser of `X(i,j) = B(i,k) * C(k,j)`.

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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from sardonyx.hw.arch.errors import UserError, shown
from sardonyx.tensors.fibertree import Format, natural

from .functions import DIVIDE, FUNCTIONS, GREATER, MAX, NAMES, SUM


@dataclass(frozen=True)
class Access:
    """A tensor read or written at index variables.

    Parameters
    ----------
    tensor : str       Name as written.
    indices : tuple    Index variables, one per mode of what is stored; none for a scalar.
    slot : str         Which copy of the tensor: `B`, and `B.2`, `B.3` where it is used again.
    format : Format    How this copy is stored.
    column : int       Where it stands in the text, from 0.
    repeated : tuple   The index variables as written, if one stands twice: the access is of a diagonal, which has one
                       mode for each variable.
    """

    tensor: str
    indices: tuple[str, ...]
    slot: str
    format: Format
    column: int = field(default=0, compare=False)
    repeated: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.tensor}({','.join(self.modes)})" if self.modes else self.tensor

    @property
    def modes(self) -> tuple[str, ...]:
        """The index variable of every mode of the tensor."""
        return self.repeated or self.indices

    @property
    def stored(self) -> tuple[str, ...]:
        """Index variables in the order of the stored levels."""
        return tuple(self.indices[mode] for mode in self.format.order)


@dataclass(frozen=True)
class Constant:
    """An integer."""

    value: int
    column: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Negate:
    """Unary minus."""

    operand: Expr
    column: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return f"-({self.operand})" if _divides(self.operand) else f"-{_bracketed(self.operand)}"


@dataclass(frozen=True)
class Binary:
    """A sum, difference or product."""

    op: str
    left: Expr
    right: Expr
    column: int = field(default=0, compare=False)

    def __str__(self) -> str:
        if self.op == "*":
            return f"{_bracketed(self.left)} * {_factor(self.right)}"
        return f"{_compared(self.left)} {self.op} {_bracketed(self.right)}"


@dataclass(frozen=True)
class Call:
    """A function of `functions.py`, and its arguments."""

    function: str
    arguments: tuple[Expr, ...]
    column: int = field(default=0, compare=False)

    def __str__(self) -> str:
        if self.function == GREATER:
            return f" {GREATER} ".join(_compared(argument) for argument in self.arguments)
        if self.function == DIVIDE:
            return f"{_bracketed(self.arguments[0])} / {_factor(self.arguments[1], True)}"
        return f"{self.function}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True)
class Total:
    """The sum of an expression over an index, which stands nowhere else, or its largest value.

    extent: how many coordinates the index has, for a maximum; 0 while operands are not known.
    """

    index: str
    operand: Expr
    column: int = field(default=0, compare=False)
    function: str = SUM
    extent: int = 0

    def __str__(self) -> str:
        return f"{self.function}({self.index}, {self.operand})"


Expr = Access | Constant | Negate | Binary | Call | Total


def _bracketed(expr: Expr) -> str:
    return f"({expr})" if is_sum(expr) else _compared(expr)


def _factor(expr: Expr, divides: bool = False) -> str:
    """What stands behind a * or a /, in brackets if it is a sum, or would be taken apart by what stands before it."""
    apart = _divides(expr) or (divides and isinstance(expr, Binary))
    return f"({expr})" if apart else _bracketed(expr)


def _divides(expr: Expr) -> bool:
    """Whether an expression is a quotient, or a product with one in it."""
    if isinstance(expr, Binary):
        return expr.op == "*" and (_divides(expr.left) or _divides(expr.right))
    return isinstance(expr, Call) and expr.function == DIVIDE


def _compared(expr: Expr) -> str:
    """A part of a sum or of a comparison, in brackets if it is a comparison."""
    return f"({expr})" if isinstance(expr, Call) and expr.function == GREATER else str(expr)


def is_sum(expr: Expr) -> bool:
    """Whether an expression is a sum or a difference."""
    return isinstance(expr, Binary) and expr.op != "*"


def children(expr: Expr) -> tuple[Expr, ...]:
    """What an expression is made of directly, from left to right."""
    if isinstance(expr, Negate | Total):
        return (expr.operand,)
    if isinstance(expr, Binary):
        return expr.left, expr.right
    return expr.arguments if isinstance(expr, Call) else ()


def rebuilt(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """An expression of changed parts, which are changed from left to right."""
    if isinstance(expr, Negate | Total):
        return replace(expr, operand=change(expr.operand))
    if isinstance(expr, Binary):
        return replace(expr, left=change(expr.left), right=change(expr.right))
    return replace(expr, arguments=tuple(map(change, expr.arguments))) if isinstance(expr, Call) else expr


def accesses(expr: Expr) -> Iterator[Access]:
    """The tensors an expression reads, from left to right."""
    if isinstance(expr, Access):
        yield expr
    for part in children(expr):
        yield from accesses(part)


def changed(expr: Expr, change: Callable[[Access], Access]) -> Expr:
    """An expression with other accesses, which are changed from left to right."""
    if isinstance(expr, Access):
        return change(expr)
    # A frame for each term of a long sum, not more.
    if isinstance(expr, Binary):
        return replace(expr, left=changed(expr.left, change), right=changed(expr.right, change))
    return rebuilt(expr, lambda part: changed(part, change))


def indices(expr: Expr) -> dict[str, None]:
    """The index variables of an expression, in order of appearance."""
    return {index: None for access in accesses(expr) for index in access.indices}


def start(expr: Expr) -> int:
    """The column where an expression begins (brackets around it aside)."""
    if isinstance(expr, Binary):
        return start(expr.left)
    return start(expr.arguments[0]) if isinstance(expr, Call) and expr.function in (GREATER, DIVIDE) else expr.column


def mistake(text: str, column: int, what: str, fix: str = "", origin: str = "") -> UserError:
    """A UserError that points into an expression."""
    place = f"{origin}, column {column + 1}" if origin else f"column {column + 1}"
    left = max(column - SHOWN // 2, 0) if len(text) > SHOWN else 0
    shown = text[left:left + SHOWN]
    return UserError(f"{what}\n  {shown}\n  {' ' * (column - left)}^", where=place, fix=fix)


_WORD = re.compile(r"\d+(?:\.\d*)?|(?P<name>[A-Za-z_]\w*)|\*\*|//|[-+*/=!<>]=|\S", re.ASCII)
_NO_OPERATORS = ("**", "//", "^", "%", "@", "+=", "-=", "*=", "/=", "&", "|")
_OPERATORS = f"use + - * / > < != and brackets, {' '.join((*NAMES, SUM))}, and one ="
_EQUALS = ("==", "<=", ">=")
# No array holds a statement this long; the limits keep recursion over its tree shallow.
LONGEST, DEEPEST = 600, 50
SPLIT = "split it into several statements"
MOST_DIGITS = 18     # Of a constant; what does not fit is said later.
SHOWN = 90     # Characters around a mistake.


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
