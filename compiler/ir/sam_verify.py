"""Verifier of the sparse graph: wiring, stream types, and that streams which meet come from the same loops.

Every stream gets a *space*: for each nested fiber level the index variable and a tag of the coordinate set it
runs over. Scanners open a level with a tag of their own; joiners replace it by the intersection or union of
two tags, so parallel joiners of the same coordinates agree; reducers close a level; droppers mark the level
they thin out. Two streams may meet token by token only in the same space: this catches what equal depth alone
would let pass.
"""

from __future__ import annotations

from .sam import (
    Alu,
    Dropper,
    Joiner,
    LevelWriter,
    Pin,
    Reducer,
    Repeater,
    SamGraph,
    Scanner,
    Values,
    ValuesWriter,
)

Space = tuple[tuple[str, object], ...]


class SpaceError(Exception):
    """A node whose input streams do not fit together."""


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
    feeds = graph.feeds
    spaces: dict[Pin, Space] = {}
    written: dict[int, Space] = {}
    for name in order:
        op = graph.nodes[name]
        given = {port: spaces[feeds[Pin(name, port)]] for port in op.inputs}
        try:
            outputs = _spaces(name, op, given)
        except SpaceError as error:
            return [f"{name}: {error}"]
        spaces.update({Pin(name, port): space for port, space in outputs.items()})
        if isinstance(op, (LevelWriter, ValuesWriter)):
            level = op.level if isinstance(op, LevelWriter) else -1
            if level in written:
                found.append(f"{name}: this level is written twice")
            written[level] = given["wr"]
    return found + _result(graph, written)


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


def _need(condition: bool, complaint: str) -> None:
    if not condition:
        raise SpaceError(complaint)


def _spaces(name: str, op: object, given: dict[str, Space]) -> dict[str, Space]:
    """The spaces of a node's outputs from those of its inputs."""
    if isinstance(op, Scanner):
        space = (*given.get("ref", ()), (op.index, ("scan", name)))
        return {"crd": space, "ref_o": space}
    if isinstance(op, Repeater):
        _need(bool(given["crd"]) and given["crd"][-1][0] == op.index,
              f"the coordinates are not those of {op.index}")
        _need(given.get("ref", ()) == given["crd"][:-1],
              "references and coordinates are not of the same loops")
        return {"ref_o": given["crd"]}
    if isinstance(op, Joiner):
        return _join(op, given)
    if isinstance(op, Values):
        return {"val": given.get("ref", ())}
    if isinstance(op, Alu):
        _need(bool(given), "an operand must be a stream")
        _need(len(set(given.values())) == 1, "the operands are not of the same loops")
        return {"res": next(iter(given.values()))}
    if isinstance(op, Reducer):
        space = given["val"]
        _need(bool(space) and space[-1][0] == op.index, f"the innermost level is not {op.index}")
        _need(given.get("crd", ()) == space[:-1], "the guide is not the level above" if op.guided
              else "only the outermost level can be summed without a guide")
        return {"val_o": space[:-1]}
    if isinstance(op, Dropper):
        return _drop(name, op, given)
    return {}


def _join(op: Joiner, given: dict[str, Space]) -> dict[str, Space]:
    _need(op.op in ("intersect", "union"), f"{op.op} is no way to join")
    left, right = given["crd0"], given["crd1"]
    _need(left[:-1] == right[:-1], "the two sides are not of the same loops")
    _need(left[-1][0] == right[-1][0] == op.index, f"the coordinates are not those of {op.index}")
    for side, space in (("ref0", left), ("ref1", right)):
        _need(given.get(side, space) == space, f"{side} does not belong to its coordinates")
    joined = (*left[:-1], (op.index, (op.op, left[-1][1], right[-1][1])))
    return dict.fromkeys(op.outputs, joined)


def _drop(name: str, op: Dropper, given: dict[str, Space]) -> dict[str, Space]:
    outer, inner = given["outer"], given["inner"]
    _need(op.form in ("coordinate", "value"), f"{op.form} is no form of dropping")
    _need(bool(outer) and outer[-1][0] == op.outer, f"the coordinates are not those of {op.outer}")
    thinned = (*outer[:-1], (op.outer, ("drop", name)))
    if op.form == "value":
        _need(inner == outer, "coordinates and values are not of the same loops")
        return {"outer_o": thinned, "inner_o": thinned}
    _need(inner[:-1] == outer and inner[-1][0] == op.inner,
          f"the inner stream is not level {op.inner} below {op.outer}")
    return {"outer_o": thinned, "inner_o": (*thinned, inner[-1])}


def _result(graph: SamGraph, written: dict[int, Space]) -> list[str]:
    """Faults of the writers: each level once, in order, nested in each other."""
    if -1 not in written:
        return ["no values are written"]
    values = written.pop(-1)
    if sorted(written) != list(range(len(values))):
        return [f"levels {sorted(written)} are written but the values are {len(values)} levels deep"]
    found = []
    for level, space in written.items():
        writer = next(op for op in graph.nodes.values() if isinstance(op, LevelWriter) and op.level == level)
        if len(space) != level + 1 or space[-1][0] != writer.index:
            found.append(f"level {level} of {writer.slot} does not get the coordinates of {writer.index}")
        elif level and space[-2] != written[level - 1][-1]:
            found.append(f"level {level} of {writer.slot} is not nested in the level above")
    if values and not found and values[-1] != written[len(values) - 1][-1]:
        found.append("the values are not those of the innermost level")
    return found
