"""Route nets on the routing graph by negotiated congestion.

Input:   routing graph, nets between block ports, placement {block: (x, y)}.
Output:  Routing: per net a tree {node: the node that drives it}; a sink reached once, no node in two nets.
Errors:  Unroutable, a UserError naming the most congested channel and its nets, with the partial routing.
Cost:    one A* per sink and round; 6 ms for 188 nets on 16 x 16, 0.1 s for 600 congested ones on 32 x 16.
Source:  McMurchie and Ebeling, PathFinder, 1995; Onyx JSSC IV-E.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...hw.arch.errors import UserError
from ...hw.arch.interconnect import Node, RoutingGraph
from ..ir.mapped import Net, Pin
from ..ir.program import Site
from .native import library
from .place import ints, rows_of, some

SIDE = {"n": "north", "e": "east", "s": "south", "w": "west"}


@dataclass(frozen=True)
class Routing:
    """Trees of all nets.

    Parameters
    ----------
    trees : mapping      Net name -> {node: its predecessor}, from the source outwards; nodes by number.
    hops : mapping       Net name -> switch boxes passed to each sink, in the order of the sinks; -1: none.
    rounds : int         Rounds of negotiation.
    pressure : int64[nodes]   How much every node was fought over.
    """

    trees: Mapping[str, Mapping[int, int]]
    hops: Mapping[str, tuple[int, ...]]
    rounds: int
    pressure: np.ndarray

    @cached_property
    def shared(self) -> dict[int, int]:
        """Nodes in more than one net and the number of nets; empty when the routing is legal."""
        count = Counter(node for tree in self.trees.values() for node in tree)
        return {node: nets for node, nets in sorted(count.items()) if nets > 1}

    @property
    def wirelength(self) -> int:
        """Switch-box outputs and connection boxes in use."""
        return sum(len(tree) for tree in self.trees.values())


class Unroutable(UserError):
    """Routing failed for the placement `tiles`; `routing` is its last state.

    Whoever knows the whole graph draws it and keeps the SVG text in `picture`.
    """

    def __init__(self, what: str, fix: str, tiles: Mapping[str, Site], routing: Routing) -> None:
        super().__init__(what, "", fix)
        self.tiles, self.routing, self.picture = tiles, routing, ""


def route(graph: RoutingGraph, nets: Sequence[Net], tiles: Mapping[str, Site], *, rounds: int = 100,
          latency: int = 0) -> Routing:
    """Route all nets; the same arguments give the same routing.

    rounds : int     Rounds of negotiation before giving up.
    latency : int    0: least wire; 64: every sink as near to its source as possible; between: a compromise.
    """
    assert 0 <= latency <= 64, "64 is the price of a hop"

    def number(pin: Pin, net: Net, kind: str) -> int:
        return graph.index[Node(*tiles[pin.block], net.layer, kind, pin.port)]

    source = ints([number(net.source, net, "out") for net in nets])
    sinks = [[number(pin, net, "in") for pin in net.sinks] for net in nets]
    sink_ptr, sink = rows_of(sinks)
    ends = Counter(sink.tolist()) + Counter(source.tolist())
    assert all(count == 1 for count in ends.values()), "the verifier of the mapped graph forbids shared ports"
    where = np.array([(node.x, node.y, node.kind == "sb") for node in graph.nodes], np.int32).reshape(-1, 3)
    columns, rows = np.ascontiguousarray(where[:, 0]), np.ascontiguousarray(where[:, 1])

    native, size = library(), len(graph.nodes)
    report = np.zeros(3, np.int64)
    handle = native.sardonyx_route(
        size, graph.fanout_ptr, graph.fanout_idx, columns, rows, where[:, 2].astype(np.uint8), len(nets),
        source, sink_ptr, sink, rounds, latency, report)
    if not handle:
        raise MemoryError("the router")
    try:
        needed, entries, lost = report.tolist()
        tree_ptr = np.zeros(len(nets) + 1, np.int32)
        node, previous, hops = (np.zeros(entries, np.int32) for _ in range(3))
        pressure = np.zeros(size, np.int64)
        native.sardonyx_route_copy(handle, tree_ptr, node, previous, hops, pressure)
    finally:
        native.sardonyx_route_free(handle)

    trees, distances = {}, {}
    all_nodes, all_previous, all_hops = node.tolist(), previous.tolist(), hops.tolist()
    for i, net in enumerate(nets):
        first, last = tree_ptr[i], tree_ptr[i + 1]
        trees[net.name] = dict(zip(all_nodes[first + 1:last], all_previous[first + 1:last], strict=True))
        far = dict(zip(all_nodes[first:last], all_hops[first:last], strict=True))
        distances[net.name] = tuple(far.get(pin, -1) for pin in sinks[i])
    routing = Routing(trees, distances, abs(needed), pressure)
    if needed == 0:
        raise _unreachable(graph, nets, sink, lost, tiles, routing)
    if needed < 0:
        raise _congested(graph, nets, tiles, routing)
    return routing


def _unreachable(graph: RoutingGraph, nets: Sequence[Net], sink: np.ndarray, lost: int,
                 tiles: Mapping[str, Site], routing: Routing) -> Unroutable:
    net, pin = [(net, pin) for net in nets for pin in net.sinks][lost]
    at = graph.nodes[int(sink[lost])]
    return Unroutable(
        f"no wire of the array leads from {net.name} to {pin.block}.{pin.port} in tile ({at.x}, {at.y})",
        "use a machine whose interconnect joins all its tiles", tiles, routing)


def _congested(graph: RoutingGraph, nets: Sequence[Net], tiles: Mapping[str, Site],
               routing: Routing) -> Unroutable:
    """The message for a routing with shared nodes: the channel worst now, of equals the most fought over."""
    worst: dict[tuple[int, int, str, str], list[int]] = defaultdict(lambda: [0, 0])
    for node, count in routing.shared.items():
        at = graph.nodes[node]
        score = worst[at.x, at.y, at.layer, at.name[0]]
        score[0] += count - 1
        score[1] += int(routing.pressure[node])
    (x, y, layer, side), _ = max(worst.items(), key=lambda item: item[1])
    names = [Node(x, y, layer, "sb", f"{side}{track}") for track in range(16)]
    tracks = {graph.index[name] for name in names if name in graph.index}
    inside = [net.name for net in nets if tracks & routing.trees[net.name].keys()]
    fighting = sum(any(node in routing.shared for node in routing.trees[net.name]) for net in nets)
    return Unroutable(
        f"{fighting} of {len(nets)} nets still share tracks after {routing.rounds} rounds; most congested is "
        f"the channel {SIDE[side]} of tile ({x}, {y}) with {len(inside)} nets on {len(tracks)} {layer} "
        f"track{'s' if len(tracks) > 1 else ''}: {some(inside)}",
        f"another seed or placement exponent, an interconnect with more than {len(tracks)} "
        f"track{'s' if len(tracks) > 1 else ''} a side, or a larger array", tiles, routing)
