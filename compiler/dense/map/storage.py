"""Give every stream that is needed late its storage, and map a walk onto tiles.

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

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ....hw.arch.buffer import READS
from ....hw.arch.cgra import Arch
from ....hw.arch.errors import UserError
from ....hw.arch.op import BY_NAME, CONDITION_CODES
from ....hw.arch.primitive import ALU, BUFFER
from ....hw.arch.register_file import CHANNELS
from ...ir.dataflow import Ref
from ...ir.mapped import LOAD, STORE, Block, MappedGraph, Net, Pin, Stream
from ...ir.pe_graph import PeGraph, PeNode
from .grid import Walk, needed_boxes
from .registers import kept_words, waiting_words

# Cycles that a net is expected to take, the register of the core input included.
NET = 4
# Words of a register file left free for what routing adds.
SLACK = 7
# The same of one that keeps words by a schedule: it has less to spare, and where this is not enough, words wait in PEs.
KEPT_SLACK = 1
# PEs that may be added for operands to wait in, beside one for each PE.
PASSES = 8
# A cluster of one line serves consumers whose delays differ by no more than this.
WINDOW = 12
OPERAND_PORT = {"a": "data0", "b": "data1", "c": "data2", "d": "bit0", "e": "bit1", "f": "bit2"}
RESULT_PORT = {"res": "res0", "p": "bit"}


@dataclass(frozen=True)
class StaticGraph:
    """A mapped graph whose streams move one word a cycle.

    Parameters
    ----------
    walk : Walk
    graph : MappedGraph
    leads : mapping       Sink -> steps that the value it wants is ahead of its own step.
    lines : mapping       Delay line (a MEM block) -> its read ports in use.
    origins : mapping     Delay line -> source of the values in it, and the most steps that a sink of that source is ahead.
    spans : mapping       Delay line -> first and last step of its words that are needed.
    valid : mapping       Io block of a store -> the MEM block whose flag says which of its words count.
    nodes : mapping       Block -> the node of the walk that it computes.
    """

    walk: Walk
    graph: MappedGraph
    leads: Mapping[Pin, int]
    lines: Mapping[str, tuple[str, ...]]
    origins: Mapping[str, tuple[Pin, int]]
    spans: Mapping[str, tuple[int, int]]
    valid: Mapping[str, str]
    nodes: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class _Use:
    """A reference of a PE: operand `port` of node `user` wants node `ref.node`, `lead` steps ahead."""

    user: int
    port: str
    ref: Ref
    lead: int


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
        uses = [_Use(user, port, ref, walk.grid.steps(ref.offset))
                for user, node in enumerate(walk.graph.nodes) for port, ref in node.refs()]
        starts = _estimate(walk.graph.nodes, uses, arch, net)
        waits = {use: starts[use.user] - latency_of(walk.graph.nodes[use.user], arch) - starts[use.ref.node] - use.lead - net
                 for use in uses}
        far, stuck = _far(arch, walk, uses, waits)
        if stuck is None:
            return _Mapper(_changed(walk, walk.graph), arch, far).map(uses, waits)
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


def _estimate(nodes: tuple[PeNode, ...], uses: list[_Use], arch: Arch, net: int) -> list[int]:
    """Cycle in which every node gives the value of step 0.

    As early as possible, but no reader of a word starts before the one that wants its newest values: so that delays fall on
    the source, where readers share them. Flags come just in time, because no register file holds them.
    """
    by_user: dict[int, list[_Use]] = defaultdict(list)
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


def _far(arch: Arch, walk: Walk, uses: list[_Use], waits: Mapping[_Use, int]) -> tuple[set[_Use], _Use | None]:
    """The uses that go through a delay line; and one that waits too long for a register file and not long enough for a line."""
    far: set[_Use] = set()
    by_user: dict[int, list[_Use]] = defaultdict(list)
    for use in uses:
        if use.ref.port == "res":
            by_user[use.user].append(use)
    for user, each in by_user.items():
        kept = kept_words(walk.graph.nodes[user], walk)
        channels = CHANNELS - len(kept)
        room = arch.pe.register_words - sum(kept) - (KEPT_SLACK if kept else SLACK)
        waiting = sorted((use for use in each if waits[use]), key=lambda use: -waits[use])
        words = {use: waiting_words(walk.graph.nodes[user], use.port, waits[use]) for use in waiting}
        while waiting and (len(waiting) > channels or sum(words[use] for use in waiting) > room):
            use = waiting.pop(0)
            if waits[use] < shortest_line(arch):
                return far, use
            far.add(use)
    return far, None


def _with_pass(graph: PeGraph, use: _Use) -> PeGraph:
    """The graph with a PE that only passes the operand of a use on, with a register file of its own."""
    def later(ref: Ref) -> Ref:
        return Ref(ref.node + 1, ref.offset, ref.port) if ref.node >= use.user else ref

    def moved(node: PeNode) -> PeNode:
        if all(ref.node < use.user for _, ref in node.refs()):
            return node
        return replace(node, operands={port: later(each) if isinstance(each, Ref) else each
                                       for port, each in node.operands.items()})

    reader = graph.nodes[use.user]
    here = Ref(use.user, (0,) * len(graph.dims))
    nodes = (*graph.nodes[:use.user], PeNode("or", {"a": use.ref, "b": 0}),
             replace(reader, operands={**reader.operands, use.port: here}), *map(moved, graph.nodes[use.user + 1:]))
    return replace(graph, nodes=nodes, results={name: later(ref) for name, ref in graph.results.items()})


def with_passes(static: StaticGraph, waiting: Iterable[Pin]) -> Walk:
    """The walk of a graph with a PE before each of these operands, for them to wait in."""
    operands = {port: operand for operand, port in OPERAND_PORT.items()}
    found = static.walk
    # The last node first, because a new one moves those behind it.
    for user, port in sorted(((static.nodes[pin.block], operands[pin.port]) for pin in waiting), reverse=True):
        found = replace(found, graph=_with_pass(found.graph, _Use(user, port, found.graph.nodes[user].ref(port), 0)))
    return _changed(found, found.graph)


def shortest_line(arch: Arch) -> int:
    """Cycles that a value takes through a MEM tile at least, with the way there and back."""
    return arch.mem.write_to_read + arch.mem.read_latency + 2 * NET


def longest_line(arch: Arch) -> int:
    """Cycles that a value may stay in one MEM tile."""
    return arch.mem.buffer_words - 4 * arch.mem.sram_lanes


def read_ports(arch: Arch) -> int:
    """Streams that a line gives: a word of each, and one that is written, take the port of the SRAM once in a line's lanes."""
    return min(len(READS), arch.mem.sram_lanes - 1)


