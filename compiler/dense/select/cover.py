"""Trees of PE operations that compute the nodes of a word graph.

A tree of single-use nodes is covered with the fewest PEs of the pattern set, of those the least sum of `Op.cost`:
sums and products of any shape as chains (`linear`), products that are shifted (mulshr), minima and maxima (`extremes`), flags
by truth tables (`truth`). How far a tree may reach is said by `reach`, and chosen by `sharing`.

Needs:   WordGraph from `fold`.
Gives:   for every node that needs PEs of its own, a `Pe` tree.
Cost:    one covering of a node for each combination of answers about the nodes with several users around it; at most
         2 ** `linear.CHOICES` trees for a sum and `truth.CUTS` ** 2 for a flag. What is spent is counted, see `sharing`.
Source:  tree covering by dynamic programming: Aho and Johnson, 1976.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ....hw.arch.op import BY_NAME
from ...ir.dataflow import Ref, WordGraph, WordNode
from .extremes import extreme
from .fold import CONDITION, FLAGS, factor_of
from .linear import Linear
from .reach import SUMS, Reach
from .sums import Cost
from .tree import Pe, Value, leaves, moved, parts, pe
from .truth import comparison, flag_trees

SAME = {"and": "and", "or": "or", "xor": "xor", "abs": "abs", "mul_middle": "mult1", "mul_high": "mult2",
        "shl": "shl", "shr": "shr", "lookup": "lookup"}
# Plans that are made within each other at most.
DEPTH = 50


class Plan(NamedTuple):
    """The best tree of a node.

    cost : pair         PEs and area, with those of all nodes that it needs up to shared ones.
    own : pair          The same of the tree alone.
    reads : tuple       The references in it.
    inner : frozenset   The nodes that these are to, but for inputs.
    """

    tree: Value
    cost: Cost
    own: Cost
    reads: tuple[Ref, ...]
    inner: frozenset[int]


class Cover(Reach):
    """How every node would be computed as the root of a tree of PEs, when the nodes in `cut` are PEs of their own."""

    def __init__(self, graph: WordGraph, ops: frozenset[str], factor: bool) -> None:
        super().__init__(graph, ops)
        # A node and whether the shared nodes that were asked about are cut -> the next one to ask about, or the plan.
        self.found: dict[tuple[int, ...], int | Plan] = {}
        self.first = self._first()
        self.linear = Linear(self, factor, self.cost, lambda number: self.plan(number).cost)
        # PEs and operands of all trees that were made.
        self.work = 0

    def _first(self) -> list[int]:
        """Nodes whose plans are made before those of others: all that are never part of a tree, and one in `DEPTH` of a chain
        of others, because a plan makes those of the nodes before it, one within the other."""
        found, depth = [], [0] * len(self.nodes)
        for number, node in enumerate(self.nodes):
            # Sums of sums and extremes of extremes are taken apart in one go.
            below = max((depth[each.node] + (not self._is_flat(node, self.nodes[each.node]))
                         for each in node.operands if isinstance(each, Ref)), default=0)
            alone = node.op not in ("input", *SUMS, "min", "max", *FLAGS)
            if alone or below == DEPTH:
                found.append(number)
            else:
                depth[number] = below
        return found

    def _is_flat(self, user: WordNode, node: WordNode) -> bool:
        """Whether the trees of a node are made without the plan of its operand, if that may be part of them."""
        if user.op in ("min", "max"):
            return "crop" in self.ops and user.op == node.op and user.signed == node.signed
        return all(each.op in ("add", "sub") or factor_of(each) is not None for each in (user, node))

    def needed(self) -> list[int]:
        """The roots of trees, in topological order."""
        self._prepare()
        roots = set(self.results)
        for number in reversed(range(len(self.nodes))):
            if number in roots:
                roots |= self.plan(number).inner
        return sorted(roots)

    def asked_plan(self, number: int) -> tuple[Plan, list[int]]:
        """The best tree of a node, and the shared nodes that it depends on, in the order in which they are asked about."""
        self._prepare()
        self.asked.append({})
        plan = self.plan(number)
        return plan, list(self.asked.pop())

    def _prepare(self) -> None:
        """Make the plans of nodes in their order, or a plan might have to make those of all nodes before it, recursively."""
        for number in self.first:
            self.plan(number)

    def plan(self, number: int) -> Plan:
        """The best tree of a node, read at its own point."""
        self.steps += 1
        path: tuple[int, ...] = (number,)
        asked: dict[int, bool] = {}
        while isinstance(known := self.found.get(path), int):
            asked[known] = known in self.cut
            path += (asked[known],)
        if known is None:
            self.asked.append(asked := {})
            tree, cost = min(((each, self.cost(each)) for each in self._counted(self._trees(number))), key=lambda each: each[1])
            self.asked.pop()
            reads = tuple(leaves(tree))
            known = Plan(tree, cost, self.own(tree), reads,
                         frozenset(ref.node for ref in reads if self.nodes[ref.node].op != "input"))
            path = (number,)
            for node, answer in asked.items():
                self.found[path] = node
                path += (answer,)
            self.found[path] = known
        if self.asked:
            self.asked[-1].update(asked)
        return known

    def _counted(self, trees: Iterable[Value]) -> Iterator[Value]:
        for tree in trees:
            self.work += sum(1 for _ in parts(tree))
            yield tree

    def own(self, value: Value) -> Cost:
        """PEs and area of a tree, without its leaves."""
        pes = [each for each in parts(value) if isinstance(each, Pe) and each.op != "lookup" and not self._is_test(each)]
        return len(pes), sum(BY_NAME[each.op].cost for each in pes)

    def cost(self, value: Value) -> Cost:
        """PEs and area of a tree, with those of its leaves that nobody else uses."""
        pes, area = self.own(value)
        for ref in leaves(value):
            if self.is_open(ref):
                more, larger = self.plan(ref.node).cost
                pes, area = pes + more, area + larger
        return pes, area

    def _is_test(self, value: Pe) -> bool:
        """Whether a comparison with 0 is left to the PE that computes the word."""
        if value.op != "sbc" or not value.cond or value["b"] != 0:
            return False
        word = value["a"]
        return isinstance(word, Pe) or (isinstance(word, Ref) and self.nodes[word.node].op not in ("input", "lookup"))

    def _trees(self, number: int) -> Iterator[Value]:
        """Trees to choose from."""
        node = self.nodes[number]
        operands, signed = node.operands, node.signed
        if all(isinstance(each, int) for each in operands):
            flag = node.op in FLAGS
            assert isinstance(operands[0], int), "the result is a constant"
            yield (pe("or", a=0, b=0, cond="lut", lut=0xFF * operands[0]) if flag else pe("or", a=operands[0], b=0))
        elif node.op in ("add", "sub", "mul") or (node.op == "shl" and isinstance(operands[1], int)):
            yield from self.linear.trees(number)
        elif node.op in ("min", "max"):
            yield extreme(self, Ref(number, self.zero))
        elif node.op == "select":
            yield pe("sel", a=operands[1], b=operands[2], d=operands[0])
        elif node.op == "word":
            flag_ref = operands[0]
            if isinstance(flag_ref, Ref) and self.is_open(flag_ref, "bit_not"):
                yield pe("sel", a=0, b=1, d=self.inside(flag_ref).operands[0])
            else:
                yield pe("sel", a=1, b=0, d=flag_ref)
        elif (node.op, signed) in CONDITION:
            yield comparison(node)
        elif node.op in FLAGS:
            yield from flag_trees(self, Ref(number, self.zero))
        else:
            if node.op == "shr" and "mulshr" in self.ops:
                yield from self._shifted_products(node)
            yield Pe(SAME[node.op], tuple(zip("ab", operands)), signed, table=node.table)

    def _shifted_products(self, node: WordNode) -> Iterator[Value]:
        """Shifts right of what a multiplication or shift left gives."""
        word, by = node.operands
        if not isinstance(word, Ref) or not self.is_open(word, *SUMS):
            return
        for tree in self._trees(word.node):
            if isinstance(tree, Pe) and tree.op in ("mult0", "shl"):
                tree = moved(tree, word.offset)
                assert isinstance(tree, Pe), "moving keeps the form"
                factor = tree["b"]
                if tree.op == "shl":
                    if not isinstance(factor, int):
                        continue
                    factor = 1 << factor
                yield pe("mulshr", signed=node.signed, a=tree["a"], b=factor, c=by)
