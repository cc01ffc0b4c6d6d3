"""Whether the FIFOs of a mapped graph are enough for any operands: a certificate, or the paths that may wait for each other.

A stream nests: a token of depth d stands for a fiber at depth d + 1. Seen at one depth, a graph is a marked graph, in which
each block fires once for each token of that depth:

    forward     a block fires for token n when its inputs have come; where it has to see the token after it to end the
                fiber of n (a scanner, what joins a deeper stream with this one), for n + 1: weight -1
    backward    a source fires for token n when its sink has fired for n - c, of a net that holds c tokens: weight c. A net
                of deeper tokens holds no whole fiber for sure: weight 0

A marked graph is live if every circle has a positive weight (Commoner, Holt, Even, Pnueli 1971). So there is a certificate
if that holds at every depth; circles of deeper nets alone are looked at there. An accumulator and a level that is written by
the graph give nothing before all of what they sum or hold has come, so a circle through one needs a net around it at the depth
of what it holds.

Where paths meet again, then, the one that is not summed, say, has to hold whole fibers of the other one: there is no bound.

    x -+-> sum -> repeat -+-> times      circle: x, sum, repeat (-1), back along the fiber to x (0)
       +------------------+

Nets are taken to hold what the FIFO of their input does, two tokens, and pass-throughs their depth; registers of routes come
on top. Copies of a program are looked at one by one (`unroll.py` says why they do not wait for each other).

Needs:   MappedGraph, acyclic.
Gives:   a sentence for each circle found, at most one a depth.
Source:  the theorem; what each primitive sees before it gives is in `hw/sparse` and `hw/memory`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter

from ...hw.arch.primitive import (
    ACCUMULATOR,
    ALU,
    DIVIDER,
    DROPPER,
    JOINER,
    LEVEL,
    PASS_THROUGH,
    PRIMITIVES,
    REDUCER,
    REPEATER,
    SCATTER,
    Flow,
)
from ..ir.mapped import Block, MappedGraph

# Tokens that the FIFO of a core input holds.
HELD = 2
# Inputs whose next token is looked at before a fiber of this one ends: those a level above the deepest input or output.
ABOVE = {LEVEL.name: "ref", REPEATER.name: "ref", REDUCER.name: "crd", DROPPER.name: "outer", ACCUMULATOR.name: "outer"}


@dataclass(frozen=True)
class Wire:
    """A net to one sink, by ports of primitives; depth: of the tokens in it."""

    source: str
    out: str
    sink: str
    port: str
    depth: int
    holds: int

    def __str__(self) -> str:
        return f"{self.source}.{self.out} -> {self.sink}.{self.port}"


@dataclass(frozen=True)
class _Arc:
    """A dependence: `begin` fires before `end`, up to a weight."""

    begin: str
    end: str
    weight: int
    wire: Wire
    forward: bool


def uncertified(graph: MappedGraph, pass_depth: int) -> tuple[str, ...]:
    """What may wait for itself whatever the operands are, a sentence each; nothing for a graph with a certificate.

    pass_depth: tokens that a pass-through holds.
    """
    try:
        wires = depths(graph, pass_depth)
    except _Unknown as unknown:
        return (str(unknown),)
    found = []
    for depth in sorted({wire.depth for wire in wires}):
        if circle := _circle(graph, [wire for wire in wires if wire.depth >= depth], depth):
            found.append(_told(circle, depth))
    return tuple(found)


class _Unknown(Exception):
    """A graph that is not understood."""


def depths(graph: MappedGraph, pass_depth: int) -> list[Wire]:
    """The nets between primitives, with the depth of their tokens. Raises `_Unknown` for streams that do not fit."""
    feeds: dict[str, dict[str, tuple[str, str]]] = {name: {} for name, block in graph.blocks.items() if block.primitive}
    for net in graph.nets:
        for sink in net.sinks:
            if sink.block in feeds and net.source.block in feeds and net.layer == "data":
                feeds[sink.block][_port(graph.blocks[sink.block], sink.port, Flow.IN)] = \
                    (net.source.block, _port(graph.blocks[net.source.block], net.source.port, Flow.OUT))
    depth: dict[tuple[str, str], int] = {}
    wires = []
    before = {name: {source for source, _ in each.values()} for name, each in feeds.items()}
    for name in TopologicalSorter(before).static_order():
        block, inputs = graph.blocks[name], {port: depth[source] for port, source in feeds[name].items()}
        for out, found in _outputs(block, inputs).items():
            depth[name, out] = found
        for port, (source, out) in feeds[name].items():
            more = pass_depth if block.primitive == PASS_THROUGH.name else 0
            wires.append(Wire(source, out, name, port, depth[source, out], HELD + more))
    merged = {name for name, block in graph.blocks.items()
              if block.primitive == DROPPER.name and block.config.get("form") in ("coordinate", 0)}
    for wire in wires:
        if wire.source in merged and wire.out == "inner_o" and not _only_written(graph, wires, wire.sink):
            raise _Unknown(f"stops on {wire} are merged, so that how it meets other streams is not known")
    return wires


def _port(block: Block, tile_port: str, flow: Flow) -> str:
    """The stream of a primitive that uses a tile port."""
    return next(port.name for port in PRIMITIVES[block.primitive].ports if (port.tile_port, port.flow) == (tile_port, flow))


def _only_written(graph: MappedGraph, wires: list[Wire], sink: str) -> bool:
    """Whether tokens go from a block into others that only store them, and nowhere else."""
    if graph.blocks[sink].primitive != PASS_THROUGH.name:
        return _written(graph.blocks[sink])
    return all(_only_written(graph, wires, wire.sink) for wire in wires if wire.source == sink)


def _written(block: Block) -> bool:
    """Whether a block only takes tokens to store them."""
    return block.primitive == SCATTER.name or (block.primitive == LEVEL.name and block.config.get("output") in ("block", 2))


def _outputs(block: Block, inputs: Mapping[str, int]) -> dict[str, int]:
    """The depth of each output of a block."""
    name, config = block.primitive, block.config
    deepest = max(inputs.values(), default=0)
    if name == LEVEL.name:
        how = config.get("output")
        if how in ("scan", 0):
            # What is scanned from its root begins at the outermost depth.
            return dict.fromkeys(("crd", "ref_o"), inputs.get("ref", 0) + 1)
        return {} if _written(block) else {"crd": inputs.get("ref", 0), "ref_o": deepest}
    if name == SCATTER.name:
        return {}
    if name == REPEATER.name:
        return {"ref_o": inputs["crd"]}
    if name == REDUCER.name:
        return {"val_o": inputs["val"] - 1}
    if name == DROPPER.name:
        return {"outer_o": inputs["outer"], "inner_o": inputs["inner"]}
    if name == ACCUMULATOR.name:
        return {"outer_o": inputs["crd"] - 2, "crd_o": inputs["crd"] - 1, "val_o": inputs["crd"] - 1}
    if name in (ALU.name, DIVIDER.name, JOINER.name, PASS_THROUGH.name):
        if len(set(inputs.values())) > 1:
            raise _Unknown(f"streams that meet in {block.name} are of different depths")
        return dict.fromkeys((port.name for port in PRIMITIVES[name].outputs), deepest)
    raise _Unknown(f"{block.name} is a {name}, of which it is not known what it waits for")


def _arcs(graph: MappedGraph, wires: list[Wire], depth: int) -> Iterator[_Arc]:
    """The dependences of blocks at a depth. Weights are in units of more than there are wires, so that single ones, which a
    forward arc takes off, tell a circle of weight 0 from one without any wire of this depth."""
    unit = 2 * len(wires) + 1
    for wire in wires:
        here, source, block = wire.depth == depth, graph.blocks[wire.source], graph.blocks[wire.sink]
        # The ends of both depths leave an accumulator in one step, each on its own.
        sees = here and ABOVE.get(block.primitive) == wire.port and not _in_step(block) and \
            source.primitive != ACCUMULATOR.name
        begin = wire.source if not _holds(source) else f"{wire.source} gives {wire.out == 'outer_o'}"
        yield _Arc(begin, wire.sink, -unit * sees - here, wire, True)
        yield _Arc(wire.sink, begin, unit * wire.holds * here, wire, False)
        until = _holds_until(block, wire)
        if until is None or until < depth:
            continue
        # What holds fibers takes all of one before it gives anything, a coordinate first, and the next one when that has left.
        takes, first, rest = wire.sink, f"{wire.sink} gives True", f"{wire.sink} gives False"
        yield _Arc(takes, first, -int(until == depth), wire, True)
        yield _Arc(rest, takes, unit * (until == depth), wire, False)
        yield _Arc(first, rest, 0, wire, True)
        yield _Arc(rest, first, unit * (until <= depth <= until + 1), wire, False)


def _in_step(block: Block) -> bool:
    """Whether all inputs of a block are of one depth."""
    return (block.primitive == DROPPER.name and block.config.get("form") in ("value", 1)) or \
        (block.primitive == LEVEL.name and block.config.get("output") in ("lookup", 1))


def _holds(block: Block) -> bool:
    """Whether a block takes whole fibers before it gives anything."""
    return block.primitive == ACCUMULATOR.name or (block.primitive == LEVEL.name and block.config.get("input") in ("stream", 1)
                                                   and block.config.get("output") in ("scan", "lookup", 0, 1))


def _holds_until(block: Block, wire: Wire) -> int | None:
    """The depth of a token of which a block takes all of a wire's before it gives anything; None if it does not."""
    if not _holds(block):
        return None
    if block.primitive == ACCUMULATOR.name:
        return wire.depth - 2 - int(block.config.get("use_outer", 0)) if wire.port == "crd" else None
    return 0 if wire.port == "wr" else None


