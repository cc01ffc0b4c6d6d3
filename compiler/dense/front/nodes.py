"""Nodes of a word graph as they are made: equal up to translation is the same.

A node's first reference (constants do not count; operands of a commutative operation are ordered first) has offset 0; the
shift is with who uses the node.

    add in@1, in@3  and  add in@2, in@0   ->   one node add in@0, in@2, used at 1 and at 0

Operations on constants alone, and those that give back an operand, make no node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...ir.dataflow import Operand, Ref, WordNode

COMMUTATIVE = ("add", "mul", "mul_middle", "mul_high", "and", "or", "xor", "min", "max", "eq", "ne", "bit_and", "bit_or",
               "bit_xor")
WORD = 1 << 16


def integer(word: int, signed: bool) -> int:
    """What a word stands for."""
    return word - WORD if signed and word >= WORD // 2 else word


# Meaning on constants: of operations that read low bits only, and of those that read integers.
LOW_BITS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "shl": lambda a, b: a << min(b, 16),
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "eq": lambda a, b: int(a == b), "ne": lambda a, b: int(a != b),
    "bit_and": lambda a, b: a & b, "bit_or": lambda a, b: a | b, "bit_xor": lambda a, b: a ^ b,
}
INTEGERS: dict[str, Callable[[int, int], int]] = {
    "mul_middle": lambda a, b: a * b >> 8, "mul_high": lambda a, b: a * b >> 16,
    "min": min, "max": max, "lt": lambda a, b: int(a < b), "le": lambda a, b: int(a <= b),
}
# Operation -> the constant on the right that leaves the left operand, and the one that is the result.
NEUTRAL = {"add": 0, "sub": 0, "shl": 0, "shr": 0, "or": 0, "xor": 0, "mul": 1, "and": WORD - 1, "bit_or": 0, "bit_xor": 0,
           "bit_and": 1}
ABSORBING = {"mul": 0, "and": 0, "bit_and": 0, "bit_or": 1, "or": WORD - 1}


def fold(op: str, values: tuple[int, ...], signed: bool, table: tuple[int, ...]) -> int:
    """An operation on constants."""
    if op in LOW_BITS:
        return LOW_BITS[op](values[0], values[1]) % WORD
    if op in INTEGERS:
        return INTEGERS[op](integer(values[0], signed), integer(values[1], signed)) % WORD
    if op == "shr":
        return integer(values[0], signed) >> min(values[1], 16) & WORD - 1
    if op == "abs":
        return abs(integer(values[0], True))
    if op == "select":
        return values[1] if values[0] else values[2]
    return {"bit_not": 1 - values[0], "word": values[0]}[op] if op != "lookup" else table[values[0]]


def moved(operand: Operand, by: tuple[int, ...], sign: int = 1) -> Operand:
    """An operand seen from a point further by `by` (or, with sign -1, before it)."""
    if isinstance(operand, int):
        return operand
    return replace(operand, offset=tuple(a + sign * b for a, b in zip(operand.offset, by, strict=True)))


class Nodes:
    """Nodes in the order in which they were made; every operand exists before its user."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.made: list[WordNode] = []
        self._known: dict[WordNode, int] = {}

    def source(self, name: str) -> Ref:
        """The input `name`."""
        return self._node(WordNode("input", name=name))

    def make(self, op: str, *operands: Operand, signed: bool = False, table: tuple[int, ...] = ()) -> Operand:
        """An operation, with operands in the order of `WORD_OPS`."""
        if op in COMMUTATIVE:
            operands = tuple(sorted(operands, key=_order))
        constants = tuple(each for each in operands if isinstance(each, int))
        if len(constants) == len(operands):
            return fold(op, constants, signed, table)
        if op == "select" and (isinstance(operands[0], int) or operands[1] == operands[2]):
            return operands[1] if operands[0] else operands[2]
        if constants and op in NEUTRAL and operands[-1] == NEUTRAL[op]:
            return operands[0]
        if constants and op in ABSORBING and operands[-1] == ABSORBING[op]:
            return operands[-1]
        first = next(each.offset for each in operands if isinstance(each, Ref))
        node = WordNode(op, tuple(moved(each, first, -1) for each in operands), signed, table=table)
        return replace(self._node(node), offset=first)

    def _node(self, node: WordNode) -> Ref:
        if node not in self._known:
            self._known[node] = len(self.made)
            self.made.append(node)
        return Ref(self._known[node], (0,) * self.rank)


def _order(operand: Operand) -> tuple[bool, int, tuple[int, ...]]:
    """References before constants, by node, then by place: the same order wherever the operation stands."""
    return (False, operand.node, operand.offset) if isinstance(operand, Ref) else (True, operand, ())


def reachable(nodes: list[WordNode], results: dict[str, Ref]) -> tuple[tuple[WordNode, ...], dict[str, Ref]]:
    """The nodes that results need, numbered anew."""
    needed = {ref.node for ref in results.values()}
    for number in reversed(range(len(nodes))):
        if number in needed:
            needed |= {each.node for each in nodes[number].operands if isinstance(each, Ref)}
    kept = sorted(needed)
    place = {old: new for new, old in enumerate(kept)}

    def renumbered(operand: Operand) -> Operand:
        return replace(operand, node=place[operand.node]) if isinstance(operand, Ref) else operand

    graph = tuple(replace(nodes[old], operands=tuple(map(renumbered, nodes[old].operands))) for old in kept)
    return graph, {name: replace(ref, node=place[ref.node]) for name, ref in results.items()}
