"""Write a sparse graph in the Graphviz dialect of the public Sparse Abstract Machine tools.

Numbered nodes with a `type` and its attributes, edges with the stream's `type` and the role as `comment`: ``in-B`` and
``out-B`` at joiners, for the tensor whose stream it is. Two nodes are added that our graphs do not need: `broadcast` where
an output feeds several inputs, and `repsiggen` in front of each repeater. The guide of a reducer has no counterpart there
and is written as an edge of its own role, `guide`. `sam_read` reads what stands here.
"""

from __future__ import annotations

from .sam import Pin, SamGraph
from .sam_ops import CRD, REF
from .sam_reduce import Accumulator
from .sam_streams import Dropper, Joiner


def to_dot(graph: SamGraph) -> str:
    """The graph as Graphviz text."""
    formats = ",".join(f"{slot}={form or 'none'}" for slot, form in graph.formats.items())
    title = graph.title.replace('"', "'")
    lines = ["digraph SAM {", f'  comment="{formats}"', f'  label="{title}"']
    numbers: dict[str, int] = {}
    extra: list[str] = []

    def node(label: str, **attributes: object) -> int:
        number = len(numbers)
        numbers[f"{label}#{number}"] = number
        shown = " ".join(f'{key}="{value}"' for key, value in {"label": label, **attributes}.items())
        lines.append(f"  {number} [{shown}]")
        return number

    def edge(source: int, sink: int, kind: str, role: str) -> None:
        extra.append(f'  {source} -> {sink} [label="{kind}" type="{kind}" comment="{role}"]')

    made = {name: node(name, **op.dialect(graph.formats)) for name, op in graph.nodes.items()}
    signals = {name: node(f"{name}_signal", type="repsiggen", index=op.dialect(graph.formats)["index"])
               for name, op in graph.nodes.items() if op.signal}
    for name, number in signals.items():
        edge(number, made[name], "repsig", "")
    sinks: dict[Pin, list[Pin]] = {}
    for one in graph.edges:
        sinks.setdefault(one.src, []).append(one.dst)
    for source, pins in sinks.items():
        kind, origin = graph.kind(source), made[source.node]
        leaves = _leaves(graph, source)
        if len(pins) > 1:
            origin = node(f"{source.node}_{source.port}_broadcast", type="broadcast")
            edge(made[source.node], origin, kind, leaves)
        for pin in pins:
            op = graph.nodes[pin.node]
            role = _side(graph, pin) if isinstance(op, Joiner) else op.role(pin.port) or leaves
            edge(origin, (signals if op.signal == pin.port else made)[pin.node], kind, role)
    return "\n".join([*lines, *extra, "}"]) + "\n"


def _leaves(graph: SamGraph, pin: Pin) -> str:
    """Which of its outputs of this type a node gives, where it has several."""
    op = graph.nodes[pin.node]
    if isinstance(op, Joiner):
        return f"out-{carried(graph, pin)}" if graph.kind(pin) == REF else ""
    if isinstance(op, Accumulator) and graph.kind(pin) == CRD:
        return f"out-{op.inner[0 if pin.port == 'outer_o' else -1]}"
    return op.role(pin.port.removesuffix("_o")) if isinstance(op, Dropper) else ""


def carried(graph: SamGraph, pin: Pin) -> str:
    """The slot whose reference leaves an output."""
    feeds = graph.feeds
    while isinstance(graph.nodes[pin.node], Joiner):
        pin = feeds[Pin(pin.node, pin.port.removesuffix("_o"))]
    slot = getattr(graph.nodes[pin.node], "slot", "")
    assert isinstance(slot, str) and slot, "a reference comes from a scanner or a repeater"
    return slot


def _side(graph: SamGraph, pin: Pin) -> str:
    """What an input is to its joiner: the side of a tensor, or of coordinates alone."""
    feeds, reference = graph.feeds, Pin(pin.node, f"ref{pin.port[-1]}")
    return f"in-{carried(graph, feeds[reference]) if reference in feeds else pin.port[-1]}"
