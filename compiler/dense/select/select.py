"""Cover a word graph with the operations of the PE.

    blur(x) = (in(x) * 3 + in(x + 1) + in(x + 2)) >> 2:    0 in    1 mul @0, 3    2 add @1, @0+(1,)    3 add @2, @0+(2,)
    4 shr @3, 2   =>   0 in    1 muladd @0, 3, @0+(1,)    2 adc @1, @0+(2,), 0    3 shr @2, 2

First the graph is simplified (`fold`), then covered (`cover`), then comparisons share PEs with words (`flags`). Nothing in
the operation table adds and then shifts, so the shift at the end of a filter is a PE of its own.

Needs:   WordGraph.
Gives:   PeGraph; inputs that no result needs are gone.
Source:  Onyx JSSC V-A (fused operations).
"""

from __future__ import annotations

from dataclasses import dataclass

from ....hw.arch.op import BY_NAME, CONDITION_CODES, OPS, Op, predicate
from ...ir.dataflow import Operand, Ref, WordGraph
from ...ir.mapped import check_operations
from ...ir.pe_graph import PeGraph, PeNode, operations, picked, verify_pes
from .cover import Cover
from .flags import share_flags
from .fold import fold
from .sharing import STEPS, WORK, choose
from .tree import Pe, Value, inside_out, moved_operand


@dataclass(frozen=True)
class Selection:
    """A graph of PEs; `proven`: no other choice of what is shared takes fewer, else it is the best that was found."""

    pes: PeGraph
    proven: bool

    @property
    def text(self) -> str:
        """For reports."""
        return "no choice of shared values takes fewer PEs" if self.proven else \
            f"the best choice of shared values found within {WORK} parts of trees and {STEPS} steps; there may be better ones"


def select(graph: WordGraph, ops: tuple[Op, ...] = OPS, factor: bool = True) -> PeGraph:
    """The graph of PEs alone, see `selected`."""
    return selected(graph, ops, factor).pes


def selected(graph: WordGraph, ops: tuple[Op, ...] = OPS, factor: bool = True) -> Selection:
    """The graph of PEs that have the operations `ops`; UserError if it needs another one.

    Operations with three 16-bit operands are used where PEs have them; those with two have to be there if the graph needs them.

    `factor`: add terms with one constant factor before multiplying, ``3 a + 3 b + 3 c = 3 (a + b + c)``; else every product
    is a PE.
    """
    names = frozenset(op.name for op in ops)
    cover = Cover(fold(graph, names), names, factor)
    proven = choose(cover)
    found = share_flags(_emit(cover), names)
    check_operations(operations(found), ops)
    return Selection(verify_pes(found, ops), proven)


def _emit(cover: Cover) -> PeGraph:
    """The chosen trees as one graph; PEs that are equal but for their place are one."""
    graph = cover.graph
    emitter = _Emitter(cover.zero)
    for number, node in enumerate(graph.nodes):
        if node.op == "input":
            emitter.found[number] = emitter.add(PeNode("input", name=node.name))
    for number in cover.needed():
        emitter.found[number] = emitter.value(cover.plan(number).tree)
    results: dict[str, Ref] = {}
    for name, ref in graph.results.items():
        result = emitter.value(ref)
        results[name] = result if isinstance(result, Ref) else emitter.add(PeNode("or", {"a": result, "b": 0}))
    return _reachable(PeGraph(graph.dims, tuple(emitter.nodes), graph.inputs, results, graph.outputs))


class _Emitter:
    """Collects PEs; `found` says where the value of a word node is."""

    def __init__(self, zero: tuple[int, ...]) -> None:
        self.zero = zero
        self.nodes: list[PeNode] = []
        self.found: dict[int, Operand] = {}
        self.known: dict[object, tuple[int, tuple[int, ...]]] = {}

    def value(self, value: Value) -> Operand:
        """Where the value of a tree is, or what it is."""
        done: dict[int, Operand] = {}
        for each in inside_out(value):
            if isinstance(each, Pe):
                done[id(each)] = self._made(each, {port: done[id(operand)] for port, operand in each.operands})
            else:
                done[id(each)] = each if isinstance(each, int) else moved_operand(self.found[each.node], each.offset)
        return done[id(value)]

    def _made(self, value: Pe, operands: dict[str, Operand]) -> Operand:
        """Where the value of a PE is, given where its operands are."""
        constants = {port: each for port, each in operands.items() if isinstance(each, int)}
        if len(constants) == len(operands) and any(not isinstance(each, int) for _, each in value.operands):
            # Sums below came down to constants.
            return _computed(value, constants)
        return self.add(PeNode(value.op, operands, value.signed, value.cond, value.lut, table=value.table))

    def add(self, node: PeNode) -> Ref:
        """The PE or an equal one; flags cannot wait, so only words are taken from PEs elsewhere."""
        first = next((each for _, each in node.refs()), None)
        anchor = self.zero if first is None or node.cond else first.offset
        back = tuple(-o for o in anchor)
        assert not list(node.kept()), "words have no operands of earlier points"
        places = {port: moved_operand(each, back) for port, each in node.operands.items() if isinstance(each, Ref | int)}
        key = node.op, node.signed, node.cond, node.lut, node.name, node.table, tuple(places.items())
        number, at = self.known.setdefault(key, (len(self.nodes), anchor))
        if number == len(self.nodes):
            self.nodes.append(node)
        return Ref(number, tuple(o - by for o, by in zip(anchor, at)), "p" if node.cond else "res")


def _computed(value: Pe, operands: dict[str, int]) -> int:
    """What a PE gives for constants."""
    if value.op == "lookup":
        return value.table[operands["a"]]
    a, b, c, d, e, f = (operands.get(port, 0) for port in "abcdef")
    if value.cond:
        return int(predicate(BY_NAME[value.op], CONDITION_CODES[value.cond], value.lut, a, b, c, d, e, f, value.signed))
    return int(BY_NAME[value.op](a, b, c, d, value.signed))


def _reachable(graph: PeGraph) -> PeGraph:
    """Without what no result needs."""
    needed = {ref.node for ref in graph.results.values()}
    for number in reversed(range(len(graph.nodes))):
        if number in needed:
            needed |= {ref.node for _, ref in graph.nodes[number].refs()}
    return picked(graph, sorted(needed))
