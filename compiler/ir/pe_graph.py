"""Graphs of PEs: what each does at every point of an iteration space, and what is wrong with one.

As in `dataflow` every node has one value at each point; an operand may also be what the PE itself had before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ...hw.arch.op import BY_NAME, CONDITIONS, OPS, Op
from .dataflow import Operand, Ref, Stream, operand_text


@dataclass(frozen=True)
class Held:
    """What another operand of the same PE was earlier, kept in the register file: a word for each x.

    Points are counted from the first one of a row on, and from that row into the next ones, so many of them a `row`. By default
    the word of x is that of point x.

        lead 1, pace 4, rows 2, rows of 10 points      words of x = 0..4: points 1, 11, 5, 15, 9

    Parameters
    ----------
    port : str          The operand.
    at : tuple of int   The row, by its place in all dimensions above x.
    lead : int          The point of x = 0.
    pace : int          Points between two words in a row.
    rows : int          Rows in which they are, the next word in the next one.
    """

    port: str
    at: tuple[int, ...]
    lead: int = 0
    pace: int = 1
    rows: int = 1

    def beside(self, row: int) -> int:
        """How many words of a row of so many x are in each of the rows; the last ones of all may be of no x."""
        return -(-row // self.rows)

    def points(self, row: int) -> tuple[int, ...]:
        """The point of each x of a row of so many."""
        return tuple(self.lead + row * (x % self.rows) + self.pace * (x // self.rows) for x in range(row))

    def last(self, row: int) -> int:
        """The last point that is kept for a row of so many x."""
        return self.lead + row * (self.rows - 1) + self.pace * (self.beside(row) - 1)


@dataclass(frozen=True)
class Running:
    """The result of the same PE at the point before in x; 0 at x = 0."""


@dataclass(frozen=True)
class Once(Ref):
    """A reference at one `x` of every row; 0 at all others. It waits in the register file for less than a row."""

    x: int = 0


Kept = Held | Running | Once
PeOperand = Operand | Held | Running


@dataclass(frozen=True)
class PeNode:
    """What one PE does, or an input or a table.

    Parameters
    ----------
    op : str             An operation of `hw/arch/op.py`; or ``input``, or ``lookup`` (a MEM tile with `table`,
                         operand a).
    operands : mapping   Operand name a..f -> a reference or a constant, or of a, b, c a word of the register file; those not
                         read are absent.
    signed, cond, lut    As in the configuration of the ALU; `cond` by name, empty if the predicate is not used.
    name : str           Of an input: the stream.
    table : tuple of int
    """

    op: str
    operands: Mapping[str, PeOperand] = field(default_factory=dict)
    signed: bool = False
    cond: str = ""
    lut: int = 0
    name: str = ""
    table: tuple[int, ...] = ()

    def refs(self) -> Iterator[tuple[str, Ref]]:
        """Operands that are references."""
        return ((port, each) for port, each in self.operands.items() if isinstance(each, Ref))

    def ref(self, port: str) -> Ref:
        """The reference that is an operand."""
        found = self.operands[port]
        assert isinstance(found, Ref), f"operand {port} is no reference"
        return found

    def kept(self) -> Iterator[tuple[str, Kept]]:
        """Operands that a schedule of the register file gives."""
        return ((port, each) for port, each in self.operands.items() if isinstance(each, Kept))


@dataclass(frozen=True)
class PeGraph:
    """The same as `WordGraph` after selection."""

    dims: tuple[str, ...]
    nodes: tuple[PeNode, ...]
    inputs: Mapping[str, Stream]
    results: Mapping[str, Ref]
    outputs: Mapping[str, Stream]

    @property
    def pes(self) -> int:
        """PEs that the graph takes."""
        return sum(node.op not in ("input", "lookup") for node in self.nodes)


def picked(graph: PeGraph, order: Iterable[int]) -> PeGraph:
    """A graph of some of the nodes, in an order; inputs that are not among them are gone."""
    place = {old: new for new, old in enumerate(order)}
    nodes = tuple(replace(graph.nodes[old], operands={
        port: replace(each, node=place[each.node]) if isinstance(each, Ref) else each
        for port, each in graph.nodes[old].operands.items()}) for old in place)
    names = {node.name for node in nodes if node.op == "input"}
    return replace(graph, nodes=nodes, inputs={name: each for name, each in graph.inputs.items() if name in names},
                   results={name: replace(ref, node=place[ref.node]) for name, ref in graph.results.items()})


def operations(graph: PeGraph) -> set[str]:
    """The operations that PEs need to have."""
    return {node.op for node in graph.nodes} - {"input", "lookup"}


def verify_pes(graph: PeGraph, ops: tuple[Op, ...] = OPS) -> PeGraph:
    """The graph itself, if nothing is wrong with it for PEs with the operations `ops`."""
    found = pe_faults(graph, ops)
    assert not found, "selection gives consistent graphs: " + "; ".join(found)
    return graph


def pe_faults(graph: PeGraph, ops: tuple[Op, ...] = OPS) -> list[str]:
    """What is wrong with a graph of PEs, as sentences; empty if it is consistent."""
    found = []
    for number, node in enumerate(graph.nodes):
        found += [f"{number} {node.op}: {fault}" for fault in _pe_node_faults(graph, number, node, ops)]
    for name, ref in graph.results.items():
        found += [f"result {name}: {fault}" for fault in _pe_ref_faults(graph, ref, len(graph.nodes))]
    return found


def _pe_node_faults(graph: PeGraph, number: int, node: PeNode, ops: tuple[Op, ...]) -> Iterator[str]:
    ports = set(node.operands)
    if node.op in ("input", "lookup"):
        reads = set("a" if node.op == "lookup" else "")
        if node.op == "input" and node.name not in graph.inputs:
            yield f"no stream {node.name!r}"
        if node.cond:
            yield "only a PE has a condition"
    elif BY_NAME.get(node.op) not in ops:
        yield "not an operation of the PEs"
        return
    else:
        reads = set(BY_NAME[node.op].operands)
        if node.cond == "lut":
            reads |= ports & set("def")
        elif node.cond and node.cond not in {condition.name for condition in CONDITIONS}:
            yield f"no condition {node.cond!r}"
    if ports != reads:
        yield f"operands {''.join(sorted(ports))} where it reads {''.join(sorted(reads))}"
    for port, operand in node.operands.items():
        if isinstance(operand, Ref):
            yield from (f"operand {port}: {fault}" for fault in _pe_ref_faults(graph, operand, number))
            if isinstance(operand, Once):
                yield from (f"operand {port}: {fault}" for fault in _once_faults(node, port))
            if (operand.port == "p") != (port in "def"):
                yield f"operand {port}: port {operand.port} has the other width"
        elif isinstance(operand, Held | Running):
            yield from (f"operand {port}: {fault}" for fault in _kept_faults(graph, node, port, operand))
        elif not 0 <= operand < (2 if port in "def" else 1 << 16):
            yield f"operand {port}: constant {operand} is out of range"


def _kept_faults(graph: PeGraph, node: PeNode, port: str, operand: Held | Running) -> Iterator[str]:
    if port not in "abc":
        yield "the register file holds words, not flags"
    if isinstance(operand, Held) and not (operand.port in "abc" and isinstance(node.operands.get(operand.port), Ref)):
        yield f"it was operand {operand.port}, which is no stream of words"
    if isinstance(operand, Held) and len(operand.at) != len(graph.dims) - 1:
        yield f"it was at {operand.at}, on a grid of {len(graph.dims)} dimensions"


def _once_faults(node: PeNode, port: str) -> Iterator[str]:
    if port not in "abc":
        yield "the register file holds words, not flags"
    if any(isinstance(each, Held | Running) for each in node.operands.values()):
        yield "word 0 of the register file is for other words"


def _pe_ref_faults(graph: PeGraph, ref: Ref, before: int) -> Iterator[str]:
    if not 0 <= ref.node < before:
        yield f"reads node {ref.node}, which does not come before it"
        return
    if len(ref.offset) != len(graph.dims):
        yield f"offset {ref.offset} on a grid of {len(graph.dims)} dimensions"
    if ref.port not in ("res", "p") or (ref.port == "p" and not graph.nodes[ref.node].cond):
        yield f"node {ref.node} has no output {ref.port}"


def pe_text(graph: PeGraph) -> str:
    """One line for every node and result of a graph of PEs, for dumps."""
    lines = []
    for number, node in enumerate(graph.nodes):
        operands = ", ".join(f"{port} = {_pe_operand_text(each)}" for port, each in node.operands.items())
        cond = f"lut {node.lut:#04x}" if node.cond == "lut" else node.cond
        words = [node.op + (".s" if node.signed else ""), node.name, operands, f"if {cond}" if cond else "",
                 f"[{len(node.table)} entries]" if node.table else ""]
        lines.append(f"{number:4} {' '.join(filter(None, words))}")
    lines += [f"result {name} = {_pe_operand_text(ref)}" for name, ref in graph.results.items()]
    return "\n".join(lines) + "\n"


def _pe_operand_text(operand: PeOperand) -> str:
    if isinstance(operand, Held):
        x = ("x" if (operand.lead, operand.pace, operand.rows) == (0, 1, 1) else
             f"{operand.lead} + {operand.pace} x" + f", by {operand.rows} rows" * (operand.rows > 1))
        return f"{operand.port} at ({', '.join((x, *map(str, operand.at)))})"
    if isinstance(operand, Running):
        return "own result at x - 1"
    if isinstance(operand, Once):
        return f"{operand_text(operand)} at x = {operand.x}, else 0"
    return operand_text(operand) + (".p" if isinstance(operand, Ref) and operand.port == "p" else "")
