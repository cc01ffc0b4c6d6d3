"""Verifier of the sparse graph: wiring, stream types, and that streams which meet come from the same loops.

Every stream gets a *space*: for each nested fiber level the index variable and a tag of the coordinate set it
runs over. What the outputs of an operation run over is its own rule (`sam_ops`): scanners open a level with a tag of
their own; joiners replace it by the intersection or union of two tags, so parallel joiners of the same coordinates
agree; reducers close a level; droppers mark the level they thin out. Two streams may meet token by token only in the
same space: this catches what equal depth alone would let pass.
"""

from __future__ import annotations

from ...tensors.fibertree import DENSE
from .mapped import STORE, VALUES
from .sam import Pin, SamGraph
from .sam_levels import LevelWriter
from .sam_ops import Space, SpaceError
from .sam_scatter import ScatterWriter
from .sam_tags import Tags


def verify(graph: SamGraph) -> SamGraph:
    """The graph itself, if nothing is wrong with it."""
    found = faults(graph)
    assert not found, "lowering gives consistent graphs: " + "; ".join(found)
    return graph


def faults(graph: SamGraph) -> list[str]:
    """What is wrong with a graph, as sentences; empty if it is consistent."""
    found = _wiring(graph)
    if found:
        return found
    try:
        order = graph.topological()
    except ValueError as error:
        return [f"{error} is on a cycle"]
    feeds, tags = graph.feeds, Tags()
    spaces: dict[Pin, Space] = {}
    written: dict[int, Space] = {}
    stored: set[tuple[str, int | str]] = set()
    scattered: ScatterWriter | None = None
    for name in order:
        op = graph.nodes[name]
        given = {port: spaces[feeds[Pin(name, port)]] for port in op.inputs}
        try:
            outputs = op.spaces(name, given)
        except SpaceError as error:
            return [f"{name}: {error}"]
        spaces.update({Pin(name, port): tags.of(space) for port, space in outputs.items()})
        if op.moved and op.moved.direction == STORE:
            space = given["at" if isinstance(op, ScatterWriter) else "wr"]
            # Values of parts have slots of their own, and rows that are the same in each.
            if (op.moved.slot, op.moved.level) in stored or written.get(op.moved.level, space) != space:
                found.append(f"{name}: this level is written twice")
            stored.add((op.moved.slot, op.moved.level))
            written[op.moved.level] = space
            scattered = op if isinstance(op, ScatterWriter) else scattered
            if isinstance(op, ScatterWriter) and given["at"][-1] != given["val"][-1]:
                found.append(f"{name}: the values are not those of the coordinates")
    return found + _result(graph, written, next(iter(graph.formats.values())), scattered, tags)


def _above(values: Space, below: int, tags: Tags) -> tuple[str, object]:
    """The level above those in which values have places, as droppers leave it, of so many dense ones above the last."""
    level = values[-2]
    for index, outer in values[-3:-3 - below:-1]:
        level, = tags.of(((index, ("drop", outer, level[1])),))
    return level


def _wiring(graph: SamGraph) -> list[str]:
    """Faults of edges: unknown pins, inputs driven never or twice, types, nodes without use."""
    found = []
    driven: set[Pin] = set()
    for edge in graph.edges:
        source, sink = graph.nodes.get(edge.src.node), graph.nodes.get(edge.dst.node)
        if source is None or edge.src.port not in source.outputs:
            found.append(f"{edge.src} is no output")
        elif sink is None or edge.dst.port not in sink.inputs:
            found.append(f"{edge.dst} is no input")
        elif graph.kind(edge.src) != sink.inputs[edge.dst.port]:
            given, wanted = graph.kind(edge.src), sink.inputs[edge.dst.port]
            found.append(f"{edge.src} gives {given} but {edge.dst} takes {wanted}")
        if edge.dst in driven:
            found.append(f"{edge.dst} is driven twice")
        driven.add(edge.dst)
    used = {edge.src.node for edge in graph.edges}
    for name, op in graph.nodes.items():
        found += [f"{name}.{port} is not driven" for port in op.inputs if Pin(name, port) not in driven]
        if op.outputs and name not in used:
            found.append(f"{name} feeds nothing")
    return found


def _result(graph: SamGraph, written: dict[int, Space], form: str, scattered: ScatterWriter | None,
            tags: Tags) -> list[str]:
    """Faults of the writers: each compressed level once, in order, nested in each other.

    scattered: what writes values at their coordinates, of levels below the last one that is written.
    """
    if VALUES not in written:
        return ["no values are written"]
    values = written.pop(VALUES)
    if sorted(written) != [level for level in range(len(values)) if level in written or form[level:level + 1] != DENSE]:
        return [f"levels {sorted(written)} are written but the values are {len(values)} levels deep"]
    found = []
    for level, space in written.items():
        writer = next(op for op in graph.nodes.values() if isinstance(op, LevelWriter) and op.level == level)
        if len(space) != level + 1 or space[-1][0] != writer.index:
            found.append(f"level {level} of {writer.slot} does not get the coordinates of {writer.index}")
        elif level - 1 in written and space[-2] != written[level - 1][-1]:
            found.append(f"level {level} of {writer.slot} is not nested in the level above")
    inmost = _above(values, scattered.below, tags) if scattered and written else values[-1] if values else None
    if written and not found and inmost != written[max(written)][-1]:
        found.append("the values are not those of the innermost level")
    return found
