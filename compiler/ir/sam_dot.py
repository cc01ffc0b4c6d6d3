"""Write a sparse graph in the Graphviz dialect of the public Sparse Abstract Machine tools.

Numbered nodes with a `type` and its attributes, edges with the stream's `type` and the role as `comment`. Two
nodes are added that our graphs do not need: `broadcast` where an output feeds several inputs, and `repsiggen`
in front of each repeater. The guide of a reducer has no counterpart there and is written as an edge of its
own role, `guide`.
"""

from __future__ import annotations

from .sam import Pin, SamGraph


def to_dot(graph: SamGraph) -> str:
    """The graph as Graphviz text."""
    formats = ",".join(f"{slot}={form or 'none'}" for slot, form in graph.formats.items())
    lines = ["digraph SAM {", f'  comment="{formats}"']
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
        if len(pins) > 1:
            origin = node(f"{source.node}_{source.port}_broadcast", type="broadcast")
            edge(made[source.node], origin, kind, "")
        for pin in pins:
            op = graph.nodes[pin.node]
            edge(origin, (signals if op.signal == pin.port else made)[pin.node], kind, op.role(pin.port))
    return "\n".join([*lines, *extra, "}"]) + "\n"
