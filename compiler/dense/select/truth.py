"""Trees of PEs for flags: 3-input truth tables of other flags, and comparisons; a negated one by the opposite condition.

Cost:    at most `CUTS` ** 2 tables for a flag.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from ...ir.dataflow import Operand, Ref, WordNode
from .flags import NEGATED, SWAPPED
from .fold import CONDITION, meaning
from .reach import BITS, Reach
from .tree import Pe, Value, pe

# Sets of flags that are kept for every flag in a tree, so that there are no more of them than that squared to look at.
CUTS = 16
# Flags of flags that are looked into for a flag, so that its truth is not asked for without end; behind them it is made of PEs.
NESTED = 64
# For each of three flags, the codes in which it is 1; all codes.
CODES, ALL_CODES = (0xAA, 0xCC, 0xF0), 0xFF


def comparison(node: WordNode, negate: bool = False) -> Pe:
    """The PE of a comparison, or of its opposite."""
    a, b = node.operands
    cond = CONDITION[node.op, node.signed]
    if isinstance(a, int):
        a, b, cond = b, a, SWAPPED[cond]
    return pe("sbc", a=a, b=b, d=1, cond=NEGATED[cond] if negate else cond)


def flag_trees(reach: Reach, root: Ref) -> Iterator[Value]:
    """Truth tables for a flag; the opposite comparison."""
    node = reach.inside(root)
    compared = node.operands[0]
    if node.op == "bit_not" and isinstance(compared, Ref) and reach.is_open(compared, "eq", "ne", "lt", "le"):
        yield comparison(reach.inside(compared), negate=True)
    for inputs in sorted(_cuts(reach, root), key=_flags_order):
        refs = sorted(inputs, key=lambda ref: (ref.node, ref.offset))
        table = _truth(reach, root, dict(zip(refs, CODES)))
        yield Pe("or", (("a", 0), ("b", 0), *zip("def", refs)), cond="lut", lut=table)


def _cuts(reach: Reach, root: Ref) -> set[frozenset[Ref]]:
    """Sets of up to three flags that a flag is a function of."""
    known: dict[Ref, set[frozenset[Ref]]] = {}
    inner: list[Ref] = []
    todo: list[Operand] = [root]
    while todo:
        each = todo.pop()
        assert isinstance(each, Ref), "constants are folded"
        if each not in known:
            known[each] = {frozenset((each,))}
            if each == root or (len(inner) < NESTED and reach.is_open(each, *BITS)):
                inner.append(each)
                todo += reversed(reach.inside(each).operands)
    for ref in sorted(inner, key=lambda each: each.node):
        below = [known[each] for each in reach.inside(ref).operands if isinstance(each, Ref)]
        found = {cut for chosen in product(*below) if len(cut := frozenset().union(*chosen)) <= 3}
        if ref == root:
            return found
        known[ref] |= set(sorted(found, key=_flags_order)[:CUTS])
    raise AssertionError("the root is the last of its own tree")


def _truth(reach: Reach, ref: Operand, values: dict[Ref, int]) -> int:
    """A flag as a function of others, each given for every code of them: bit n is its value for code n."""
    assert isinstance(ref, Ref), "constants are folded"
    if ref not in values:
        node = reach.inside(ref)
        below = [_truth(reach, each, values) for each in node.operands]
        values[ref] = ALL_CODES - below[0] if node.op == "bit_not" else meaning(node.op, tuple(below), False)
    return values[ref]


def _flags_order(refs: Iterable[Ref]) -> list[tuple[int, tuple[int, ...]]]:
    return sorted((ref.node, ref.offset) for ref in refs)
