"""The sparse graph: operations joined by typed streams.

Nodes are operations (`sam_ops`); edges carry coordinates (crd), references (ref) or values (val), and one output may feed many
inputs. A stream of depth d nests d fibers.

Source: the Sparse Abstract Machine, which Onyx JSSC II-B builds on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

from .sam_ops import OPS, Operation


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


def _fields(op: Operation) -> dict[str, Any]:
    """What an operation was made of."""
    assert is_dataclass(op), "operations are dataclasses"
    return asdict(op)


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
    nodes: Mapping[str, Operation]
    edges: tuple[Edge, ...]

    @property
    def feeds(self) -> dict[Pin, Pin]:
        """The output that drives each input."""
        return {edge.dst: edge.src for edge in self.edges}

    def kind(self, pin: Pin) -> str:
        """What an output carries: crd, ref or val."""
        return self.nodes[pin.node].outputs[pin.port]

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
            fields = " ".join(f"{key}={value}" for key, value in _fields(op).items())
            drivers = " ".join(f"{port}<-{feeds.get(Pin(name, port), '?')}" for port in op.inputs)
            lines.append(f"{name:<16} {type(op).__name__}({fields}) {drivers}".rstrip())
        return "\n".join(lines) + "\n"

    def to_json(self) -> str:
        """The graph as JSON; `from_json` reads it back."""
        return json.dumps({
            "title": self.title, "order": self.order, "formats": dict(self.formats),
            "nodes": [{"name": name, "type": type(op).__name__, **_fields(op)} for name,
                      op in self.nodes.items()],
            "edges": [[str(edge.src), str(edge.dst)] for edge in self.edges]}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> SamGraph:
        """A graph that `to_json` wrote, of operations whose modules are imported."""
        data: dict[str, Any] = json.loads(text)
        nodes: dict[str, Operation] = {}
        for entry in data["nodes"]:
            fields: dict[str, Any] = {
                key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
            name, kind = fields.pop("name"), fields.pop("type")
            nodes[name] = OPS[kind](**fields)
        edges = tuple(Edge(Pin.parse(src), Pin.parse(dst)) for src, dst in data["edges"])
        return cls(data["title"], tuple(data["order"]), data["formats"], nodes, edges)
