"""Simplify a word graph: constants, identities, equal nodes, forms that one PE has.

    0 in    1 mul @0, 2    2 mul 3, 4    3 mul @0+(1,), 2    4 add @1, @2    5 min @4, 65535    6 sub @5, @3
 => 0 in    1 mul @0, 2                                      2 add @1, 12                       3 sub @2, @1+(1,)

A node that equals another but for its place is the other, read at an offset. Flags are the exception, since no register
file holds them: a flag is read at its own point, and one that is wanted at other points is computed there too.

Needs:   WordGraph.
Gives:   WordGraph with the same results; constants stand behind where order does not matter; no node has constants alone,
         but for results (``or K, 0``; flags: ``bit_or K, 0``).
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace

from ....hw.arch.op import BY_NAME, CONDITION_CODES, WORD, predicate
from ...ir.dataflow import WORD_OPS, Operand, Ref, WordGraph, WordNode

TOP = WORD - 1
COMMUTE = ("add", "mul", "mul_middle", "mul_high", "and", "or", "xor", "min", "max", "eq", "ne", "bit_and", "bit_or", "bit_xor")
SIGNED = ("mul_middle", "mul_high", "shr", "min", "max", "lt", "le")
FLAGS = frozenset(op for op, (_, kind) in WORD_OPS.items() if kind == "b")
# (comparison, signed) -> condition of the difference a - b.
CONDITION = {("eq", False): "eq", ("eq", True): "eq", ("ne", False): "ne", ("ne", True): "ne",
             ("lt", False): "ult", ("lt", True): "slt", ("le", False): "ule", ("le", True): "sle"}


def extremes(signed: bool) -> tuple[int, int]:
    """The words of the smallest and the largest number."""
    return (WORD // 2, WORD // 2 - 1) if signed else (0, TOP)


def _pe(name: str) -> Callable[..., int]:
    op = BY_NAME[name]
    return lambda a, b=0, *, signed=False: int(op(a, b, signed=signed))


_MEANING: dict[str, Callable[..., int]] = {
    "add": _pe("adc"), "sub": lambda a, b, signed: (a - b) % WORD, "mul": _pe("mult0"), "mul_middle": _pe("mult1"),
    "mul_high": _pe("mult2"), "shl": _pe("shl"), "shr": _pe("shr"), "and": _pe("and"), "or": _pe("or"), "xor": _pe("xor"),
    "abs": _pe("abs"), "select": lambda flag, a, b, signed: a if flag else b, "word": lambda flag, signed: flag,
    "min": lambda a, b, signed: BY_NAME["crop"](a, b, extremes(signed)[0], signed=signed),
    "max": lambda a, b, signed: BY_NAME["crop"](a, extremes(signed)[1], b, signed=signed),
    "bit_and": lambda a, b, signed: a & b, "bit_or": lambda a, b, signed: a | b, "bit_xor": lambda a, b, signed: a ^ b,
    "bit_not": lambda a, signed: 1 - a,
}


def meaning(op: str, values: tuple[int, ...], signed: bool, table: tuple[int, ...] = ()) -> int:
    """What a word operation gives for numbers."""
    if op == "lookup":
        return table[values[0]]
    if (op, signed) in CONDITION:
        a, b = values
        return int(predicate(BY_NAME["sbc"], CONDITION_CODES[CONDITION[op, signed]], 0, a, b, 0, 1, 0, 0, signed))
    return _MEANING[op](*values, signed=signed)


def factor_of(node: WordNode) -> int | None:
    """The constant that a product or shift left multiplies its first operand with."""
    if node.op not in ("mul", "shl") or not isinstance(node.operands[1], int):
        return None
    return node.operands[1] if node.op == "mul" else 1 << min(node.operands[1], 16)


def fold(graph: WordGraph, ops: Container[str] = BY_NAME) -> WordGraph:
    """The simplified graph, for PEs with the operations `ops`: selects become the min, max and clamp that `crop` computes."""
    folder = _Folder(graph, ops)
    for node in graph.nodes:
        folder.found.append(folder.node(replace(node, operands=tuple(map(folder.operand, node.operands)))))
    results = {name: folder.result(ref) for name, ref in graph.results.items()}
    return _reachable(replace(graph, nodes=tuple(folder.nodes), results=results))


def _reachable(graph: WordGraph) -> WordGraph:
    """Without the nodes and inputs that no result needs."""
    needed = {ref.node for ref in graph.results.values()}
    for number in reversed(range(len(graph.nodes))):
        if number in needed:
            needed |= {each.node for each in graph.nodes[number].operands if isinstance(each, Ref)}
    place = {old: new for new, old in enumerate(sorted(needed))}

    def renumbered(operand: Operand) -> Operand:
        return replace(operand, node=place[operand.node]) if isinstance(operand, Ref) else operand

    nodes = tuple(replace(graph.nodes[old], operands=tuple(map(renumbered, graph.nodes[old].operands))) for old in place)
    names = {node.name for node in nodes if node.op == "input"}
    return replace(graph, nodes=nodes, inputs={name: each for name, each in graph.inputs.items() if name in names},
                   results={name: replace(ref, node=place[ref.node]) for name, ref in graph.results.items()})


class _Folder:
    """Collects nodes; `found` says what became of the old ones."""

    def __init__(self, graph: WordGraph, ops: Container[str]) -> None:
        self.graph, self.has_crop = graph, "crop" in ops
        self.zero = (0,) * len(graph.dims)
        self.nodes: list[WordNode] = []
        self.found: list[Operand] = []
        self.known: dict[WordNode, tuple[int, tuple[int, ...]]] = {}
        # Flags and offsets -> what the flag is there.
        self.elsewhere: dict[tuple[int, tuple[int, ...]], Operand] = {}

    def operand(self, operand: Operand) -> Operand:
        """An operand of an old node, in terms of the new ones."""
        return operand if isinstance(operand, int) else self.moved(self.found[operand.node], operand.offset)

    def moved(self, operand: Operand, offset: tuple[int, ...]) -> Operand:
        """An operand at another point."""
        if isinstance(operand, int) or not any(offset):
            return operand
        if self.nodes[operand.node].op not in FLAGS:
            return replace(operand, offset=tuple(o + by for o, by in zip(operand.offset, offset)))
        for number in self._flags_behind(operand.node, offset):
            node = self.nodes[number]
            self.elsewhere[number, offset] = self.node(replace(node, operands=tuple(
                self.elsewhere[each.node, offset] if isinstance(each, Ref) and self.nodes[each.node].op in FLAGS
                else self.moved(each, offset) for each in node.operands)))
        return self.elsewhere[operand.node, offset]

    def _flags_behind(self, flag: int, offset: tuple[int, ...]) -> list[int]:
        """A flag and those that it is made of, these first, without what is known elsewhere."""
        found, todo = set[int](), [flag]
        while todo:
            number = todo.pop()
            if number in found or (number, offset) in self.elsewhere:
                continue
            found.add(number)
            todo += [each.node for each in self.nodes[number].operands if isinstance(each, Ref)
                     and self.nodes[each.node].op in FLAGS]
        return sorted(found)

    def result(self, ref: Ref) -> Ref:
        """A result of the graph; a constant one becomes a node."""
        operand = self.operand(ref)
        if isinstance(operand, Ref):
            return operand
        return self._add(WordNode("bit_or" if self.graph.nodes[ref.node].op in FLAGS else "or", (operand, 0)))

    def node(self, node: WordNode) -> Operand:
        """A new node, or what it comes down to; its operands are new ones."""
        if node.op == "input":
            return self._add(node)
        if all(isinstance(each, int) for each in node.operands):
            return meaning(node.op, tuple(each for each in node.operands if isinstance(each, int)), node.signed, node.table)
        if node.op in COMMUTE:
            node = replace(node, operands=tuple(sorted(
                node.operands, key=lambda each: (1, each, ()) if isinstance(each, int) else (0, each.node, each.offset))))
        node = replace(node, signed=node.signed and node.op in SIGNED)
        simpler = self._simpler(node)
        return self._add(node) if simpler is None else simpler

    def _add(self, node: WordNode) -> Ref:
        """The node or an equal one."""
        first = next((each for each in node.operands if isinstance(each, Ref)), None)
        anchor = self.zero if first is None or node.op in FLAGS else first.offset
        key = replace(node, name=node.name if node.op == "input" else "", operands=tuple(
            replace(each, offset=tuple(o - by for o, by in zip(each.offset, anchor))) if isinstance(each, Ref) else each
            for each in node.operands))
        number, at = self.known.setdefault(key, (len(self.nodes), anchor))
        if number == len(self.nodes):
            self.nodes.append(node)
        return Ref(number, tuple(o - by for o, by in zip(anchor, at)))

    def _at(self, operand: Operand, *ops: str) -> WordNode | None:
        """The node behind an operand, its operands moved to the point of the reader, if it is one of some operations."""
        if isinstance(operand, int) or self.nodes[operand.node].op not in ops:
            return None
        node = self.nodes[operand.node]
        return replace(node, operands=tuple(self.moved(each, operand.offset) for each in node.operands))

    def _simpler(self, node: WordNode) -> Operand | None:
        """What a node comes down to; None if it stays."""
        if node.op == "select":
            return self._select(node)
        if node.op in ("min", "max"):
            return self._extreme(node)
        if node.op in ("eq", "ne", "lt", "le"):
            return self._comparison(node)
        if node.op.startswith("bit_"):
            return self._bits(node)
        simpler = self._arithmetic(node) if len(node.operands) == 2 else None
        if simpler is None and node.op == "shr":
            return self._shift(node)
        return self._scaled(node) if simpler is None and node.op in ("mul", "shl") else simpler

    def _scaled(self, node: WordNode) -> Operand | None:
        """A constant factor of a constant factor is one; a power of two is a shift."""
        a, factor = node.operands[0], factor_of(node)
        if factor is None:
            return None
        inner = self._at(a, "mul", "shl")
        more = factor_of(inner) if inner else None
        if inner and more is not None:
            return self.node(WordNode("mul", (inner.operands[0], factor * more % WORD)))
        if node.op == "mul" and factor & factor - 1 == 0:
            return self.node(WordNode("shl", (a, factor.bit_length() - 1)))
        return None

    def _shift(self, node: WordNode) -> Operand | None:
        a, b = node.operands
        inner = self._at(a, "shr")
        if not inner or not isinstance(b, int) or not isinstance(inner.operands[1], int):
            return None
        if inner.signed and not node.signed:
            return None
        # Unsigned, a shifted word is no longer negative.
        return self.node(replace(inner, operands=(inner.operands[0], min(16, inner.operands[1] + b))))

    def _arithmetic(self, node: WordNode) -> Operand | None:
        op, (a, b) = node.op, node.operands
        if a == b and op in ("sub", "xor", "and", "or"):
            return 0 if op in ("sub", "xor") else a
        if b == 0:
            return 0 if op in ("mul", "mul_middle", "mul_high", "and") else a
        if a == 0 and op in ("shl", "shr"):
            return 0
        if (op, b) in (("and", TOP), ("mul", 1)):
            return a
        if op == "or" and b == TOP:
            return TOP
        if isinstance(b, int) and b >= 16 and (op == "shl" or (op == "shr" and not node.signed)):
            return 0
        return None

    def _extreme(self, node: WordNode) -> Operand | None:
        a, b = node.operands
        low, high = extremes(node.signed) if node.op == "min" else extremes(node.signed)[::-1]
        if a == b or b == high:
            return a
        if b == low:
            return low
        inner = self._at(a, "max")
        if self.has_crop and node.op == "min" and isinstance(b, int) and inner and inner.signed == node.signed:
            x, least = inner.operands
            if isinstance(least, int) and meaning("le", (least, b), node.signed):
                # The other order of a clamp is what the PE has.
                return self.node(WordNode("max", (self.node(WordNode("min", (x, b), node.signed)), least), node.signed))
        return None

    def _select(self, node: WordNode) -> Operand | None:
        flag, a, b = node.operands
        if isinstance(flag, int):
            return a if flag else b
        if a == b:
            return a
        if (a, b) == (1, 0):
            return self.node(WordNode("word", (flag,)))
        inner = self._at(flag, "bit_not")
        if inner:
            return self.node(WordNode("select", (inner.operands[0], b, a)))
        compare = self._at(flag, "lt", "le")
        if self.has_crop and compare and set(compare.operands) == {a, b}:
            return self.node(WordNode("min" if compare.operands[0] == a else "max", (a, b), compare.signed))
        return None

    def _comparison(self, node: WordNode) -> Operand | None:
        op, (a, b), signed = node.op, node.operands, node.signed
        low, high = extremes(signed)
        if a == b:
            return int(op in ("eq", "le"))
        if (op == "lt" and (b == low or a == high)) or (op == "le" and (a == low or b == high)):
            return int(op == "le")
        inner = self._at(a, "word")
        if inner and op in ("eq", "ne") and b in (0, 1):
            return inner.operands[0] if (op == "eq") == (b == 1) else self.node(WordNode("bit_not", inner.operands))
        # Comparisons with 0 are the ones that PEs make of their own results.
        if op == "lt" and b == 1:
            return self.node(WordNode("le", (a, 0), signed))
        if op == "le" and a == 1:
            return self.node(WordNode("lt", (0, b), signed))
        if signed and (op, b) == ("le", TOP):
            return self.node(WordNode("lt", (a, 0), True))
        if signed and (op, a) == ("lt", TOP):
            return self.node(WordNode("le", (0, b), True))
        if not signed and (op, a) == ("lt", 0):
            return self.node(WordNode("ne", (b, 0)))
        if not signed and (op, b) == ("le", 0):
            return self.node(WordNode("eq", (a, 0)))
        return None

    def _bits(self, node: WordNode) -> Operand | None:
        if node.op == "bit_not":
            inner = self._at(node.operands[0], "bit_not")
            return inner.operands[0] if inner else None
        op, (a, b) = node.op, node.operands
        if a == b:
            return 0 if op == "bit_xor" else a
        if isinstance(b, int):
            if (op, b) == ("bit_xor", 1):
                return self.node(WordNode("bit_not", (a,)))
            return b if (op, b) in (("bit_and", 0), ("bit_or", 1)) else a
        return None
