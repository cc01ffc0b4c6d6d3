"""How far the tree of a node may reach: which nodes of a word graph may be parts of the trees of their users.

A node with several users is one PE, read by all, if it is in `cut`; else it may be part of the trees of its users. Which of
them a tree asks about is written down: the others do not change it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ...ir.dataflow import Operand, Ref, WordGraph, WordNode
from .tree import moved_operand

BITS = ("bit_and", "bit_or", "bit_xor", "bit_not")
SUMS = ("add", "sub", "mul", "shl")
# Operations of users -> of nodes that may be parts of their trees.
ABSORBED = {**dict.fromkeys(SUMS, (*SUMS, "word")), "shr": SUMS, "min": ("min",), "max": ("max", "min"), "word": ("bit_not",),
            **dict.fromkeys(BITS, BITS), "bit_not": (*BITS, "eq", "ne", "lt", "le")}


class Reach:
    """What the trees of nodes may reach into, when the nodes in `cut` are PEs of their own.

    ops: that PEs have.
    """

    def __init__(self, graph: WordGraph, ops: frozenset[str]) -> None:
        self.graph, self.nodes, self.ops = graph, graph.nodes, ops
        self.zero = (0,) * len(graph.dims)
        pairs = [(node.op, each.node) for node in self.nodes for each in node.operands if isinstance(each, Ref)]
        uses = Counter(number for _, number in pairs)
        self.results = frozenset(ref.node for ref in graph.results.values() if self.nodes[ref.node].op != "input")
        self.roots = self.results | {number for number, count in uses.items()
                                     if count > 1 and self.nodes[number].op not in ("input", "lookup")}
        # Nodes with several users of which some may absorb them; those that no user can absorb are PEs in any case.
        self.shared = {number for op, number in pairs
                       if number in self.roots - self.results and self.nodes[number].op in ABSORBED.get(op, ())}
        self.cut = self.roots
        # For each tree that is being made, the shared nodes that it asked about and whether they are cut.
        self.asked: list[dict[int, bool]] = []
        # Nodes and references that were looked at to choose among trees.
        self.steps = 0
        self._seen: dict[Ref, WordNode] = {}

    def is_open(self, operand: Operand, *ops: str) -> bool:
        """Whether an operand may be part of its user's tree, and is one of some operations."""
        if isinstance(operand, int):
            return False
        if operand.node in self.shared and self.asked:
            self.asked[-1][operand.node] = operand.node in self.cut
        op = self.nodes[operand.node].op
        return op != "input" and operand.node not in self.cut and (not ops or op in ops)

    def inside(self, ref: Ref) -> WordNode:
        """The node behind a reference, its operands as the reader sees them."""
        if ref not in self._seen:
            node = self.nodes[ref.node]
            self._seen[ref] = replace(node, operands=tuple(moved_operand(each, ref.offset) for each in node.operands))
        return self._seen[ref]
