"""Coordinates of the picture of an array: tiles are blocks, switch boxes crossings, tracks lanes of streets.

Streets run above and left of every tile, one lane a track, traffic on the right; a switch box is the crossing
at the north-west corner of its tile. The IO row has no streets, only ramps down to the array.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...hw.arch.cgra import Arch
from ...hw.arch.interconnect import STEP, Node
from ...hw.arch.tile import LAYERS
from ..ir.mapped import MappedGraph
from ..ir.program import Site
from .route import Routing

Point = tuple[float, float]

BOX = 88          # side of a tile
LANE = 4.0        # distance of tracks
MEDIAN = 7.0      # between the two directions of a street
KERB = 5.0        # between the outer lane and a tile
CUT = 36          # of the corner where the ports are
IO_HEIGHT = 56
RAMP = 30         # street between the IO row and the array
MARGIN = 40


@dataclass(frozen=True)
class Town:
    """Coordinates of everything, in pixels.

    layers : tuple    Layers that have a net, and so lanes.
    first, last       Columns drawn.
    rows : int        Rows drawn below the IO row.
    top : float       Where the array begins, below the heading.
    """

    arch: Arch
    layers: tuple[str, ...]
    first: int
    last: int
    rows: int
    top: float = 0

    @property
    def lanes(self) -> int:
        return self.arch.interconnect.tracks * len(self.layers)

    @property
    def street(self) -> float:
        return MEDIAN + 2 * (self.lanes - 1) * LANE + 2 * KERB

    @property
    def pitch(self) -> float:
        return self.street + BOX

    @property
    def sites(self) -> list[Site]:
        """The tiles drawn."""
        return [(x, y) for y in range(self.rows + 1) for x in range(self.first, self.last + 1)]

    @property
    def ground(self) -> tuple[float, float, float, float]:
        """x, y, width and height of the area of streets and tiles."""
        x, y = self.crossing((self.first, 1))
        edge = self.street / 3
        return x, y, (self.last - self.first + 1) * self.pitch + edge, self.rows * self.pitch + edge

    @property
    def width(self) -> float:
        return max(2 * MARGIN + self.ground[2], 640)

    @property
    def bottom(self) -> float:
        return self.ground[1] + self.ground[3]

    def crossing(self, site: Site) -> Point:
        """North-west corner of the switch box; of an IO tile, where the ramp of its column begins."""
        x, y = site
        below = IO_HEIGHT + RAMP + (y - 1) * self.pitch if y else IO_HEIGHT
        return MARGIN + (x - self.first) * self.pitch, self.top + below

    def box(self, site: Site) -> tuple[float, float, float, float]:
        """x, y, width and height of a tile."""
        x, y = self.crossing(site)
        if site[1] == 0:
            return x - 4, y - IO_HEIGHT, self.pitch - 8, IO_HEIGHT
        return x + self.street, y + self.street, BOX, BOX

    def wire(self, node: Node) -> tuple[Point, Point]:
        """Start and end of a track: the edges of the two switch boxes (or the IO tile) it joins."""
        x, y = self.crossing((node.x, node.y))
        dx, dy = STEP[node.name[0]]
        lane = self.layers.index(node.layer) * self.arch.interconnect.tracks + int(node.name[1:])
        across = self.street / 2 + (dx - dy) * (MEDIAN / 2 + LANE * lane)
        here, there = (self.street, self.pitch) if dx + dy > 0 else (0.0, self.street - self.pitch)
        if dx:
            return (x + here, y + across), (x + there, y + across)
        if node.y == 0:
            return (x + across, y), (x + across, y + RAMP)
        if node.y == 1 and dy < 0:
            there = -RAMP
        return (x + across, y + here), (x + across, y + there)

    def port(self, node: Node) -> Point:
        """A core port, on the cut corner of its tile: inputs from the left, then outputs."""
        spec = self.arch.tiles[node.x, node.y]
        names = [p.name for flow in (spec.inputs, spec.outputs) for layer in self.layers for p in flow(layer)]
        x, y, _, _ = self.box((node.x, node.y))
        share = (names.index(node.name) + 0.5) / len(names)
        return x + CUT * share, y + CUT * (1 - share)


def town_of(arch: Arch, graph: MappedGraph, tiles: Mapping[str, Site], routing: Routing | None,
            crop: bool) -> Town:
    """The part of an array to draw: all of it, or what is used and one tile around it."""
    used = {net.layer for net in graph.nets}
    layers = tuple(layer for layer in LAYERS if layer in used) or LAYERS[:1]
    sites = set(tiles.values())
    if routing is not None:
        sites |= {arch.graph.nodes[node][:2] for tree in routing.trees.values() for node in tree}
    if not crop or not sites:
        return Town(arch, layers, 0, arch.columns - 1, arch.rows)
    columns, rows = [x for x, _ in sites], [y for _, y in sites]
    return Town(arch, layers, max(min(columns) - 1, 0), min(max(columns) + 1, arch.columns - 1),
                min(max(rows) + 1, arch.rows))