class _Mapper:
    """Collects blocks, nets and leads."""

    def __init__(self, walk: Walk, arch: Arch, far: set[_Use]) -> None:
        self.walk, self.arch, self.far = walk, arch, far
        self.blocks: dict[str, Block] = {}
        self.sinks: dict[Pin, list[Pin]] = defaultdict(list)
        self.leads: dict[Pin, int] = {}
        self.lines: dict[str, tuple[str, ...]] = {}
        self.origins: dict[str, tuple[Pin, int]] = {}
        self.spans: dict[str, tuple[int, int]] = {}
        self.streams: list[Stream] = []

    def map(self, uses: list[_Use], waits: Mapping[_Use, int]) -> StaticGraph:
        for number, node in enumerate(self.walk.graph.nodes):
            self._block(number, node)
        for use in uses:
            if use not in self.far:
                self._join(self._pin(use.ref), self._sink(use), use.lead)
        by_source: dict[int, list[_Use]] = defaultdict(list)
        for use in self.far:
            by_source[use.ref.node].append(use)
        for source in sorted(by_source):
            uses = sorted(by_source[source], key=lambda use: (waits[use], use.user, use.port))
            self._store_stream(source, uses, waits)
        valid = self._stores()
        nets = tuple(Net(source, tuple(sinks), "bit" if source.port == "bit" else "data")
                     for source, sinks in self.sinks.items())
        return StaticGraph(self.walk, MappedGraph(self.blocks, nets, tuple(self.streams)), self.leads, self.lines,
                           self.origins, self.spans, valid,
                           {self._name(number): number for number in range(len(self.walk.graph.nodes))})

    def _block(self, number: int, node: PeNode) -> None:
        name = self._name(number)
        if node.op == "input":
            self.blocks[name] = Block(name, "io", "", {})
            self.streams.append(Stream(name, LOAD, node.name, count=self.walk.grid.points))
        elif node.op == "lookup":
            self.blocks[name] = Block(name, "mem", BUFFER.name, {"rom": 1})
        else:
            self.blocks[name] = Block(name, "pe", ALU.name, operation(node))

    def _name(self, number: int) -> str:
        node = self.walk.graph.nodes[number]
        if node.op != "input":
            return f"{node.op} {number}"
        # A program may call an image as one of its results.
        return node.name + (" in" if any(store.name == node.name for store in self.walk.stores) else "")

    def _pin(self, ref: Ref) -> Pin:
        op = self.walk.graph.nodes[ref.node].op
        return Pin(self._name(ref.node), {"input": "g2f", "lookup": "out0"}.get(op) or RESULT_PORT[ref.port])

    def _sink(self, use: _Use) -> Pin:
        lookup = self.walk.graph.nodes[use.user].op == "lookup"
        return Pin(self._name(use.user), "in0" if lookup else OPERAND_PORT[use.port])

    def _join(self, source: Pin, sink: Pin, lead: int) -> None:
        self.sinks[source].append(sink)
        self.leads[sink] = lead

    def _store_stream(self, node: int, uses: list[_Use], waits: Mapping[_Use, int]) -> None:
        """Delay lines for the uses of a node, which are sorted by how long they wait."""
        clusters: list[list[_Use]] = []
        for use in uses:
            if not clusters or waits[use] - waits[clusters[-1][0]] > WINDOW:
                clusters.append([])
            clusters[-1].append(use)
        source, passed, count = self._pin(Ref(node, ())), 0, 0
        origin = source, max([0, *(self.leads[sink] for sink in self.sinks[source]), *(use.lead for use in uses)])
        line, ports = "", list[str]()

        def another() -> None:
            nonlocal line, ports, count
            line, ports, count = f"{self._name(node)} line {count}", [], count + 1
            self.blocks[line] = Block(line, "mem", BUFFER.name, {})
            self.origins[line] = origin
            self.spans[line] = self.walk.span(node)
            self._join(source, Pin(line, "in0"), 0)

        longest = longest_line(self.arch)
        for cluster in clusters:
            if (longest - WINDOW if waits[cluster[0]] > longest else longest) < shortest_line(self.arch):
                raise UserError(f"a value has to wait {waits[cluster[0]]} cycles, and MEM tiles of {self.arch.mem.buffer_words}"
                                " words are too small to keep it", "", "give the MEM tiles more sram_lines")
            while waits[cluster[0]] - passed > longest:
                # So old that it goes through a line of its own first.
                another()
                self.lines[line] = ("out0",)
                source, passed, line = Pin(line, "out0"), passed + longest - WINDOW, ""
            if not line or len(ports) == read_ports(self.arch):
                another()
            ports.append(f"out{len(ports)}")
            self.lines[line] = tuple(ports)
            for use in cluster:
                self._join(Pin(line, ports[-1]), self._sink(use), use.lead)

    def _stores(self) -> dict[str, str]:
        """Io blocks of the results, each with a MEM tile that says which words count."""
        valid: dict[str, str] = {}
        free = [name for name, block in self.blocks.items() if block.kind == "mem"]
        for each in self.walk.stores:
            self.blocks[each.name] = Block(each.name, "io", "", {})
            self.streams.append(Stream(each.name, STORE, each.name, count=math.prod(each.counts)))
            self._join(self._pin(each.value), Pin(each.name, "f2g"), 0)
            if not free:
                free = [f"{each.name} valid"]
                self.blocks[free[0]] = Block(free[0], "mem", BUFFER.name, {})
            valid[each.name] = free.pop(0)
            self._join(Pin(valid[each.name], "bit"), Pin(each.name, "f2g_bit"), 0)
        return valid


def operation(node: PeNode) -> dict[str, int | str | bool]:
    """The configuration of a PE's ALU, but for what waits in its register file."""
    config: dict[str, int | str | bool] = {
        "static": 1, "op": BY_NAME[node.op].code, "signed": int(node.signed), "lut": node.lut,
        "cond": CONDITION_CODES[node.cond] if node.cond else 0}
    for port, operand in node.operands.items():
        if isinstance(operand, Ref):
            config[f"stream_{port}"] = 1
        elif isinstance(operand, int):
            config[f"const_{port}"] = operand
    return config
