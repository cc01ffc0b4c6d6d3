"""Which nodes with several users are PEs of their own, and which become part of the trees of all their users.

A descent changes one node after the other until nothing gets cheaper. A search by branch and bound, from the results down,
then finds what is cheaper or that nothing is: a tree's form depends on few of the nodes, so each is asked about when the first
tree that could absorb it is made, and what the trees made so far cost is a bound.

Both end when trees of `WORK` parts were made or `STEPS` nodes looked at, which is counted and not timed, so that a program is
the same everywhere. That is enough for a proof for all programs of ``apps/dense`` (10,700 parts, 29,000 steps); sorting
networks and layers of many channels have the best choice found until then.

What is cheapest: PEs, with `ROW_COST` for every row that is kept; then PEs; then the sum of `Op.cost`. A filter whose taps
share the products ``24 in`` and ``30 in`` of several rows would save a PE or two and keep the rows of both products instead of
those of the input.

Needs:   Cover, with every shared node cut.
Gives:   its `cut`, and whether it is proven to be the cheapest.
Cost:    4 s for `WORK` parts, 3 s for `STEPS` nodes.
Source:  branch and bound: Land and Doig, 1960.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from .cover import Cover, Plan
from .fold import factor_of

# What a row that is kept costs, in PEs: it takes one of the two read ports of a MEM tile, and there are three PEs for a MEM.
ROW_COST = 1.5
# PEs and operands of all trees that may be made, about 0.1 ms each.
WORK = 40_000
# Nodes and references that may be looked at to choose among trees that were made, about 2 us each.
STEPS = 1_500_000
# Nodes that are a PE or more, whatever their trees are; others may be free, as sums that cancel and tests of a sign are.
CERTAIN = ("and", "or", "xor", "abs", "mul_middle", "mul_high", "shr", "select", "word")

Total = tuple[float, int, float]


@dataclass(frozen=True)
class Bill:
    """What trees cost together.

    rows : int          Rows that are kept, of all that is read.
    reads : mapping     Node -> lowest and highest offset at which it is read, in each dimension but x.
    """

    pes: int = 0
    area: float = 0
    rows: int = 0
    reads: Mapping[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    def plus(self, *plans: Plan) -> Bill:
        """With more trees."""
        pes, area, rows, reads = self.pes, self.area, self.rows, dict(self.reads)
        for plan in plans:
            pes, area = pes + plan.own[0], area + plan.own[1]
            for ref in plan.reads:
                at = ref.offset[1:]
                known = reads.get(ref.node)
                if known is None:
                    reads[ref.node] = tuple(zip(at, at))
                elif any(not low <= row <= high for (low, high), row in zip(known, at)):
                    reads[ref.node] = spans = tuple((min(low, row), max(high, row)) for (low, high), row in zip(known, at))
                    rows += _height(spans) - _height(known)
        return Bill(pes, area, rows, reads)

    def total(self, more: int = 0) -> Total:
        """PEs with rows that are kept, PEs and area; so many PEs more."""
        # Sums of tenths in another order differ in their last digits.
        return self.pes + more + ROW_COST * self.rows, self.pes + more, round(self.area, 6)


def _height(spans: tuple[tuple[int, int], ...]) -> int:
    return sum(high - low for low, high in spans)


@dataclass(frozen=True)
class _State:
    """Trees made so far; `roots` need trees, `answers` says which shared nodes are cut as far as that was asked."""

    roots: frozenset[int]
    answers: Mapping[int, bool] = field(default_factory=dict)
    bill: Bill = Bill()

    @property
    def absorbed(self) -> set[int]:
        return {number for number, cut in self.answers.items() if not cut}


@dataclass(frozen=True)
class _Budget:
    """Where a search ends: parts of trees, and nodes looked at."""

    work: int
    steps: int

    def is_spent(self, cover: Cover) -> bool:
        return cover.work >= self.work or cover.steps >= self.steps


def choose(cover: Cover, work: int = WORK, steps: int = STEPS) -> bool:
    """Set which shared nodes are cut; whether no choice is cheaper, which the search may not have found out."""
    budget = _Budget(work, steps)
    descents = []
    scaled = {number for number in cover.shared if factor_of(cover.nodes[number]) is not None}
    for absorbed in ((), scaled) if scaled else ((),):
        cover.cut = cover.roots - set(absorbed)
        descents.append((_descend(cover, budget), cover.cut))
    best, cut = min(descents, key=lambda each: each[0])
    todo = [_State(cover.results)]
    while todo and not budget.is_spent(cover):
        state = todo.pop()
        certain = sum(cover.nodes[number].op in CERTAIN for number in state.roots)
        if state.bill.total(certain) >= best:
            continue
        if not state.roots:
            best, cut = state.bill.total(), cover.roots - state.absorbed
            continue
        cover.cut = cover.roots - state.absorbed
        todo += _next(cover, state)
    cover.cut = cut
    return not todo


def total(cover: Cover) -> Total:
    """What all trees cost as the nodes are cut now."""
    plans = [cover.plan(number) for number in cover.needed()]
    cover.steps += sum(len(plan.reads) for plan in plans)
    return Bill().plus(*plans).total()


def _descend(cover: Cover, budget: _Budget) -> Total:
    """Cut and absorb shared nodes, one by one, until nothing gets better or the budget is spent."""
    best = total(cover)
    better = True
    while better:
        better = False
        for number in sorted(cover.shared):
            if budget.is_spent(cover):
                return best
            cover.cut = cover.cut ^ {number}
            cost = total(cover)
            if cost < best:
                best, better = cost, True
            else:
                cover.cut = cover.cut ^ {number}
    return best


def _next(cover: Cover, state: _State) -> list[_State]:
    """The state with one tree more, or two with the next node cut or absorbed; the one to look at first behind."""
    number = max(state.roots)
    plan, asked = cover.asked_plan(number)
    cover.steps += len(state.roots) + len(state.answers) + len(state.bill.reads)
    for node in asked:
        if node not in state.answers:
            return [replace(state, answers={**state.answers, node: cut}) for cut in (False, True)]
    return [replace(state, roots=state.roots - {number} | plan.inner, bill=state.bill.plus(plan))]
