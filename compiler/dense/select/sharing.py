"""Which nodes with several users are PEs of their own, and which become part of the trees of all their users.

A descent changes one node after the other until nothing gets cheaper. A search by branch and bound, from the results down,
then finds what is cheaper or that nothing is: a tree's form depends on few of the nodes, so each is asked about when the first
tree that could absorb it is made, and what the trees made so far cost is a bound. It ends when trees of `WORK` parts were made,
after some seconds, which is enough for a proof for all programs of ``apps/dense``.

What is cheapest: PEs, with `ROW_COST` for every row that is kept; then PEs; then the sum of `Op.cost`. A filter whose taps
share the products ``24 in`` and ``30 in`` of several rows would save a PE or two and keep the rows of both products instead of
those of the input.

Needs:   Cover, with every shared node cut.
Gives:   its `cut`, and whether it is proven to be the cheapest.
Source:  branch and bound: Land and Doig, 1960.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from .cover import Cover
from .fold import factor_of
from .tree import Value, leaves

# What a row that is kept costs, in PEs: it takes one of the two read ports of a MEM tile, and there are three PEs for a MEM.
ROW_COST = 1.5
# PEs and operands of all trees that may be made, about 0.1 ms each.
WORK = 40_000
# Nodes that are a PE or more, whatever their trees are; others may be free, as sums that cancel and tests of a sign are.
CERTAIN = ("and", "or", "xor", "abs", "mul_middle", "mul_high", "shr", "select", "word")

Total = tuple[float, int, float]


@dataclass(frozen=True)
class Bill:
    """What trees cost together.

    reads : mapping     Node -> lowest and highest offset at which it is read, in each dimension but x.
    """

    pes: int = 0
    area: float = 0
    reads: Mapping[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    def plus(self, cover: Cover, tree: Value) -> Bill:
        """With one tree more."""
        pes, area = cover.own(tree)
        reads = dict(self.reads)
        for ref in leaves(tree):
            rows = ref.offset[1:]
            known = reads.get(ref.node, tuple(zip(rows, rows)))
            reads[ref.node] = tuple((min(low, row), max(high, row)) for (low, high), row in zip(known, rows))
        return Bill(self.pes + pes, self.area + area, reads)

    def total(self, more: int = 0) -> Total:
        """PEs with rows that are kept, PEs and area; so many PEs more."""
        rows = sum(high - low for spans in self.reads.values() for low, high in spans)
        # Sums of tenths in another order differ in their last digits.
        return self.pes + more + ROW_COST * rows, self.pes + more, round(self.area, 6)


@dataclass(frozen=True)
class _State:
    """Trees made so far; `roots` need trees, `answers` says which shared nodes are cut as far as that was asked."""

    roots: frozenset[int]
    answers: Mapping[int, bool] = field(default_factory=dict)
    bill: Bill = Bill()

    @property
    def absorbed(self) -> set[int]:
        return {number for number, cut in self.answers.items() if not cut}


def choose(cover: Cover, work: int = WORK) -> bool:
    """Set which shared nodes are cut; whether no choice is cheaper, which the search may not have found out."""
    descents = []
    scaled = {number for number in cover.shared if factor_of(cover.nodes[number]) is not None}
    for absorbed in ((), scaled) if scaled else ((),):
        cover.cut = cover.roots - set(absorbed)
        descents.append((_descend(cover, work), cover.cut))
    best, cut = min(descents, key=lambda each: each[0])
    todo = [_State(cover.results)]
    while todo and cover.work < work:
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
    bill = Bill()
    for number in cover.needed():
        bill = bill.plus(cover, cover.plan(number)[0])
    return bill.total()


def _descend(cover: Cover, work: int) -> Total:
    """Cut and absorb shared nodes, one by one, until nothing gets better or too much work was done."""
    best = total(cover)
    better = True
    while better:
        better = False
        for number in sorted(cover.shared):
            if cover.work >= work:
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
    tree, asked = cover.asked_plan(number)
    for node in asked:
        if node not in state.answers:
            return [replace(state, answers={**state.answers, node: cut}) for cut in (False, True)]
    return [replace(state, roots=state.roots - {number} | cover.inner(tree), bill=state.bill.plus(cover, tree))]
