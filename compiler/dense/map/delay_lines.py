"""Map a walk onto tiles, when it is known which of its streams wait in delay lines.

A delay line is a MEM tile, whose read ports serve clusters of consumers, each cluster with one delay, the rest of which is left
to register files. Delays longer than a MEM tile go through several, one behind the other.

Needs:   Walk, the uses of its nodes, how long each waits, which go through lines.
Gives:   StaticGraph: mapped graph, lead of every sink.
Source:  unified buffers and shift registers of Amber JSSC V.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from ....hw.arch.buffer import READS
from ....hw.arch.cgra import Arch
from ....hw.arch.errors import UserError
from ....hw.arch.op import BY_NAME, CONDITION_CODES
from ....hw.arch.primitive import ALU, BUFFER
from ...ir.dataflow import Ref
from ...ir.mapped import LOAD, STORE, Block, MappedGraph, Net, Pin, Stream
from ...ir.pe_graph import PeNode
from .grid import Walk

# Cycles that a net is expected to take, the register of the core input included.
NET = 4
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
class Use:
    """A reference of a PE: operand `port` of node `user` wants node `ref.node`, `lead` steps ahead."""

    user: int
    port: str
    ref: Ref
    lead: int


def shortest_line(arch: Arch) -> int:
    """Cycles that a value takes through a MEM tile at least, with the way there and back."""
    return arch.mem.write_to_read + arch.mem.read_latency + 2 * NET


def longest_line(arch: Arch) -> int:
    """Cycles that a value may stay in one MEM tile."""
    return arch.mem.buffer_words - 4 * arch.mem.sram_lanes


def read_ports(arch: Arch) -> int:
    """Streams that a line gives: a word of each, and one that is written, take the port of the SRAM once in a line's lanes."""
    return min(len(READS), arch.mem.sram_lanes - 1)


class Mapper:
    """Collects blocks, nets and leads."""

    def __init__(self, walk: Walk, arch: Arch, far: set[Use]) -> None:
        self.walk, self.arch, self.far = walk, arch, far
        self.blocks: dict[str, Block] = {}
        self.sinks: dict[Pin, list[Pin]] = defaultdict(list)
        self.leads: dict[Pin, int] = {}
        self.lines: dict[str, tuple[str, ...]] = {}
        self.origins: dict[str, tuple[Pin, int]] = {}
        self.spans: dict[str, tuple[int, int]] = {}
        self.streams: list[Stream] = []

    def map(self, uses: list[Use], waits: Mapping[Use, int]) -> StaticGraph:
        for number, node in enumerate(self.walk.graph.nodes):
            self._block(number, node)
        for use in uses:
            if use not in self.far:
                self._join(self._pin(use.ref), self._sink(use), use.lead)
        by_source: dict[int, list[Use]] = defaultdict(list)
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

    def _sink(self, use: Use) -> Pin:
        lookup = self.walk.graph.nodes[use.user].op == "lookup"
        return Pin(self._name(use.user), "in0" if lookup else OPERAND_PORT[use.port])

    def _join(self, source: Pin, sink: Pin, lead: int) -> None:
        self.sinks[source].append(sink)
        self.leads[sink] = lead

    def _store_stream(self, node: int, uses: list[Use], waits: Mapping[Use, int]) -> None:
        """Delay lines for the uses of a node, which are sorted by how long they wait."""
        clusters: list[list[Use]] = []
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
