"""What recurrences come to, where every point takes inputs alone: an expression of them, and the index that it is summed over.

    c(i, j, k.lower) = 0;  c(i, j, k) = c(i, j, k - 1) + P(i, k, j);  C(i, j) = c(i, j, k.upper)        P(i, k, j), over k
    c(i, j, k.lower) = 0;  c(i, j, k) = max(c(i, j, k - 1), P(i, k, j));  C(i, j) = c(i, j, k.upper)    the same, by max from 0
    a(i, j.lower, k) = A(i, k);  a(i, j, k) = a(i, j - 1, k);  ...                                       A(i, k) for a

Input:   Recurrences of one output.
Output:  `Stated`: what stands at each point, the same however it is handed on.
Errors:  UserError for anything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...hw.arch.errors import UserError
from ...hw.arch.reduction import ADD, NEUTRAL, REDUCTIONS
from ..lang.recurrence import (
    INPUT,
    LOWER,
    OUTPUT,
    UPPER,
    Assignment,
    Call,
    Expr,
    Index,
    Number,
    Plane,
    Read,
    Recurrences,
    Sum,
    call,
    reads,
)


@dataclass(frozen=True)
class Stated:
    """The element of the result of each point, what that is or adds, and the indices over which it is summed; by which other
    operation than adding, and from which number on."""

    result: Read
    value: Expr
    summed: tuple[str, ...]
    operation: str = ADD
    first: int = 0


def stated(recurrences: Recurrences) -> Stated:
    """What one output is."""
    outputs = [one for one in recurrences.assignments if recurrences.declared[one.target.name].role == OUTPUT]
    if len(outputs) != 1:
        raise mistake("there is not one output that is assigned once")
    out, = outputs
    found = _Trace(recurrences)
    assert isinstance(out.value, Read), "outputs are assigned variables"
    planes = [at for at in out.value.at if isinstance(at, Plane)]
    own = tuple(found.own)
    if not planes and out.value.at == own:
        indices = {index for at in out.target.at if isinstance(at, Sum) for index, _ in at.terms}
        summed = tuple(index for index in recurrences.indices if index not in indices)
        if summed and not out.adds:
            raise mistake(f"{out.target} is assigned at every {summed[0]}")
        return Stated(out.target, found.value(out.value), summed)
    if out.adds or len(planes) != 1 or planes[0].side != UPPER:
        raise mistake(f"{out.value} is not its value at each point, or at the last of one index")
    index = planes[0].index
    if out.value.at != tuple(planes[0] if at == Index.named(index) else at for at in own):
        raise mistake(f"{out.value} is not at plain indices")
    return Stated(out.target, *found.added(out.value.name, index))


def mistake(what: str) -> UserError:
    """Functionality that lanes do not compute."""
    return UserError(f"{what}: it is no sum or product that lanes compute", "functionality",
                     "state it as P(i,k,j) = A(i,k) * B(k,j), or C(i,j) = P(i,k,j)")


class _Trace:
    """Follows variables to inputs."""

    def __init__(self, recurrences: Recurrences) -> None:
        self.recurrences = recurrences
        self.own = [Index.named(index) for index in recurrences.indices]
        self._under_way: list[str] = []

    def value(self, expr: Expr) -> Expr:
        """An expression at a point, in inputs."""
        if isinstance(expr, Number):
            return expr
        if isinstance(expr, Call):
            return call(expr.operation, *map(self.value, expr.operands))
        if self.recurrences.declared[expr.name].role == INPUT:
            return expr
        if expr.at != tuple(self.own) or expr.name in self._under_way:
            raise mistake(f"{expr} is that of another point")
        self._under_way.append(expr.name)
        found = self.value(self._source(expr.name))
        self._under_way.pop()
        return found

    def added(self, name: str, index: str) -> tuple[Expr, tuple[str, ...], str, int]:
        """What each point adds to a sum that is carried along an index, or by what else it changes it; that, and the first."""
        first, rest = self._carried(name, index)
        if not isinstance(first, Number) or not isinstance(rest, Call) or rest.operation not in REDUCTIONS or len(
                rest.operands) != 2 or NEUTRAL.get(rest.operation, first.value) != first.value:
            raise mistake(f"{name} is not 0 before the first {index}, of a product 1, and then what was before and a value")
        before = [each for each in rest.operands if each == self._moved(name, index)]
        more = [each for each in rest.operands if each != self._moved(name, index)]
        if len(before) != 1:
            raise mistake(f"{name} does not add to what it was a {index} before")
        return self.value(more[0]), (index,), rest.operation, first.value

    def _source(self, name: str) -> Expr:
        """What a variable is: a value at each point, or one that enters at the first of an index and is handed on."""
        assigned = self._assigned(name)
        if len(assigned) == 1 and assigned[0].target.at == tuple(self.own):
            return assigned[0].value
        planes = [at for one in assigned for at in one.target.at if isinstance(at, Plane)]
        if len(planes) != 1:
            raise mistake(f"{name} is assigned in other ways than once, or at a first place and then handed on")
        first, rest = self._carried(name, planes[0].index)
        if rest != self._moved(name, planes[0].index):
            raise mistake(f"{name} changes along {planes[0].index}")
        return first

    def _carried(self, name: str, index: str) -> tuple[Expr, Expr]:
        """What is assigned before the first place of an index, and then."""
        lower = tuple(Plane(index, LOWER) if at == Index.named(index) else at for at in self.own)
        assigned = self._assigned(name)
        if [one.target.at for one in assigned] != [lower, tuple(self.own)]:
            raise mistake(f"{name} is not assigned before the first {index}, and then at each")
        first, rest = (one.value for one in assigned)
        if any(index in dict(at.terms) for read in reads(first) for at in read.at if isinstance(at, Sum)):
            raise mistake(f"{name} has {index} before its first place")
        return first, rest

    def _moved(self, name: str, index: str) -> Read:
        at: Sequence[Sum] = [Sum(each.terms, -1) if each.name == index else each for each in self.own]
        return Read(name, tuple(at))

    def _assigned(self, name: str) -> list[Assignment]:
        return [one for one in self.recurrences.assignments if one.target.name == name]
