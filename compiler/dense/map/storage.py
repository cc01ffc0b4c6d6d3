"""Give every stream that is needed late its storage, for `delay_lines` to map the walk onto tiles.

A value that a PE wants d cycles after it arrives waits in the PE's register file if d is small (two operands of a PE can
wait, in 32 words together); else it goes through a MEM tile as a delay line, whose two read ports serve two clusters of
consumers, each cluster with one delay, the rest of which is left to register files. Delays longer than a MEM tile go
through several, one behind the other.

    in -> muladd, wanted after 2, 3, 4, 66, 67, 68 cycles:  register files 2, 3, 4; line 64, then register files 2, 3, 4

Delays are estimated here with `NET` cycles for a net, because wires have no length before placement; `align` computes them
afterwards, and only start cycles and register-file settings change.

Needs:   Walk, sizes of the tiles.
Gives:   StaticGraph: mapped graph, lead of every sink.
Cost:    one estimate for each PE that is added for an operand to wait in, of which there are `PASSES` and one for each PE.
Source:  unified buffers and shift registers of Amber JSSC V; register files as in Onyx JSSC V.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ....hw.arch.cgra import Arch
from ....hw.arch.errors import UserError
from ....hw.arch.op import BY_NAME
from ....hw.arch.register_file import CHANNELS
from ...ir.dataflow import Ref
from ...ir.mapped import Pin
from ...ir.pe_graph import PeGraph, PeNode
from .delay_lines import NET, OPERAND_PORT, Mapper, StaticGraph, Use, shortest_line
from .grid import Walk, needed_boxes
from .registers import kept_words, waiting_words

# Words of a register file left free for what routing adds.
SLACK = 7
# The same of one that keeps words by a schedule: it has less to spare, and where this is not enough, words wait in PEs.
KEPT_SLACK = 1
# PEs that may be added for operands to wait in, beside one for each PE.
PASSES = 8


class Overfull(Exception):
    """A walk needs more PEs than it may: `pes` or more."""

    def __init__(self, pes: int) -> None:
        super().__init__(f"{pes} PEs are too many")
        self.pes = pes


def store(walk: Walk, arch: Arch, net: int = NET, most: int | None = None) -> StaticGraph:
    """Map a walk onto tiles, with `net` cycles expected for a net.

    Raises UserError if flags cannot be brought in step, or if register files are too small for what waits in them; `Overfull`
    as soon as there are more than `most` PEs.
    """
    walk = _copies(walk)
    for _ in range(PASSES + len(walk.graph.nodes)):
        pes = sum(node.op not in ("input", "lookup") for node in walk.graph.nodes)
        if most is not None and pes > most:
            raise Overfull(pes)
        uses = [Use(user, port, ref, walk.grid.steps(ref.offset))
                for user, node in enumerate(walk.graph.nodes) for port, ref in node.refs()]
        starts = _estimate(walk.graph.nodes, uses, arch, net)
        waits = {use: starts[use.user] - latency_of(walk.graph.nodes[use.user], arch) - starts[use.ref.node] - use.lead - net
                 for use in uses}
        far, stuck = _far(arch, walk, uses, waits)
        if stuck is None:
            return Mapper(_changed(walk, walk.graph), arch, far).map(uses, waits)
        walk = replace(walk, graph=_with_pass(walk.graph, stuck))
    raise UserError(f"operands wait longer than register files of {arch.pe.register_words} words allow", "",
                    "use wider tiles, or give the PEs larger register files")


def _changed(walk: Walk, graph: PeGraph) -> Walk:
    """A walk with another graph for the same results."""
    stores = tuple(replace(each, value=graph.results[each.name]) for each in walk.stores)
    return replace(walk, graph=graph, stores=stores, boxes=needed_boxes(graph, stores))


def _copies(walk: Walk) -> Walk:
    """The walk with a PE between every input and the stores that take it as it is.

    The flag of a store leaves its MEM tile in cycle 0 at the earliest. A PE can wait for that; an input comes when it comes.
    """
    graph = walk.graph
    nodes, copies = list(graph.nodes), dict[int, int]()
    for ref in graph.results.values():
        if graph.nodes[ref.node].op == "input" and ref.node not in copies:
            copies[ref.node] = len(nodes)
            nodes.append(PeNode("or", {"a": Ref(ref.node, (0,) * len(graph.dims)), "b": 0}))
    results = {name: replace(ref, node=copies.get(ref.node, ref.node)) for name, ref in graph.results.items()}
    return _changed(walk, replace(graph, nodes=tuple(nodes), results=results)) if copies else walk


def latency_of(node: PeNode, arch: Arch) -> int:
    """Cycles from the operands of a node, behind the registers of the core inputs, to its result."""
    return 0 if node.op == "input" else arch.mem.read_latency if node.op == "lookup" else BY_NAME[node.op].latency


def _estimate(nodes: tuple[PeNode, ...], uses: list[Use], arch: Arch, net: int) -> list[int]:
    """Cycle in which every node gives the value of step 0.

    As early as possible, but no reader of a word starts before the one that wants its newest values: so that delays fall on
    the source, where readers share them. Flags come just in time, because no register file holds them.
    """
    by_user: dict[int, list[Use]] = defaultdict(list)
    newest: dict[int, int] = {}
    for use in uses:
        by_user[use.user].append(use)
        if use.ref.port == "res":
            newest[use.ref.node] = max(newest.get(use.ref.node, use.lead), use.lead)
    least = [0] * len(nodes)
    for _ in range(len(nodes) + 1):
        starts = list(least)
        for number in range(len(nodes)):
            soonest = [starts[u.ref.node] + (newest[u.ref.node] if u.ref.port == "res" else u.lead) for u in by_user[number]]
            starts[number] = max([least[number], *(start + net + latency_of(nodes[number], arch) for start in soonest)])
        late: dict[int, int] = {}
        for u in uses:
            if u.ref.port == "p":
                just = starts[u.user] - latency_of(nodes[u.user], arch) - u.lead - net
                late[u.ref.node] = max(late.get(u.ref.node, just), just)
        if all(starts[node] >= start for node, start in late.items()):
            return starts
        least = [max(old, late.get(node, old)) for node, old in enumerate(least)]
    raise UserError("the flags of the program cannot be brought in step with its words", "",
                    "rewrite conditions that use each other's results")


def _far(arch: Arch, walk: Walk, uses: list[Use], waits: Mapping[Use, int]) -> tuple[set[Use], Use | None]:
    """The uses that go through a delay line; and one that waits too long for a register file and not long enough for a line."""
    far: set[Use] = set()
    by_user: dict[int, list[Use]] = defaultdict(list)
    for use in uses:
        if use.ref.port == "res":
            by_user[use.user].append(use)
    for user, each in by_user.items():
        kept = kept_words(walk.graph.nodes[user], walk)
        channels = CHANNELS - len(kept)
        room = arch.pe.register_words - sum(kept) - (KEPT_SLACK if kept else SLACK)
        words = {use: waiting_words(walk, user, use.port, waits[use]) for use in each}
        waiting = sorted((use for use in each if words[use]), key=lambda use: -waits[use])
        while waiting and (len(waiting) > channels or sum(words[use] for use in waiting) > room):
            use = waiting.pop(0)
            if waits[use] < shortest_line(arch):
                return far, use
            far.add(use)
    return far, None


def _with_pass(graph: PeGraph, use: Use) -> PeGraph:
    """The graph with a PE that only passes the operand of a use on, with a register file of its own."""
    def later(ref: Ref) -> Ref:
        return replace(ref, node=ref.node + 1) if ref.node >= use.user else ref

    def moved(node: PeNode) -> PeNode:
        if all(ref.node < use.user for _, ref in node.refs()):
            return node
        return replace(node, operands={port: later(each) if isinstance(each, Ref) else each
                                       for port, each in node.operands.items()})

    reader = graph.nodes[use.user]
    here = replace(use.ref, node=use.user, offset=(0,) * len(graph.dims), port="res")
    passed = Ref(use.ref.node, use.ref.offset, use.ref.port)
    nodes = (*graph.nodes[:use.user], PeNode("or", {"a": passed, "b": 0}),
             replace(reader, operands={**reader.operands, use.port: here}), *map(moved, graph.nodes[use.user + 1:]))
    return replace(graph, nodes=nodes, results={name: later(ref) for name, ref in graph.results.items()})


def with_passes(static: StaticGraph, waiting: Iterable[Pin]) -> Walk:
    """The walk of a graph with a PE before each of these operands, for them to wait in."""
    operands = {port: operand for operand, port in OPERAND_PORT.items()}
    found = static.walk
    # The last node first, because a new one moves those behind it.
    for user, port in sorted(((static.nodes[pin.block], operands[pin.port]) for pin in waiting), reverse=True):
        found = replace(found, graph=_with_pass(found.graph, Use(user, port, found.graph.nodes[user].ref(port), 0)))
    return _changed(found, found.graph)
