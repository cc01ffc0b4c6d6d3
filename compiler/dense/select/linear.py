"""Trees of PEs for sums: nodes of a word graph are taken apart into terms, of which `sums` makes a chain.

Terms with one constant factor are added before they are multiplied, and a constant times a sum is tried both ways.

Cost:    at most 2 ** `CHOICES` trees for a sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import combinations
from typing import TypeVar

from ....hw.arch.op import WORD
from ...ir.dataflow import Operand, Ref
from .fold import factor_of
from .reach import SUMS, Reach
from .sums import Cost, Term, cover_sum, times
from .tree import Value, moved, pe

# So many sums under constant factors are tried both ways, all at once.
CHOICES = 5


class Linear:
    """Nodes as sums of terms.

    Parameters
    ----------
    factor : bool     Whether terms with one constant factor are added before they are multiplied.
    cost : function   PEs and area of a tree, with those of its leaves that nobody else uses.
    best : function   The same of the best tree of a node.
    """

    def __init__(self, reach: Reach, factor: bool, cost: Callable[[Value], Cost], best: Callable[[int], Cost]) -> None:
        self.reach, self.factor, self.cost, self.best = reach, factor, cost, best

    def trees(self, number: int) -> Iterator[Value]:
        """The chains for a sum, with the sums below constant factors multiplied out or not."""
        coefficients, constant, choices = self._sum(number, frozenset())
        yield cover_sum(self._terms(coefficients, constant), self.reach.ops)
        tried = sorted(choices)[-CHOICES:]
        for count in range(1, len(tried) + 1):
            for closed in combinations(tried, count):
                coefficients, constant, _ = self._sum(number, frozenset(closed))
                yield cover_sum(self._terms(coefficients, constant), self.reach.ops)

    def _sum(self, number: int, closed: frozenset[int]) -> tuple[dict[tuple[Ref, ...], int], int, set[int]]:
        """A node as a sum: factors (one or two references) -> coefficient, the constant, and the sums multiplied out.

        The sums in `closed` are not taken apart.
        """
        root = Ref(number, self.reach.zero)
        coefficients: dict[tuple[Ref, ...], int] = {}
        constant = 0
        choices = set()
        # Later nodes first, so that a node is taken apart once, whatever the number of ways to it.
        pending = {root: 1}
        order = [_latest(root)]
        while order:
            ref = heappop(order)[-1]
            by = pending.pop(ref)
            self.reach.steps += 1
            node = self.reach.inside(ref)
            factor = factor_of(node)
            pieces: list[tuple[Operand, int]] = []
            if ref != root and (ref.node in closed or not self.reach.is_open(ref, *SUMS)):
                _more(coefficients, (ref,), by)
            elif node.op in ("add", "sub"):
                if by not in (1, WORD - 1):
                    choices.add(ref.node)
                pieces = list(zip(node.operands, (by, by if node.op == "add" else -by)))
            elif factor is not None:
                pieces = [(node.operands[0], by * factor)]
            elif node.op == "mul":
                (left, scale), (right, scale2) = (self._scaled(each) for each in node.operands if isinstance(each, Ref))
                first, second = sorted((left, right), key=lambda each: (each.node, each.offset))
                _more(coefficients, (first, second), by * scale * scale2)
            else:
                _more(coefficients, (ref,), by)
            for piece, more in pieces:
                if isinstance(piece, int):
                    constant += piece * more
                    continue
                if piece not in pending:
                    heappush(order, _latest(piece))
                _more(pending, piece, more)
        return {key: by for key, by in coefficients.items() if by}, constant % WORD, choices

    def _scaled(self, ref: Ref) -> tuple[Ref, int]:
        """A factor without its own constant factors, and these."""
        scale = 1
        while self.reach.is_open(ref, "mul", "shl"):
            node = self.reach.inside(ref)
            factor = factor_of(node)
            if factor is None:
                break
            first = node.operands[0]
            assert isinstance(first, Ref), "constants stand behind"
            ref, scale = first, scale * factor % WORD
        return ref, scale

    def _terms(self, coefficients: dict[tuple[Ref, ...], int], constant: int) -> list[Term]:
        """The terms of a sum; those with one constant factor, but for its sign, may be added first."""
        groups: dict[int, list[Term]] = {}
        for key, by in coefficients.items():
            pushed = self._pushed(key, by)
            if pushed:
                groups.setdefault(1, []).append(pushed)
                continue
            negative = by > WORD // 2
            groups.setdefault(WORD - by if negative else by, []).append(self._term(key, negative))
        terms = groups.pop(1, [])
        for by, group in groups.items():
            if self.factor and len(group) > 1:
                plus, minus = (cover_sum(each, self.reach.ops) for each in (group, [term.negated() for term in group]))
                terms.append(Term(minus, -by % WORD) if self.cost(minus) < self.cost(plus) else Term(plus, by))
                continue
            for term in group:
                factor = -by % WORD if term.negative else by
                if term.flag:
                    terms.append(Term(pe("sel", a=factor, b=0, d=term.a)))
                else:
                    terms.append(Term(term.a if term.b is None else times(term.a, term.b), factor))
        return [*terms, Term(constant)] if constant else terms

    def _pushed(self, key: tuple[Ref, ...], by: int) -> Term | None:
        """A product with its sign or constant factor put into a factor that is a sum, if that sum takes no more PEs.

        ``- a (b - c) = a (c - b)``, ``7 a (b + 3) = a (7 b + 21)``
        """
        if by == 1 or len(key) != 2 or key[0] == key[1]:
            return None
        for factor, other in (key, key[::-1]):
            if self.reach.is_open(factor, "add", "sub"):
                coefficients, constant, _ = self._sum(factor.node, frozenset())
                terms = self._terms({each: more * by % WORD for each, more in coefficients.items()}, constant * by % WORD)
                value = cover_sum(terms, self.reach.ops)
                if self.cost(value)[0] <= self.best(factor.node)[0] + (by != WORD - 1):
                    return Term(other, moved(value, factor.offset))
        return None

    def _term(self, key: tuple[Ref, ...], negative: bool) -> Term:
        if len(key) == 2:
            return Term(key[0], key[1], negative)
        if self.reach.is_open(key[0], "word"):
            flag = self.reach.inside(key[0]).operands[0]
            return Term(flag, None, negative, flag=True)
        return Term(key[0], None, negative)


def _latest(ref: Ref) -> tuple[int, tuple[int, ...], Ref]:
    """Orders references in a heap, the latest node at the largest offset first."""
    return -ref.node, tuple(-o for o in ref.offset), ref


Key = TypeVar("Key")


def _more(sums: dict[Key, int], key: Key, by: int) -> None:
    """Add to one of several words."""
    sums[key] = (sums.get(key, 0) + by) % WORD