def _circle(graph: MappedGraph, wires: list[Wire], depth: int) -> list[_Arc]:
    """A circle of negative weight (Bellman and Ford); none if there is none."""
    arcs = list(_arcs(graph, wires, depth))
    blocks = {arc.begin for arc in arcs} | {arc.end for arc in arcs}
    distance, came = dict.fromkeys(blocks, 0), dict[str, _Arc]()
    last = ""
    for _ in range(len(blocks) + 1):
        last = ""
        for arc in arcs:
            if distance[arc.begin] + arc.weight < distance[arc.end]:
                distance[arc.end], came[arc.end], last = distance[arc.begin] + arc.weight, arc, arc.end
        if not last:
            return []
    for _ in blocks:
        last = came[last].begin
    circle, at = [came[last]], came[last].begin
    while at != last:
        circle.append(came[at])
        at = came[at].begin
    return circle[::-1]


def _told(circle: list[_Arc], depth: int) -> str:
    """A circle in words: what waits for what, and which nets would have to hold more."""
    waits = ", ".join(str(arc.wire) for arc in circle if arc.forward)
    holds = ", ".join(f"{arc.wire} ({arc.wire.holds} tokens)" if arc.wire.depth == depth else f"{arc.wire} (whole fibers)"
                      for arc in circle if not arc.forward)
    return f"{waits} may wait until {holds} can take more"
