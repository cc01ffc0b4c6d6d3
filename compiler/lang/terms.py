"""What expressions are made of: constants, factors, terms, and what is applied to every value of a result at last."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sardonyx.tensors.coordinates import VALUE_MIN

from .expr import Access, Binary, Call, Constant, Expr, Negate, Total, children, indices, is_sum, rebuilt
from .functions import DIVIDE, FUNCTIONS, SUM


def fold(expr: Expr) -> int | None:
    """The value of an expression of constants only; None for any other."""
    if isinstance(expr, Constant):
        return expr.value
    if isinstance(expr, Negate):
        value = fold(expr.operand)
        return None if value is None else -value
    if isinstance(expr, Binary):
        left, right = fold(expr.left), fold(expr.right)
        if left is None or right is None:
            return None
        return left * right if expr.op == "*" else left + right if expr.op == "+" else left - right
    if isinstance(expr, Call):
        values = [value for value in map(fold, expr.arguments) if value is not None]
        return FUNCTIONS[expr.function].meaning(*values) if len(values) == len(expr.arguments) else None
    return None


def with_value(expr: Expr, value: int) -> int:
    """What an expression is where every tensor has a value, as a 16-bit integer, sums aside."""
    found = value
    if isinstance(expr, Constant):
        found = expr.value
    if isinstance(expr, Negate):
        found = -with_value(expr.operand, value)
    if isinstance(expr, Total):
        found = with_value(expr.operand, value)
    if isinstance(expr, Binary):
        left, right = with_value(expr.left, value), with_value(expr.right, value)
        found = left * right if expr.op == "*" else left + right if expr.op == "+" else left - right
    if isinstance(expr, Call):
        found = FUNCTIONS[expr.function].meaning(*(with_value(argument, value) for argument in expr.arguments))
    return (found - VALUE_MIN) % (1 << 16) + VALUE_MIN


def peel(part: Expr, result: Access) -> tuple[Expr, Expr]:
    """An expression without what is applied to every value of it at last, and that, of the result as an operand."""
    varied = [each for each in children(part) if fold(each) is None]
    if isinstance(part, Access | Total) or len(varied) > 1:
        return part, result
    inner, after = peel(varied[0], result)
    return inner, rebuilt(part, lambda each: after if each is varied[0] else each)


def factors(expr: Expr) -> list[Expr]:
    """The factors of a product, signs aside; an expression that is no product is its one factor."""
    if isinstance(expr, Binary) and expr.op == "*":
        return factors(expr.left) + factors(expr.right)
    return factors(expr.operand) if isinstance(expr, Negate) else [expr]


def terms(expr: Expr) -> list[Expr]:
    """The terms of a sum, signs aside."""
    if is_sum(expr):
        assert isinstance(expr, Binary), "sums are binary"
        return terms(expr.left) + terms(expr.right)
    return terms(expr.operand) if isinstance(expr, Negate) and is_sum(factors(expr)[0]) else [expr]


def shared(parts: Iterable[Expr]) -> frozenset[str]:
    """The indices that more than one of the factors use: summed over their product, if at all."""
    uses = [index for part in parts for index in indices(part)]
    return frozenset(index for index in uses if uses.count(index) > 1)


def summed(expr: Expr, bound: Collection[str]) -> frozenset[str]:
    """The indices that are summed over the whole of a product, if loops around it fix `bound`; of a sum none are."""
    parts = [part for part in factors(expr) if fold(part) is None]
    fixed = shared(parts).union(bound)
    found = shared(parts).union(*(part.indices for part in parts if isinstance(part, Access)))
    for part in parts:
        if isinstance(part, Total) and part.function == SUM:
            found |= {part.index} | summed(part.operand, fixed | {part.index})
    return found - {*bound}


def is_quotient(expr: Expr) -> bool:
    """Whether an expression divides what is no constant by what is none."""
    return isinstance(expr, Call) and expr.function == DIVIDE and all(fold(each) is None for each in expr.arguments)


def arguments(part: Expr) -> list[Expr]:
    """What a factor is made of: the terms of a sum, the arguments of a function, what is summed over an index."""
    return list(children(part)) if isinstance(part, Call | Total) else terms(part)
