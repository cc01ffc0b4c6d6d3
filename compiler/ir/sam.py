"""The sparse graph: primitives joined by typed streams, and its verifier.

Nodes are what the fabric does (Onyx JSSC III) before it is known which tile does it; edges carry coordinates
(crd), references (ref) or values (val), and one output may feed many inputs. A stream of depth d nests d
fibers. Port names are those of the primitives' descriptions, except that the lookup of values gives `val`.

Source: the Sparse Abstract Machine, which Onyx JSSC II-B builds on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

Ports = dict[str, str]
CRD, REF, VAL = "crd", "ref", "val"


@dataclass(frozen=True)
class Scanner:
    """Reads a level of an operand: the fibers its references name, or the root fiber."""

    slot: str
    level: int
    index: str
    dense: bool = False
    root: bool = False
    outputs: ClassVar[Ports] = {"crd": CRD, "ref_o": REF}

    @property
    def inputs(self) -> Ports:
        return {} if self.root else {"ref": REF}


@dataclass(frozen=True)
class Repeater:
    """Repeats a reference (the root reference, if `root`) for every coordinate."""

    slot: str
    index: str
    root: bool = False
    outputs: ClassVar[Ports] = {"ref_o": REF}

    @property
    def inputs(self) -> Ports:
        return {"crd": CRD} if self.root else {"ref": REF, "crd": CRD}


@dataclass(frozen=True)
class Joiner:
    """Intersects or unites two coordinate streams; `refs` says which sides bring references along."""

    op: str
    index: str
    refs: tuple[bool, bool] = (True, True)

    @property
    def inputs(self) -> Ports:
        return {name: kind for name, kind, used in (("crd0", CRD, True), ("ref0", REF, self.refs[0]),
                                                    ("crd1", CRD, True), ("ref1", REF, self.refs[1])) if used}

    @property
    def outputs(self) -> Ports:
        return {name: kind for name, kind, used in (("crd", CRD, True), ("ref0_o", REF, self.refs[0]),
                                                    ("ref1_o", REF, self.refs[1])) if used}


@dataclass(frozen=True)
class Values:
    """Looks up values of an operand; of the root reference, if `root` (a scalar outside all loops)."""

    slot: str
    root: bool = False
    outputs: ClassVar[Ports] = {"val": VAL}

    @property
    def inputs(self) -> Ports:
        return {} if self.root else {"ref": REF}


@dataclass(frozen=True)
class Alu:
    """`a op b`; an operand that is a constant here has no port."""

    op: str
    a: int | None = None
    b: int | None = None
    outputs: ClassVar[Ports] = {"res": VAL}

    @property
    def inputs(self) -> Ports:
        return {name: VAL for name, constant in (("a", self.a), ("b", self.b)) if constant is None}


@dataclass(frozen=True)
class Reducer:
    """Sums the innermost fibers, one for every coordinate of the level above if `guided`."""

    index: str
    guided: bool
    outputs: ClassVar[Ports] = {"val_o": VAL}

    @property
    def inputs(self) -> Ports:
        return {"val": VAL, "crd": CRD} if self.guided else {"val": VAL}


@dataclass(frozen=True)
class Dropper:
    """Removes coordinates of level `outer` with an empty fiber (form ``coordinate``) or a zero value
    (``value``)."""

    form: str
    outer: str
    inner: str = ""
    outputs: ClassVar[Ports] = {"outer_o": CRD, "inner_o": "inner"}

    @property
    def inputs(self) -> Ports:
        return {"outer": CRD, "inner": VAL if self.form == "value" else CRD}


@dataclass(frozen=True)
class LevelWriter:
    """Stores coordinates as a level of the result."""

    slot: str
    level: int
    index: str
    inputs: ClassVar[Ports] = {"wr": CRD}
    outputs: ClassVar[Ports] = {}


@dataclass(frozen=True)
class ValuesWriter:
    """Stores the values of the result."""

    slot: str
    inputs: ClassVar[Ports] = {"wr": VAL}
    outputs: ClassVar[Ports] = {}


Op = Scanner | Repeater | Joiner | Values | Alu | Reducer | Dropper | LevelWriter | ValuesWriter
OPS = {cls.__name__: cls for cls in (Scanner, Repeater, Joiner, Values, Alu, Reducer, Dropper, LevelWriter,
                                     ValuesWriter)}


@dataclass(frozen=True, order=True)
class Pin:
    """A port of a node."""

    node: str
    port: str

    def __str__(self) -> str:
        return f"{self.node}.{self.port}"

    @classmethod
    def parse(cls, text: str) -> Pin:
        node, _, port = text.rpartition(".")
        return cls(node, port)


@dataclass(frozen=True)
class Edge:
    """A stream from an output to an input."""

    src: Pin
    dst: Pin


@dataclass(frozen=True)
class SamGraph:
    """A sparse graph.

    Parameters
    ----------
    title : str      The statement.
    order : tuple    The loop order.
    formats : dict   Of every slot, the result first; as text, such as ``ss10``.
    nodes : dict     By name.
    edges : tuple    Each input is the destination of one.
    """

    title: str
    order: tuple[str, ...]
    formats: Mapping[str, str]
    nodes: Mapping[str, Op]
    edges: tuple[Edge, ...]

    @property
    def feeds(self) -> dict[Pin, Pin]:
        """The output that drives each input."""
        return {edge.dst: edge.src for edge in self.edges}

    def kind(self, pin: Pin) -> str:
        """What an output carries: crd, ref or val."""
        op = self.nodes[pin.node]
        kind = op.outputs[pin.port]
        return op.inputs["inner"] if kind == "inner" else kind

    def topological(self) -> list[str]:
        """Node names, producers first, in declared order otherwise.

        Raises ValueError naming a node on a cycle.
        """
        sources: dict[str, set[str]] = {name: set() for name in self.nodes}
        for edge in self.edges:
            sources[edge.dst.node].add(edge.src.node)
        done: dict[str, None] = {}
        while len(done) < len(self.nodes):
            ready = [name for name in self.nodes if name not in done and sources[name] <= done.keys()]
            if not ready:
                raise ValueError(next(name for name in self.nodes if name not in done))
            done.update(dict.fromkeys(ready))
        return list(done)

    def to_text(self) -> str:
        """One line per node, producers first, with what drives each input."""
        feeds = self.feeds
        lines = [f"sam  {self.title}", f"order  {' '.join(self.order)}",
                 "formats  " + "  ".join(f"{slot}={form or 'none'}" for slot, form in self.formats.items())]
        for name in self.topological():
            op = self.nodes[name]
            fields = " ".join(f"{key}={value}" for key, value in asdict(op).items())
            drivers = " ".join(f"{port}<-{feeds.get(Pin(name, port), '?')}" for port in op.inputs)
            lines.append(f"{name:<16} {type(op).__name__}({fields}) {drivers}".rstrip())
        return "\n".join(lines) + "\n"

    def to_json(self) -> str:
        """The graph as JSON; `from_json` reads it back."""
        return json.dumps({
            "title": self.title, "order": self.order, "formats": dict(self.formats),
            "nodes": [{"name": name, "type": type(op).__name__, **asdict(op)} for name,
                      op in self.nodes.items()],
            "edges": [[str(edge.src), str(edge.dst)] for edge in self.edges]}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> SamGraph:
        """A graph that `to_json` wrote."""
        data: dict[str, Any] = json.loads(text)
        nodes: dict[str, Op] = {}
        for entry in data["nodes"]:
            fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key,
                                      value in entry.items()}
            name, kind = fields.pop("name"), fields.pop("type")
            nodes[name] = OPS[kind](**fields)
        edges = tuple(Edge(Pin.parse(src), Pin.parse(dst)) for src, dst in data["edges"])
        return cls(data["title"], tuple(data["order"]), data["formats"], nodes, edges)
