"""Sums inside a term, an argument or a factor of a statement, around loops outside of it: each is a statement of its own.

    x(i) = b(i) - C(i,j) * d(j), order j i                 =>  x.sum1(i) = C(i,j) * d(j), order j i;  x(i) = b(i) - x.sum1(i)
    X(i,j) = relu(A(i,k) * B(k,j)) + D(i,j), order k i j    =>  X.sum1(i,j) = A(i,k) * B(k,j), order k i j; ...

A sum of a whole product is accumulated around its result (`Einsum.accumulated`). What is in a term, in an argument or in a sum
that is a factor is computed inside the loops of the result; where its own loop stands around one of these, it has to be whole
before it meets the other terms. The part that is taken out is the largest that is a product, with all its factors; it may have
such sums itself. Values and what is stored are the same either way.

Input:   a result, its expression and its loops.
Output:  the expression with accesses in the place of such sums, and these.
Source:  ours.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from sardonyx.tensors.fibertree import COMPRESSED, Format

from .expr import Access, Binary, Call, Expr, Total, children, indices, is_sum, rebuilt
from .terms import factors, fold, shared, summed

_END = ".sum"


@dataclass(frozen=True)
class Part:
    """A sum as a statement of its own, with loops in an order; its result is stored in that order."""

    result: Access
    expr: Expr
    order: tuple[str, ...]


def taken(result: Access, expr: Expr, order: tuple[str, ...], accumulated: Collection[str]) -> tuple[Expr, tuple[Part, ...]]:
    """What is left of an expression, and the sums that are taken out, which may have such sums; accumulated: the indices that
    are summed around loops of the result."""
    found = _Sums(result, order, frozenset(accumulated))
    return found.top(expr), tuple(found.made)


@dataclass
class _Sums:
    """The sums of a statement that are taken out so far."""

    result: Access
    order: tuple[str, ...]
    accumulated: frozenset[str]
    made: list[Part] = field(default_factory=list)

    def top(self, expr: Expr) -> Expr:
        """The right side; what is applied to all of it at last stays around."""
        varied = [each for each in children(expr) if fold(each) is None]
        if not isinstance(expr, Access | Total) and len(varied) == 1:
            return rebuilt(expr, lambda each: self.top(each) if each is varied[0] else each)
        return self._inside(expr, frozenset(self.result.indices) | self.accumulated)

    def _part(self, expr: Expr, bound: frozenset[str]) -> Expr:
        """A term or an argument, in loops over `bound`, or a sum of such: a frame for each term of a long one."""
        if isinstance(expr, Binary) and is_sum(expr):
            return replace(expr, left=self._part(expr.left, bound), right=self._part(expr.right, bound))
        if self._around(summed(expr, bound), expr, bound):
            return self._taken(expr, bound)
        return self._inside(expr, bound)

    def _inside(self, expr: Expr, bound: frozenset[str]) -> Expr:
        """A product whose own sums stay, or a sum, which has none."""
        if is_sum(expr):
            return self._part(expr, bound)
        fixed = bound | shared(part for part in factors(expr) if fold(part) is None)

        def factor(part: Expr) -> Expr:
            if isinstance(part, Access) or fold(part) is not None:
                return part
            if isinstance(part, Total):
                return self._total(part, fixed)
            if is_sum(part):
                return self._part(part, fixed)
            if isinstance(part, Call):
                return rebuilt(part, lambda each: self._part(each, fixed))
            return rebuilt(part, factor)

        return factor(expr)

    def _total(self, part: Total, bound: frozenset[str]) -> Expr:
        within = bound | {part.index}
        if part.index in self.accumulated:
            # What is summed over the whole product stays in it.
            return replace(part, operand=self._inside(part.operand, within))
        if self._around({part.index}, part, bound):
            return self._taken(part, bound)
        return replace(part, operand=self._part(part.operand, within))

    def _around(self, sums: Collection[str], expr: Expr, bound: frozenset[str]) -> bool:
        """Whether any of some loops is around one that has to be outside of a part: of the indices that are fixed there, or of
        the result."""
        outside = {*self.result.indices, *(bound & indices(expr).keys())}
        at = self.order.index
        return any(at(index) < at(other) for index in sums for other in outside)

    def _taken(self, expr: Expr, bound: frozenset[str]) -> Access:
        """A part as a statement of its own; what stands in its place."""
        def fixed(part: Expr) -> Expr:
            # What is accumulated for the whole is summed there.
            return fixed(part.operand) if isinstance(part, Total) and part.index in bound else rebuilt(part, fixed)

        expr, order = fixed(expr), tuple(index for index in self.order if index in indices(expr))
        kept = tuple(index for index in order if index in bound)
        name = f"{self.result.slot}{_END}{len(self.made) + 1}"
        result = Access(name, kept, name, Format(COMPRESSED * len(kept), tuple(range(len(kept)))))
        self.made.append(Part(result, expr, order))
        return result
