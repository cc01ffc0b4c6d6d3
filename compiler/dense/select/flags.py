"""Let comparisons share PEs with words, and keep flags in step.

A PE gives a word and a flag. A comparison with 0 is a condition of the PE that computes the word; a difference and the
comparison of the same words are one PE:

    2 muladd @0, @0, @1    3 sbc @2, 0, 1 slt    4 sel @1, 0, @3.p  =>  2 muladd @0, @0, @1 negative    3 sel @1, 0, @2.p
    2 sbc @0, @1, 1        3 sbc @1, @0, 1 ult                      =>  2 sbc @0, @1, 1 ugt

Words can wait in register files, flags cannot: a PE takes a flag when it comes. So a PE whose other operands still need the
word that the flag was made of must have a PE of its own for the flag, and two PEs, one behind the other, cannot read one
flag. `in_step` tells; PEs are shared only where it allows, and flags get copies of their PEs where it demands.

Needs:   PeGraph.
Gives:   PeGraph with the same results; in step if any number of copies can bring it there.
Cost:    `STEPS` references, which are counted and not timed, so that a program is compiled to the same words everywhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace

from ...ir.dataflow import Ref
from ...ir.pe_graph import PeGraph, PeNode, picked

SWAPPED = {"eq": "eq", "ne": "ne", "ult": "ugt", "ugt": "ult", "ule": "uge", "uge": "ule",
           "slt": "sgt", "sgt": "slt", "sle": "sge", "sge": "sle"}
NEGATED = {"eq": "ne", "ne": "eq", "ult": "uge", "uge": "ult", "ule": "ugt", "ugt": "ule",
           "slt": "sge", "sge": "slt", "sle": "sgt", "sgt": "sle"}
# A comparison of a result with 0, as a condition of any operation; of one that never overflows.
TESTS = {"eq": "eq", "ne": "ne", "slt": "negative", "sge": "positive"}
MORE_TESTS = {"sgt": "sgt", "sle": "sle"}
# The sums that overflow, as sums that do not.
WITHOUT_OVERFLOW = {("adc", 0): "taa", ("sbc", 1): "tsa"}
# What `in_step` takes for the cycles from PE to PE, and for the points of a row: where operands are waiting for each other,
# only the shape of the graph matters.
HOP, ROW = 4, 256
# PEs that copies of flags may take: a flag of flags is copied with all that it is made of, again and again.
COPIES = 300
# References of PEs that are looked at to bring flags in step and to merge comparisons; then they stay as they are.
STEPS = 5_000_000


@dataclass
class _Budget:
    """How many references may still be looked at."""

    left: int


def share_flags(graph: PeGraph, ops: Container[str]) -> PeGraph:
    """Merge comparisons into other PEs, unless the graph gets out of step; copy flags if it is. `ops`: that PEs have."""
    budget = _Budget(STEPS)
    if not in_step(graph, budget):
        graph = _copied(graph, budget)
    quiet = in_step(graph, budget)
    place = 0
    while place < len(graph.nodes) and budget.left > 0:
        budget.left -= len(graph.nodes) * (graph.nodes[place].op == "sbc")
        for merged in _merged(graph, place, ops):
            if not quiet or in_step(merged, budget):
                graph = merged
                break
        else:
            place += 1
    return graph


def in_step(graph: PeGraph, budget: _Budget | None = None) -> bool:
    """Whether start cycles exist in which every PE has its words there, early or not, and its flags arrive just then; not if
    the budget is spent before that is known."""
    uses = [(user, ref, HOP + sum(o * ROW ** i for i, o in enumerate(ref.offset)))
            for user, node in enumerate(graph.nodes) for _, ref in node.refs()]
    flags = [use for use in uses if use[1].port == "p"]
    starts = [0] * len(graph.nodes)
    for _ in range(len(flags) + 2):
        if budget is not None:
            budget.left -= len(uses)
            if budget.left <= 0:
                return False
        before = list(starts)
        for user, ref, cycles in uses:
            starts[user] = max(starts[user], starts[ref.node] + cycles)
        for user, ref, cycles in reversed(flags):
            starts[ref.node] = max(starts[ref.node], starts[user] - cycles)
        if starts == before:
            return True
    return False


def _merged(graph: PeGraph, place: int, ops: Container[str]) -> Iterator[PeGraph]:
    """Graphs in which another PE makes the comparison at a place, if there is one."""
    compare = graph.nodes[place]
    if compare.op != "sbc" or compare.cond not in SWAPPED or compare.operands["d"] != 1:
        return
    readers = [ref.port for node in graph.nodes for _, ref in node.refs() if ref.node == place]
    readers += [ref.port for ref in graph.results.values() if ref.node == place]
    if "res" in readers:
        return
    a, b = compare.operands["a"], compare.operands["b"]
    for number, node in enumerate(graph.nodes):
        if node.cond or number == place or node.op in ("input", "lookup"):
            continue
        given = tuple(node.operands.get(port) for port in "abd")
        if node.op == "sbc" and given in ((a, b, 1), (b, a, 1)):
            cond = compare.cond if given[0] == a else SWAPPED[compare.cond]
            yield _instead(graph, place, number, replace(node, cond=cond))
        if b == 0 and a == Ref(number, (0,) * len(graph.dims)):
            plain = WITHOUT_OVERFLOW.get((node.op, given[2])) if isinstance(given[2], int) else None
            if compare.cond in TESTS:
                yield _instead(graph, place, number, replace(node, cond=TESTS[compare.cond]))
            elif node.op not in ("adc", "sbc"):
                yield _instead(graph, place, number, replace(node, cond=MORE_TESTS[compare.cond]))
            elif plain and plain in ops and compare.cond in MORE_TESTS:
                operands = {"a": node.operands["a"], "b": node.operands["b"], "c": 0}
                yield _instead(graph, place, number, replace(node, op=plain, operands=operands, cond=compare.cond))


def _instead(graph: PeGraph, old: int, new: int, node: PeNode) -> PeGraph:
    """The graph with `node` at `new`, which also gives the flag of `old`."""
    nodes = list(graph.nodes)
    nodes[new] = node
    nodes = [_reads(each, {Ref(old, ref.offset, "p"): replace(ref, node=new) for _, ref in each.refs() if ref.node == old})
             for each in nodes]
    results = {name: replace(ref, node=new) if ref.node == old else ref for name, ref in graph.results.items()}
    return _ordered(replace(graph, nodes=tuple(nodes), results=results), set(range(len(nodes))) - {old})


def _reads(node: PeNode, other: dict[Ref, Ref]) -> PeNode:
    """The node with other references."""
    return replace(node, operands={
        port: other.get(each, each) if isinstance(each, Ref) else each for port, each in node.operands.items()})


def _ordered(graph: PeGraph, stay: set[int]) -> PeGraph:
    """Some of the nodes, in topological order again."""
    order: list[int] = []
    done = set()
    for start in sorted(stay):
        todo = [start]
        while todo:
            number = todo[-1]
            ahead = [ref.node for _, ref in graph.nodes[number].refs() if ref.node not in done]
            if ahead and number not in done:
                todo += ahead
                continue
            todo.pop()
            if number not in done:
                done.add(number)
                order.append(number)
    return picked(graph, order)


def _copied(graph: PeGraph, budget: _Budget) -> PeGraph:
    """The graph with copies of flags, one reader after the other getting its own, until it is in step."""
    copies = 0
    for user in reversed(range(len(graph.nodes))):
        readers: dict[int, set[int]] = defaultdict(set)
        for reader, node in enumerate(graph.nodes):
            for _, ref in node.refs():
                if ref.port == "p":
                    readers[ref.node].add(reader)
        own = {ref for _, ref in graph.nodes[user].refs() if ref.port == "p" and len(readers[ref.node]) > 1}
        if not own:
            continue
        copies += sum(_copies(graph.nodes, ref.node) for ref in own)
        if copies > COPIES:
            break
        nodes = list(graph.nodes)
        nodes[user] = _reads(nodes[user], {ref: Ref(_copy(nodes, ref.node), ref.offset, "p") for ref in sorted(
            own, key=lambda ref: (ref.node, ref.offset))})
        graph = replace(graph, nodes=tuple(nodes))
        if in_step(graph, budget) or budget.left <= 0:
            break
    return _ordered(graph, set(range(len(graph.nodes))))


def _copies(nodes: Sequence[PeNode], number: int) -> int:
    """How many PEs a copy of a flag takes, up to a few more than `COPIES`."""
    count, todo = 0, [number]
    while todo and count <= COPIES:
        count += 1
        todo += [ref.node for _, ref in nodes[todo.pop()].refs() if ref.port == "p"]
    return count


def _copy(nodes: list[PeNode], number: int) -> int:
    """Append a copy of a PE and of the flags that it is made of; its number."""
    node = nodes[number]
    own = {ref: Ref(_copy(nodes, ref.node), ref.offset, "p") for _, ref in node.refs() if ref.port == "p"}
    nodes.append(_reads(node, own))
    return len(nodes) - 1
