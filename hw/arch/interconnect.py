"""The interconnect: what every multiplexer of a tile may select, and the routing graph of the whole array.

Every tile has, per layer and side, as many outgoing tracks as incoming ones. A switch-box output selects among one
incoming track of each other side and all core outputs; a connection box selects among all incoming tracks. The order of
the fan-in IS the select code (0 is off, so the code of the first source is 1); hardware, encoder and fabric model
read the same tuples.

Names inside a tile: ``e3`` is the switch-box output to the east on track 3, ``w_in3`` the track that enters from the west,
core ports have their own names. The routing graph knows a wire once: the track entering tile (x, y) from the west is the
node ``e3`` of tile (x-1, y).

Sources: Amber JSSC (Canal interconnect); switch boxes: Wilton 1997; Masud and Wilton 1999 ("imran"). Onyx JSSC III-D.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np

from .check import OneOf, Whole, check
from .config import ConfigSet, Field
from .tile import LAYERS, OPPOSITE, SIDES, TileSpec

SWITCH_BOXES = ("wilton", "imran", "disjoint")
FIFOS = ("split", "full", "inputs", "none")
STEP = {"n": (0, -1), "e": (1, 0), "s": (0, 1), "w": (-1, 0)}

# How a switch-box output's register is used. Elastic: as (half of) a FIFO. Static: as a pipeline register on odd tiles;
# on even tiles passed (`static`) or used as one cycle of delay (`delay`). With a FIFO at every hop: as a pipeline register.
# With FIFOs at inputs alone there is none, and all modes pass.
MODES = ("elastic", "static", "delay")


@dataclass(frozen=True)
class Interconnect:
    """Tracks and boxes.

    Parameters
    ----------
    tracks : int         Tracks per side, direction and layer, 1..16.
    switch_box : str     ``wilton``, ``imran`` or ``disjoint``.
    fifo : str           ``split``: one register per hop, a SplitFIFO every two hops; ``full``: a two-entry FIFO at
                         every hop, a register on static routes too; ``inputs``: none on tracks, so that a word passes
                         all boxes of its route in a cycle; ``none``: static only, no valid and ready.
    output_registers : bool
        Core outputs leave from a register too, a FIFO of two entries as at core inputs: a cycle more a tile, and no path
        from a primitive or the global buffer into the interconnect. For FPGAs, whose boxes are slow.
    """

    tracks: Annotated[int, Whole(1, 16)] = 5
    switch_box: Annotated[str, OneOf(SWITCH_BOXES)] = "wilton"
    fifo: Annotated[str, OneOf(FIFOS)] = "split"
    output_registers: bool = False

    def __post_init__(self) -> None:
        check(self, "interconnect")

    def registers(self, x: int, y: int) -> bool:
        """Whether a static route meets a register at every switch-box output of a tile; else it passes."""
        return self.fifo == "full" or (self.fifo != "inputs" and (x + y) % 2 == 1)

    @property
    def widths(self) -> dict[str, int]:
        """Payload bits of each layer; a static interconnect carries no control bit (Amber JSSC)."""
        return {"data": 16 if self.fifo == "none" else 17, "bit": 1}

    def turn(self, side: str, track: int, to: str) -> int:
        """The track on which a wire that enters from `side` on `track` leaves on side `to`."""
        if self.switch_box == "disjoint" or to == OPPOSITE[side]:
            return track
        for (a, b), (sign, shift) in _TURNS[self.switch_box].items():
            if (side, to) == (a, b):
                return (sign * track + shift) % self.tracks
            if (side, to) == (b, a):
                return (sign * (track - shift)) % self.tracks
        raise AssertionError(f"every pair of sides has a turn, {side} {to} has none")

    def fanin(self, tile: TileSpec, layer: str) -> dict[str, tuple[str, ...]]:
        """Multiplexer output -> the sources it may select, of one layer of a tile; select code = position + 1."""
        outs = tuple(port.name for port in tile.outputs(layer))
        boxes: dict[str, tuple[str, ...]] = {}
        for to in tile.sides:
            for track in range(self.tracks):
                wires = tuple(f"{side}_in{t}" for side in tile.sides if side != to
                              for t in range(self.tracks) if self.turn(side, t, to) == track)
                boxes[f"{to}{track}"] = wires + outs
        entering = tuple(f"{side}_in{t}" for side in tile.sides for t in range(self.tracks))
        return boxes | {port.name: entering for port in tile.inputs(layer)}

    def select(self, tile: TileSpec, sink: str, source: str, layer: str) -> int:
        """The select code with which a multiplexer of a tile takes one of its sources; 0 is off."""
        return 1 + self.fanin(tile, layer)[sink].index(source)

    def config_sets(self, tile: TileSpec) -> tuple[ConfigSet, ...]:
        """The routing configuration of a tile: one set of switch boxes and one of connection boxes a layer."""
        sets = []
        for layer in LAYERS:
            fanin = self.fanin(tile, layer)
            ports = {port.name for port in tile.inputs(layer)}
            boxes, connections = [], []
            for name, sources in fanin.items():
                select = Field(f"{name}_sel", len(sources).bit_length(), f"source of {name}: 0 off, {_codes(sources)}")
                if name in ports:
                    connections.append(select)
                    if self.fifo != "none":
                        connections.append(Field(f"{name}_static", 1, f"the register of input {name} is a pipeline stage"))
                else:
                    boxes.append(select)
                    if self.fifo != "none":
                        boxes.append(Field(f"{name}_mode", 2, f"use of the register of {name}", MODES))
                    else:
                        boxes.append(Field(f"{name}_delay", 1, f"{name} of an even tile is delayed by a cycle"))
            sets += [ConfigSet(f"sb_{layer}", *boxes), ConfigSet(f"cb_{layer}", *connections)]
        return tuple(sets)


# (from side, to side) -> (sign, shift): the wire leaves on track sign * t + shift; the opposite direction is its inverse.
_TURNS: dict[str, dict[tuple[str, str], tuple[int, int]]] = {
    "wilton": {("w", "s"): (-1, 0), ("s", "e"): (1, 1), ("e", "n"): (-1, -2), ("n", "w"): (1, 1)},
    "imran": {("w", "n"): (-1, 0), ("n", "e"): (1, 1), ("s", "e"): (-1, -2), ("w", "s"): (1, -1)},
}


def _codes(sources: tuple[str, ...]) -> str:
    return ", ".join(f"{code} {name}" for code, name in enumerate(sources, start=1))


class Node(NamedTuple):
    """A node of the routing graph: a switch-box output ("sb"), a core input ("in") or a core output ("out")."""

    x: int
    y: int
    layer: str
    kind: str
    name: str


class RoutingGraph:
    """Every wire of an array and what may drive it.

    nodes : tuple of Node            In order of tiles (row by row), layers, then declaration.
    sources : tuple of tuples        Per node the indices of the nodes that may drive it.
    codes : tuple of tuples          Beside each source its select code.
    fanout_ptr, fanout_idx           The same edges from source to sinks in compressed sparse row form, int32.
    """

    def __init__(self, interconnect: Interconnect, tiles: Mapping[tuple[int, int], TileSpec]) -> None:
        nodes: list[Node] = []
        fanins: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
        for (x, y), tile in tiles.items():
            for layer in LAYERS:
                key = (tile.kind, layer)
                if key not in fanins:
                    fanins[key] = interconnect.fanin(tile, layer)
                ports = {port.name for port in tile.inputs(layer)}
                for name in fanins[key]:
                    if name in ports:
                        nodes.append(Node(x, y, layer, "in", name))
                    elif _neighbour(tiles, x, y, name[0]):
                        nodes.append(Node(x, y, layer, "sb", name))
                nodes += [Node(x, y, layer, "out", port.name) for port in tile.outputs(layer)]
        self.nodes = tuple(nodes)
        self.index = {node: i for i, node in enumerate(nodes)}
        sources: list[tuple[int, ...]] = []
        codes: list[tuple[int, ...]] = []
        for node in nodes:
            found = []
            if node.kind != "out":
                for code, name in enumerate(fanins[tiles[node.x, node.y].kind, node.layer][node.name], start=1):
                    source = self.index.get(_driver(node, name))
                    if source is not None:
                        found.append((source, code))
            sources.append(tuple(source for source, _ in found))
            codes.append(tuple(code for _, code in found))
        self.sources, self.codes = tuple(sources), tuple(codes)

    @cached_property
    def _fanout(self) -> tuple[np.ndarray, np.ndarray]:
        source = np.fromiter((s for each in self.sources for s in each), np.int32)
        sink = np.repeat(np.arange(len(self.nodes), dtype=np.int32), [len(each) for each in self.sources])
        order = np.argsort(source, kind="stable")
        pointer = np.zeros(len(self.nodes) + 1, np.int32)
        np.cumsum(np.bincount(source, minlength=len(self.nodes)), out=pointer[1:])
        return pointer, sink[order]

    @property
    def fanout_ptr(self) -> np.ndarray:
        return self._fanout[0]

    @property
    def fanout_idx(self) -> np.ndarray:
        return self._fanout[1]

    def select(self, sink: int, source: int) -> int:
        """The select code with which node `sink` takes node `source`."""
        return self.codes[sink][self.sources[sink].index(source)]

    def source_of(self, sink: int, code: int) -> int | None:
        """The node that select code `code` of node `sink` means; None for off or a wire from outside the array."""
        return dict(zip(self.codes[sink], self.sources[sink], strict=True)).get(code)


def _neighbour(tiles: Mapping[tuple[int, int], TileSpec], x: int, y: int, side: str) -> bool:
    """Whether a wire that leaves tile (x, y) on a side arrives somewhere."""
    dx, dy = STEP[side]
    other = tiles.get((x + dx, y + dy))
    return other is not None and OPPOSITE[side] in other.sides


def pieces(tiles: Mapping[tuple[int, int], TileSpec]) -> list[set[tuple[int, int]]]:
    """The sets of tiles that tracks join, in the order of their first tiles."""
    found: list[set[tuple[int, int]]] = []
    left = dict.fromkeys(tiles)
    while left:
        piece, front = set[tuple[int, int]](), [next(iter(left))]
        while front:
            x, y = front.pop()
            if (x, y) not in piece:
                piece.add((x, y))
                front += [(x + STEP[side][0], y + STEP[side][1]) for side in tiles[x, y].sides if _neighbour(tiles, x, y, side)]
        left = {site: None for site in left if site not in piece}
        found.append(piece)
    return found


def _driver(node: Node, name: str) -> Node:
    """The node behind a source name of a multiplexer in node's tile."""
    if "_in" in name and name[0] in SIDES and name[1:4] == "_in":
        dx, dy = STEP[name[0]]
        return Node(node.x + dx, node.y + dy, node.layer, "sb", OPPOSITE[name[0]] + name[4:])
    return Node(node.x, node.y, node.layer, "out", name)
