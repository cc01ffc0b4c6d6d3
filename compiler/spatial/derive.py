"""Derive recurrences from an Einsum statement: the choice of them that is usual for systolic arrays.

    C(i,j) = A(i,k) * B(k,j)

An operand moves along the indices that it does not have: it is read at the plane before the first, and passes from point to
point. A sum is carried along the indices that the result does not have, the innermost first, and leaves at their last planes.

Input:   the text; types of the operands and of sums.
Output:  Recurrences.
Errors:  UserError with the column for what has no such form: an index summed in one term of a sum and not in another.
Source:  Stellar II-A has these recurrences for a matrix product by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..lang import expr as text_of
from ..lang.parser import Parser
from ..lang.recurrence import (
    INPUT,
    LOWER,
    OUTPUT,
    UPPER,
    VARIABLE,
    Assignment,
    Declared,
    Expr,
    Index,
    Number,
    Place,
    Plane,
    Read,
    Recurrences,
    Sum,
    call,
)
from ..lang.recurrence_checks import recurrences

ZERO = Sum((), 0)
OPERATIONS = {"+": "add", "-": "sub", "*": "mul"}
NOTHING = Number(0)
# Those of the language (`functions.py`) as operations of a PE.
FUNCTIONS: dict[str, Callable[..., Expr]] = {
    "relu": lambda e: call("max", e, NOTHING),
    "abs": lambda e: call("abs", e),
    "sign": lambda e: call("sub", call("lt", NOTHING, e), call("lt", e, NOTHING)),
    "nonzero": lambda e: call("ne", e, NOTHING),
    "max": lambda a, b: call("max", a, b),
    "min": lambda a, b: call("min", a, b),
    ">": lambda a, b: call("lt", b, a)}


def derive(text: str, dtype: str = "int16", sums: str = "int32") -> Recurrences:
    """The recurrences of a statement; `dtype` of the operands, `sums` of products, sums and the result."""
    parser = Parser(text)
    result, expr = parser.statement()
    if any(index not in text_of.indices(expr) for index in result.indices):
        raise parser.error(result.column, "an index of the result is on no tensor of the right side",
                           "use it on the right, or leave it out of the result")
    if result.repeated:
        raise parser.error(result.column, f"{result} has one index twice", "give each index of a result once")
    names = dict.fromkeys((*result.indices, *text_of.indices(expr)))
    if not names:
        raise parser.error(result.column, "the statement has no index", "use one index at least")
    summed = tuple(index for index in names if index not in result.indices)
    _check_functions(parser, expr)
    _check_sums(parser, expr, frozenset(summed))
    # Tensors keep their names; variables take others.
    tensors = {access.tensor: Declared(access.tensor, INPUT, dtype) for access in text_of.accesses(expr)}
    made = _Derivation(tuple(names), {**tensors, result.tensor: Declared(result.tensor, OUTPUT, sums)}, dtype, sums)
    value = made.value(expr)
    made.result(result, value, summed)
    return recurrences(tuple(made.assignments), made.names)


def _check_functions(parser: Parser, expr: text_of.Expr) -> None:
    """UserError for what no PE of an array computes."""
    if isinstance(expr, text_of.Call) and expr.function not in FUNCTIONS:
        raise parser.error(expr.column, f"operator '{expr.function}' is not supported: no PE of an array divides integers",
                           "multiply by reciprocals that are an operand, scaled to integers")
    for part in text_of.children(expr):
        _check_functions(parser, part)


def _check_sums(parser: Parser, expr: text_of.Expr, summed: frozenset[str]) -> None:
    """UserError for a sum of terms that are not summed over the same indices: the statement then means several loops."""
    if isinstance(expr, text_of.Negate):
        _check_sums(parser, expr.operand, summed)
    if isinstance(expr, text_of.Total):
        raise parser.error(expr.column, f"{expr.function}({expr.index}, ...) is not read here",
                           "leave it out: an index that the result does not have is summed, or write the recurrences")
    if isinstance(expr, text_of.Call) and (inside := summed & text_of.indices(expr).keys()):
        raise parser.error(expr.column, f"{min(inside)} is summed inside a function, or around one",
                           "write the recurrences (functionality), or two statements")
    if not isinstance(expr, text_of.Binary):
        return
    if text_of.is_sum(expr):
        left, right = (summed & text_of.indices(side).keys() for side in (expr.left, expr.right))
        if left != right:
            index = min(left ^ right)
            raise parser.error(expr.column, f"{index} is summed on one side of this sum and not on the other",
                               "write the recurrences (functionality), or two statements")
    for side in (expr.left, expr.right):
        _check_sums(parser, side, summed)


class _Derivation:
    """Assignments that are being made."""

    def __init__(self, indices: Sequence[str], names: dict[str, Declared], dtype: str, sums: str) -> None:
        self.indices, self.names, self._dtype, self._sums = tuple(indices), names, dtype, sums
        self.assignments: list[Assignment] = []

    def value(self, expr: text_of.Expr) -> Expr:
        """An expression at a point."""
        if isinstance(expr, text_of.Access):
            return self._operand(expr)
        if isinstance(expr, text_of.Constant):
            return Number(expr.value)
        if isinstance(expr, text_of.Negate):
            return call("neg", self.value(expr.operand))
        if isinstance(expr, text_of.Binary):
            return call(OPERATIONS[expr.op], self.value(expr.left), self.value(expr.right))
        assert isinstance(expr, text_of.Call), "expressions are tensors, numbers, operators and functions"
        return FUNCTIONS[expr.function](*map(self.value, expr.arguments))

    def result(self, access: text_of.Access, value: Expr, summed: Sequence[str]) -> None:
        """The sum of a value over indices, innermost first, as the result."""
        at: dict[str, Place] = self._point()
        for index in reversed(summed):
            total = self._fresh(f"{access.tensor.lower()}_{index}" if len(summed) > 1 else access.tensor.lower(), self._sums)
            self._assign(total, at | {index: Plane(index, LOWER)}, Number(0))
            self._assign(total, at, call("add", self._read(total, at | {index: Index.named(index) - 1}), value))
            at |= {index: Plane(index, UPPER)}
            value = self._read(total, at)
        if not summed:
            total = self._fresh(access.tensor.lower(), self._sums)
            self._assign(total, at, value)
            value = self._read(total, at)
        self.assignments.append(Assignment(Read(access.tensor, tuple(Index.named(index) for index in access.indices)), value))

    def _operand(self, access: text_of.Access) -> Expr:
        """A tensor that is read at borders and moves along each index that it does not have, one after the other."""
        tensor = Read(access.tensor, tuple(Index.named(index) for index in access.modes))
        ways = [index for index in self.indices if index not in access.indices]
        at, value = self._point(), tensor
        planes = at | dict.fromkeys(ways, ZERO)
        for nth, way in enumerate(ways):
            planes[way] = Index.named(way)
            moving = self._fresh(access.tensor.lower() + (f"_{way}" if nth < len(ways) - 1 else ""), self._dtype)
            self._assign(moving, planes | {way: Plane(way, LOWER)}, value)
            self._assign(moving, planes, self._read(moving, planes | {way: Index.named(way) - 1}))
            # On the plane where the next way begins, what has moved so far is at hand.
            value = self._read(moving, planes)
        return value

    def _point(self) -> dict[str, Place]:
        return {index: Index.named(index) for index in self.indices}

    def _read(self, name: str, at: dict[str, Place]) -> Read:
        return Read(name, tuple(at[index] for index in self.indices))

    def _assign(self, name: str, at: dict[str, Place], value: Expr) -> None:
        self.assignments.append(Assignment(self._read(name, at), value))

    def _fresh(self, name: str, dtype: str) -> str:
        unique, count = name, 1
        while unique in self.names:
            count += 1
            unique = f"{name}{count}"
        self.names[unique] = Declared(unique, VARIABLE, dtype)
        return unique
