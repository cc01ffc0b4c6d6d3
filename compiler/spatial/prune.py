"""Prune the connections of an unrolled space that skips leave without a known distance, and the points that are never computed.

A variable that comes from the point at distance d is cut if d has a component along an index by which a skipped one is found:
the neighbour then has other coordinates, how far away only values know. (A step along the skipped index itself stays.) What
was handed on is read from its input at every point; partial sums leave, and are added up outside. An optimistic skip cuts
nothing (`bundle`). Where each PE takes work of others on its own, whatever is handed on in space is cut likewise.

Points at which a condition on indices alone holds are left out, under an optimistic skip positions that hold nothing. What they
would have handed on comes from the point before.

Input:   Unrolled, checked skips, the balance.
Output:  Pruned: the space that is left, which ``project`` makes an array of, and what was cut and why.
Errors:  UserError for a variable that is cut and is neither a copy of an input nor a sum, and if nothing is left.
Source:  Stellar IV-B, Listing 5, Fig. 4 and 10b.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ...hw.arch.errors import UserError
from ...hw.arch.reduction import REDUCTIONS, begins
from ..lang.balance import PE, Balance
from ..lang.recurrence import Number
from ..lang.sparsity import Skip, dependencies
from .bundle import Empty, bundle
from .points import Compute, Point, Term, Unrolled, Use, Value, source, uses
from .tree import on_digits, places


@dataclass(frozen=True)
class Cut:
    """A connection that is gone: along `index`, by which a skip finds `skipped`, or along which PEs take work apart, `skipped`
    being ""; its variable is a sum, or a copy."""

    use: Use
    by: Skip | Balance
    skipped: str
    index: str
    is_sum: bool


@dataclass(frozen=True)
class Pruned:
    """A space under skips.

    Parameters
    ----------
    unrolled : Unrolled      What is left; skipped indices count positions.
    skips : tuple
    cuts : tuple             In the order of variables.
    """

    unrolled: Unrolled
    skips: tuple[Skip, ...]
    cuts: tuple[Cut, ...]

    @property
    def is_static(self) -> bool:
        """Whether no skip finds an index by values: the space is then computed as it is."""
        return all(skip.is_static or skip.of for skip in self.skips)

    @property
    def on_digits(self) -> tuple[Skip, ...]:
        """The skips over the indices of the space, which are digits where sums are trees."""
        return tuple(on_digits(skip, places(self.unrolled.recurrences)) for skip in self.skips)

    @property
    def packed(self) -> Skip | None:
        """The optimistic skip, if there is one: the space is then that of its positions."""
        return next((skip for skip in self.skips if skip.of), None)


def prune(unrolled: Unrolled, skips: Sequence[Skip], balance: Sequence[Balance] = (), space: Collection[str] = ()) -> Pruned:
    """A space under checked skips and a balance.  space: the indices of PEs."""
    optimistic = [skip for skip in skips if skip.of]
    if optimistic and any(not skip.is_static for skip in skips if skip != optimistic[0]):
        raise UserError("an optimistic skip stands beside another one by values", str(optimistic[0]),
                        "use it alone, or beside conditions on indices")
    if optimistic and (added := unrolled.recurrences.added):
        raise UserError(f"an optimistic skip stands beside {min(added)}, to which points add", str(optimistic[0]),
                        "leave one of the two out")
    if optimistic and (trees := places(unrolled.recurrences)):
        raise UserError(f"an optimistic skip stands beside a tree of {min(trees)}", str(optimistic[0]),
                        "leave one of the two out")
    static = [skip for skip in skips if skip.is_static]
    if optimistic:
        found = bundle(unrolled, optimistic[0])
        left = _Pruner(found, {}, Empty(optimistic[0], static, unrolled.recurrences).holds).left() if static else found
        return Pruned(left, tuple(skips), ())
    for skip in skips:
        if skip.is_static and on_digits(skip, places(unrolled.recurrences)) != skip:
            raise UserError("its condition leaves out points of a tree, whose levels are then not of one size", str(skip),
                            "leave the tree out, or the skip")
    reasons = _reasons(unrolled, skips, [each for each in balance if each.grain == PE], space)
    if not skips:
        return Pruned(unrolled, (), ())
    work = _Pruner(unrolled, reasons, lambda at: any(skip.holds(at) for skip in static))
    left = work.left()
    cuts = tuple(Cut(use, *reason, use.variable in work.sums) for use, reason in reasons.items())
    return Pruned(left, tuple(skips), cuts)


Reason = tuple[Skip | Balance, str, str]


def _reasons(unrolled: Unrolled, skips: Sequence[Skip], apart: Sequence[Balance], space: Collection[str]) -> dict[Use, Reason]:
    """By connection that is cut: the skip, what it skips, and the index by which it is found; or the balance, and along which
    index."""
    found: dict[Use, Reason] = {}
    written = {on_digits(skip, places(unrolled.recurrences)): skip for skip in skips}
    for use in unrolled.distances:
        for skipped, by in dependencies([*written]).items():
            for index, distance in zip(unrolled.bounds, use.distance, strict=True):
                if distance and index in by and use not in found:
                    found[use] = written[by[index]], skipped, index
        for each in apart:
            for index, distance in zip(unrolled.bounds, use.distance, strict=True):
                if distance and index in space and use not in found:
                    found[use] = each, "", index
    return found


@dataclass
class _Pruner:
    unrolled: Unrolled
    cut: Mapping[Use, Reason]
    is_empty: Callable[[Mapping[str, int]], bool]

    def __post_init__(self) -> None:
        self.sums: set[str] = set()
        points = dict.fromkeys(point for _, point in self.unrolled.values)
        self._gone = {point for point in points if self.is_empty(dict(zip(self.unrolled.bounds, point)))}
        self._origins: dict[Value, Term] = {}

    def left(self) -> Unrolled:
        """The space that is left."""
        results: dict[tuple[str, Point], Value] = {}
        partial = []
        added = self.unrolled.recurrences.added
        for tensor, element, value in self.unrolled.leaving:
            leaving = self._leaving(value)
            if not leaving and tensor not in added:
                place = ", ".join(map(str, element))
                raise UserError(f"nothing is left of {tensor}({place}): every point of it is skipped", "sparsity",
                                "give conditions that leave a point of each element, or another functionality")
            if leaving and (tensor, element) not in results:
                results[tensor, element] = leaving.pop(0)
            partial += [(tensor, element, one) for one in leaving]
        values: dict[Value, Term] = {}
        todo = [*results.values(), *(value for *_, value in partial)]
        while todo:
            value = todo.pop()
            if value not in values:
                values[value] = term = self._term(value)
                todo += [source(value, use) for use in uses(term)]
        return replace(self.unrolled, values=values, results=results, partial=tuple(partial))

    def _leaving(self, value: Value) -> list[Value]:
        """What an element of a result is the sum of, the last value first: all in front of a connection that is cut."""
        found, at = [], self._here(value)
        begins = True
        while isinstance(at, tuple):
            if begins:
                found.append(at)
            found += self._added(at)
            use = self._carried(at)
            if use is None:
                break
            begins = use in self.cut
            at = self._here(source(at, use))
        return found

    def _added(self, value: Value) -> list[Value]:
        """What leaves of other sums that a sum adds, as of the level below in a tree, but for what of them is in it."""
        term = self.unrolled.values[value]
        found: list[Value] = []
        if isinstance(term, Compute) and term.operation == "add":
            for each in term.operands:
                if isinstance(each, Use) and each.variable != value[0]:
                    inner = source(value, each)
                    if isinstance(self.unrolled.values[inner], Compute):
                        found += self._leaving(inner)[1:]
        return found

    def _here(self, value: Value) -> Value | None:
        """A value, or what it is a copy of where its point is left out; None where that is a number or an input."""
        while value[1] in self._gone:
            use = self._carried(value)
            if use is None:
                return None
            value = source(value, use)
        return value

    def _carried(self, value: Value) -> Use | None:
        """The use by which a variable has its value from itself elsewhere: what a copy copies, or a sum adds to."""
        term = self.unrolled.values[value]
        operands = term.operands if isinstance(term, Compute) and term.operation in REDUCTIONS else (term,)
        return next((each for each in operands if isinstance(each, Use) and each.variable == value[0]), None)

    def _term(self, value: Value) -> Term:
        term = self.unrolled.values[value]
        if isinstance(term, Compute) and term.operation in REDUCTIONS:
            # A sum: the part that it has from itself may be left to others.
            return Compute(term.operation, tuple(
                self._sum_before(value, each, term.operation) if isinstance(each, Use) and each.variable == value[0]
                else self._read(value, each) for each in term.operands))
        return self._read(value, term)

    def _sum_before(self, value: Value, use: Use, operation: str) -> Term:
        before = self._here(source(value, use))
        if use in self.cut:
            self.sums.add(use.variable)
        if before is None:
            return self._first(value, use)
        if use in self.cut:
            # A part in front of it has what the whole begins with.
            return Number(begins(operation))
        return Use(use.variable, tuple(a - b for a, b in zip(value[1], before[1])))

    def _first(self, value: Value, use: Use) -> Term:
        """With what a sum begins whose points in front of one are all left out: what the first of them reads in its place."""
        at, before = self.unrolled.values[value], source(value, use)
        while (carried := self._carried(before)) is not None:
            before = source(before, carried)
        first = self.unrolled.values[before]
        assert isinstance(at, Compute), "it is a sum"
        if not isinstance(first, Compute) or first.operation != at.operation:
            # It is assigned what the skip says is 0.
            return Number(0)
        found = first.operands[at.operands.index(use)]
        if isinstance(found, Use):
            variable, point = source(before, found)
            return self._read(value, Use(variable, tuple(a - b for a, b in zip(value[1], point))))
        return found

    def _read(self, value: Value, term: Term) -> Term:
        """A term as this point reads it now."""
        if isinstance(term, Compute):
            return Compute(term.operation, tuple(self._read(value, operand) for operand in term.operands))
        if not isinstance(term, Use):
            return term
        if term in self.cut or source(value, term)[1] in self._gone:
            return self._origin(source(value, term), term)
        return term

    def _origin(self, value: Value, use: Use) -> Term:
        """The input or number that a value is a copy of."""
        passed = []
        while value not in self._origins:
            passed.append(value)
            term = self.unrolled.values[value]
            if isinstance(term, Compute):
                reason = self.cut.get(use)
                what = f"{use.variable} is read where it is skipped"
                if reason is not None:
                    why = f"by which {reason[1]} is found" if reason[1] else "along which PEs take work apart"
                    what = f"{use.variable} loses its wire along {reason[2]}, {why}"
                raise UserError(f"{what}, and is neither a copy of an input nor a sum that begins with 0", "sparsity",
                                "leave this skip or balance out, or assign it as c(i, j, k - 1) + ...")
            if not isinstance(term, Use):
                self._origins[value] = term
            else:
                value = source(value, term)
        for each in passed:
            self._origins[each] = self._origins[value]
        return self._origins[value]
