"""The public dialect of sparse graphs: what a drawing means before it is known what computes it.

Branches of a stream go through nodes of type `broadcast`, and the signals of repeaters through `repsiggen`: both are folded
into the wires here, so that a wire leads from the node that makes a stream to one that uses it.

Input:   Drawing with the formats as attribute `comment` of the graph (``X=ss01,B=ss01,C=ss10``, ``none`` for a scalar), nodes
         with `type`, edges with `type` (or a label that begins with it) and the role as `comment`.
Output:  PublicGraph: nodes that lead to a result, in the order of the text.
Errors:  UserError naming the node.
Source:  the Graphviz files of the Sparse Abstract Machine tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ...hw.arch.errors import UserError, shown
from ...tensors.fibertree import Format, natural
from .graphviz import Drawing
from .sam_ops import CRD, REF, VAL

SIGNAL = "repsig"
KINDS = (CRD, REF, VAL, SIGNAL)
BROADCAST, GENERATOR, WRITER = "broadcast", "repsiggen", "fiberwrite"
MOST_NODES = 4096
_ROLE = re.compile("(?:in|out|inner|outer)[-_]")
_FORMAT = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)=(?:none|([a-z]+)([0-9]*))")


@dataclass(frozen=True)
class Wire:
    """A stream between two nodes.

    Parameters
    ----------
    source : str      The node that makes it.
    kind : str        crd, ref or val; for the signal of a repeater: repsig, and the stream is coordinates.
    leaves : str      The comment where it leaves its source.
    enters : str      The comment where it enters its sink.
    """

    source: str
    kind: str
    leaves: str
    enters: str

    @property
    def stream(self) -> tuple[str, ...]:
        """Whose stream it is where it leaves its source: what comments say, the nearest first."""
        return tuple(found for found in map(_whose, (self.leaves, self.enters)) if found)

    @property
    def side(self) -> str:
        """Whose stream it is where it enters its sink; without a comment that of its source."""
        return _whose(self.enters) or self.source


@dataclass(frozen=True)
class PublicNode:
    """A node: its type, attributes, and the wires that enter it."""

    graph: str
    name: str
    type: str
    attributes: Mapping[str, str]
    wires: tuple[Wire, ...] = field(default=())

    @property
    def where(self) -> str:
        """The node in errors: ``matmul.gv: node 7 (intersect)``."""
        return f"{self.graph}: node {shown(self.name)} ({shown(self.type)})"

    @property
    def label(self) -> str:
        """A name for what computes it: ``intersect_7``."""
        return re.sub("[^A-Za-z0-9_]", "_", f"{self.type}_{self.name}"[:40])

    def get(self, attribute: str) -> str:
        """The value of an attribute that a node of this type has."""
        if attribute not in self.attributes:
            raise UserError(f"it has no attribute {attribute}", self.where, f'write {attribute}="..."')
        return self.attributes[attribute]

    def choice(self, attribute: str, values: Mapping[str, bool], default: str) -> bool:
        """What an attribute of few values says."""
        value = self.attributes.get(attribute, default)
        if value not in values:
            raise UserError(f"attribute {attribute} is '{shown(value)}'", self.where,
                            f"write {' or '.join(values)}")
        return values[value]


@dataclass(frozen=True)
class PublicGraph:
    """A graph in the dialect.

    Parameters
    ----------
    name : str          Of the file, for errors.
    title : str
    formats : mapping   By tensor, the result first.
    nodes : mapping     By name, without broadcasts and generators of signals.
    ignored : tuple     Names of nodes that lead to no result.
    """

    name: str
    title: str
    formats: Mapping[str, Format]
    nodes: Mapping[str, PublicNode]
    ignored: tuple[str, ...]


def public_graph(drawing: Drawing, name: str) -> PublicGraph:
    """What a drawing means; name: of its file, for errors."""
    if len(drawing.nodes) > MOST_NODES:
        raise UserError(f"the graph has {len(drawing.nodes)} nodes, more than {MOST_NODES}", name, "give a smaller graph")
    nodes = {key: PublicNode(name, key, attributes.get("type", ""), attributes) for key, attributes in drawing.nodes.items()}
    entering = dict[str, list[Wire]]()
    for source, sink, attributes in drawing.edges:
        wire = Wire(source, _kind(attributes, nodes[sink]), *[attributes.get("comment", "")] * 2)
        entering.setdefault(sink, []).append(wire)
    wired = {key: PublicNode(name, key, node.type, node.attributes,
                             tuple(_folded(wire, nodes, entering, node) for wire in entering.get(key, ())))
             for key, node in nodes.items() if node.type not in (BROADCAST, GENERATOR)}
    live = _live(wired)
    if not live:
        raise UserError("the graph writes no result", name, f'add nodes of type="{WRITER}"')
    for key in live:
        if not wired[key].type:
            raise UserError("it has no attribute type", wired[key].where, 'write type="..."')
    ignored = tuple(key for key in wired if key not in live)
    return PublicGraph(name, drawing.attributes.get("label") or name, _formats(drawing, name),
                       {key: node for key, node in wired.items() if key in live}, ignored)


def _whose(comment: str) -> str:
    """Whose stream a comment says an edge is: ``B`` of ``out-B``, ``i`` of ``outer-i`` or ``i``."""
    return _ROLE.sub("", comment)


def _kind(attributes: Mapping[str, str], sink: PublicNode) -> str:
    """What an edge carries."""
    kind = attributes.get("type") or re.split("[_ ]", attributes.get("label", ""))[0]
    if kind not in KINDS:
        raise UserError(f"an edge to it has type '{shown(kind)}'", sink.where, f"write type as one of {', '.join(KINDS)}")
    return kind


def _folded(wire: Wire, nodes: Mapping[str, PublicNode], entering: Mapping[str, list[Wire]], sink: PublicNode) -> Wire:
    """The wire from the node that makes the stream."""
    found, passed = wire, set[str]()
    while nodes[found.source].type in (BROADCAST, GENERATOR):
        middle = nodes[found.source]
        before = entering.get(middle.name, [])
        if len(before) != 1 or middle.name in passed:
            raise UserError(f"it has {len(before)} inputs" if len(before) != 1 else "it feeds itself", middle.where,
                            "give it one input, from another node")
        kind = SIGNAL if middle.type == BROADCAST and found.kind == SIGNAL else CRD if middle.type == GENERATOR else found.kind
        if before[0].kind != kind or (middle.type == GENERATOR and found.kind != SIGNAL):
            raise UserError(f"it takes {before[0].kind} and gives {found.kind}", middle.where,
                            "let a broadcast give what it takes, and repsiggen take crd and give repsig")
        passed.add(middle.name)
        found = before[0]
    if wire.kind == SIGNAL and found.kind != CRD:
        raise UserError("its signal does not come from a node of type repsiggen", sink.where, "put one in front of it")
    return Wire(found.source, wire.kind, found.leaves, wire.enters)


def _live(nodes: Mapping[str, PublicNode]) -> set[str]:
    """The nodes from which a result is reached."""
    live = set[str]()
    waiting = [key for key, node in nodes.items() if node.type == WRITER]
    while waiting:
        key = waiting.pop()
        if key not in live:
            live.add(key)
            waiting += [wire.source for wire in nodes[key].wires]
    return live


def in_order(graph: PublicGraph) -> Iterator[PublicNode]:
    """The nodes, producers first, in the order of the text otherwise; UserError for a cycle."""
    missing = {key: {wire.source for wire in node.wires} for key, node in graph.nodes.items()}
    sinks = dict[str, list[str]]()
    for key, sources in missing.items():
        for source in sources:
            sinks.setdefault(source, []).append(key)
    ready = [key for key, sources in missing.items() if not sources][::-1]
    left = set(missing)
    while ready:
        key = ready.pop()
        left.discard(key)
        yield graph.nodes[key]
        for sink in reversed(sinks.get(key, ())):
            missing[sink].discard(key)
            if not missing[sink]:
                ready.append(sink)
    if left:
        node = graph.nodes[next(key for key in missing if key in left)]
        raise UserError("it is on a cycle, or behind one", node.where, "the array runs graphs without cycles: cut it")


def _formats(drawing: Drawing, name: str) -> dict[str, Format]:
    """The formats of the tensors."""
    text = drawing.attributes.get("comment", "")
    found = dict[str, Format]()
    for part in text.split(","):
        parsed = _FORMAT.fullmatch(part.strip())
        if parsed is None:
            raise UserError(f"'{shown(part)}' is no format of a tensor", name,
                            'write them as attribute of the graph: comment="X=ss01,B=ss01,C=ss10"')
        tensor, letters, modes = parsed[1], parsed[2] or "", parsed[3] or ""
        order = tuple(map(int, modes)) if modes else natural(len(letters)).order
        if set(letters) - {"s", "d"} or sorted(order) != list(range(len(letters))):
            raise UserError(f"format '{shown(part.strip())}' is not a letter d or s for each index, then the modes in stored "
                            "order", name, "use s (compressed) and d (dense)")
        if tensor in found:
            raise UserError(f"tensor {tensor} has two formats", name, "give it one")
        found[tensor] = Format(letters, order)
    return found
