"""Write a sparse graph in the Graphviz dialect of the public Sparse Abstract Machine tools.

Numbered nodes with a `type` and its attributes, edges with the stream's `type` and the role as `comment`. Two
nodes are added that our graphs do not need: `broadcast` where an output feeds several inputs, and `repsiggen`
in front of each repeater. The guide of a reducer has no counterpart there and is written as an edge of its
own role, `guide`.
"""

from __future__ import annotations

from .sam import (
    CRD,
    REF,
    VAL,
    Alu,
    Dropper,
    Joiner,
    LevelWriter,
    Op,
    Pin,
    Reducer,
    Repeater,
    SamGraph,
    Scanner,
    Values,
)


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

    made = {name: node(name, **_attributes(graph, op)) for name, op in graph.nodes.items()}
    signals = {name: node(f"{name}_signal", type="repsiggen", index=op.index)
               for name, op in graph.nodes.items() if isinstance(op, Repeater)}
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
            is_signal = pin.node in signals and pin.port == "crd"
            edge(origin, signals[pin.node] if is_signal else made[pin.node], kind, _role(graph, pin))
    return "\n".join([*lines, *extra, "}"]) + "\n"


def _attributes(graph: SamGraph, op: Op) -> dict[str, object]:
    """The dialect's attributes of a node."""
    if isinstance(op, Scanner):
        return {"type": "fiberlookup", "index": op.index, "tensor": op.slot,
                "mode": _mode(graph, op.slot, op.level),
                "format": "dense" if op.dense else "compressed", "src": "true", "root": str(op.root).lower()}
    if isinstance(op, Repeater):
        return {"type": "repeat", "index": op.index, "tensor": op.slot, "root": str(op.root).lower()}
    if isinstance(op, Joiner):
        return {"type": op.op, "index": op.index}
    if isinstance(op, Values):
        return {"type": "arrayvals", "tensor": op.slot}
    if isinstance(op, Alu):
        constant = op.b if op.a is None else op.a
        shown = {"type": "add", "sub": int(op.op == "sub")} if op.op != "mul" else {"type": "mul"}
        return {**shown} if constant is None else {**shown, "const": constant}
    if isinstance(op, Reducer):
        return {"type": "reduce", "index": op.index}
    if isinstance(op, Dropper):
        return {"type": "crddrop", "outer": op.outer, "inner": op.inner or VAL,
                "mode": int(op.form == "coordinate")}
    if isinstance(op, LevelWriter):
        return {"type": "fiberwrite", "index": op.index, "tensor": op.slot,
                "mode": _mode(graph, op.slot, op.level), "format": "compressed", "sink": "true"}
    return {"type": "fiberwrite", "tensor": op.slot, "mode": "vals", "sink": "true"}


def _mode(graph: SamGraph, slot: str, level: int) -> str:
    form = graph.formats[slot]
    return form[len(form) // 2 + level]


def _role(graph: SamGraph, pin: Pin) -> str:
    """What an input is to its node."""
    op = graph.nodes[pin.node]
    if isinstance(op, Dropper):
        return f"{pin.port}-{op.outer if pin.port == 'outer' else op.inner or VAL}"
    if isinstance(op, Reducer) and pin.port == CRD:
        return "guide"
    if isinstance(op, Joiner):
        return f"in{pin.port[-1]}"
    return "" if op.inputs[pin.port] in (CRD, REF) else pin.port
