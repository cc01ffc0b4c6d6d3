"""The grid of a program: which points are walked, in which order, and which of them each stream needs.

Points are walked one a cycle, x fastest, so an offset is a number of steps. All inputs are loaded over the whole grid; what
a node has at points where its operands lie outside is never stored.

    3 x 3 stencil on 4 x 2 results:  offsets (0..2, 0..2), grid 6 x 4, an offset of (1, 1) is 7 steps ahead

An enlarged image has an element at several points. No loops walk it if the grid begins or ends within one, so the grid goes on
to where they do, by as few points as that takes: 3 columns on each of which an element has 2 become 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from ...ir.dataflow import Ref, Stream
from ...ir.pe_graph import Held, Once, PeGraph, Running
from .affine import nest
from .parted import parted

Point = tuple[int, ...]

# Points after which elements of all streams begin together, up to which all ways to lengthen a side are tried; of two images
# enlarged by 31 and by 37 there are two million.
SEARCHED = 16


@dataclass(frozen=True)
class Grid:
    """The points from `origin` on, `extents` of them in each dimension, x first."""

    origin: Point
    extents: Point

    @cached_property
    def pitch(self) -> Point:
        """Steps between neighbours in each dimension."""
        return tuple(math.prod(self.extents[:dim]) for dim in range(len(self.extents)))

    @property
    def points(self) -> int:
        return math.prod(self.extents)

    def steps(self, offset: Sequence[int]) -> int:
        """Steps between a point and the one at an offset from it."""
        return sum(o * p for o, p in zip(offset, self.pitch, strict=True))

    def step(self, point: Sequence[int]) -> int:
        """The step in which a point is walked."""
        return self.steps([p - o for p, o in zip(point, self.origin, strict=True)])


@dataclass(frozen=True)
class Load:
    """A stream into the array: at point p element ``(scale * p + shift) // divide`` of a plane of an image; points of a lane
    are behind all those of the lanes before it."""

    name: str
    stream: Stream
    lane: int = 0


@dataclass(frozen=True)
class Store:
    """A stream out of the array: `counts` elements, element e (of this lane) is the value at ``stride * e + first``.

    It is element e of the image's plane, in x behind those of the lanes before it.
    """

    name: str
    stream: Stream
    value: Ref
    counts: Point
    stride: Point
    first: Point
    lane: int


@dataclass(frozen=True)
class Walk:
    """A graph with its grid and its streams.

    boxes : mapping     Node -> lowest and highest point at which it is needed; these may lie outside the grid, which is that
                        of the inputs.
    lanes : int         Those among which columns are parted, in stripes.
    """

    graph: PeGraph
    grid: Grid
    loads: tuple[Load, ...]
    stores: tuple[Store, ...]
    boxes: Mapping[int, tuple[Point, Point]]
    lanes: int = 1

    @property
    def words(self) -> int:
        """Words that the longest stream takes a tile."""
        return max(self.grid.points, *(math.prod(each.counts) for each in self.stores))

    def span(self, node: int) -> tuple[int, int]:
        """First and last step at which a node is needed, before 0 or behind the grid where it runs ahead or behind."""
        low, high = self.boxes[node]
        return self.grid.step(low), self.grid.step(high)


def walk(graph: PeGraph, shape: Sequence[int], lanes: int = 1) -> Walk:
    """The grid for results of `shape` (x first), whose columns are parted among `lanes`, by which x divides."""
    assert all(shape), f"a result of shape {tuple(shape)} has no elements"
    assert shape[0] % lanes == 0, f"{shape[0]} columns do not divide into {lanes} lanes"
    unrolled = graph if lanes == 1 else parted(graph, lanes)
    stores = []
    for name, value in graph.results.items():
        stream = graph.outputs[name]
        for lane in range(lanes):
            at = unrolled.results[f"{name}.{lane}"] if lanes > 1 else value
            counts = (shape[0] // lanes, *shape[1:])
            stores.append(Store(f"{name}.{lane}" if lanes > 1 else name, stream, at, counts, stream.scale, at.offset, lane))
    boxes = needed_boxes(unrolled, stores)
    assert len(boxes) == len(unrolled.nodes), "selection leaves out what no result needs"
    inputs = [number for number, node in enumerate(unrolled.nodes) if node.op == "input" and number in boxes]
    assert inputs, "a program reads at least one stream"
    low = tuple(min(boxes[number][0][dim] for number in inputs) for dim in range(len(graph.dims)))
    high = tuple(max(boxes[number][1][dim] for number in inputs) for dim in range(len(graph.dims)))
    sides = [_side([unrolled.inputs[unrolled.nodes[number].name] for number in inputs], dim, low[dim], high[dim] - low[dim] + 1)
             for dim in range(len(low))]
    grid = Grid(tuple(first for first, _ in sides), tuple(extent for _, extent in sides))
    # Nodes of lanes follow each other.
    loads = tuple(Load(unrolled.nodes[number].name, unrolled.inputs[unrolled.nodes[number].name], number % lanes)
                  for number in inputs)
    return Walk(unrolled, grid, loads, tuple(stores), boxes, lanes)


def needed_boxes(graph: PeGraph, stores: Sequence[Store]) -> Mapping[int, tuple[Point, Point]]:
    """Lowest and highest point at which every node is needed."""
    boxes: dict[int, tuple[Point, Point]] = {}

    def need(node: int, low: Point, high: Point) -> None:
        old = boxes.get(node, (low, high))
        boxes[node] = (tuple(map(min, old[0], low)), tuple(map(max, old[1], high)))

    for store in stores:
        need(store.value.node, store.first,
             tuple(f + s * (c - 1) for f, s, c in zip(store.first, store.stride, store.counts, strict=True)))
    for number in reversed(range(len(graph.nodes))):
        if number in boxes:
            for _, each in graph.nodes[number].kept():
                if isinstance(each, Running):
                    need(number, (0, *boxes[number][0][1:]), boxes[number][1])
            low, high = boxes[number]
            for _, ref in graph.nodes[number].refs():
                first, last = ((ref.x, *low[1:]), (ref.x, *high[1:])) if isinstance(ref, Once) else (low, high)
                need(ref.node, _moved(first, ref.offset), _moved(last, ref.offset))
            for _, each in graph.nodes[number].kept():
                if isinstance(each, Held):
                    ref, row = graph.nodes[number].ref(each.port), high[0] - low[0] + 1
                    end = each.at[0] + each.last(row) // row, *each.at[1:]
                    need(ref.node, _moved((low[0], *each.at), ref.offset), _moved((high[0], *end), ref.offset))
    return boxes


def _side(streams: Sequence[Stream], dim: int, first: int, extent: int) -> tuple[int, int]:
    """Where a grid begins in a dimension and its points, so that loops walk the elements of all streams; as it is asked for, if
    none of those that are tried has such loops."""
    return _begun(frozenset((each.scale[dim], each.shift[dim], each.divide[dim]) for each in streams if not each.pattern),
                  first, extent)


@cache
def _begun(kinds: frozenset[tuple[int, int, int]], first: int, extent: int) -> tuple[int, int]:
    """`_side` of scales, shifts and divisors; tiles of many heights ask for the same columns."""
    for before, more in _longer(kinds, first, extent):
        points = np.arange(first - before, first + extent + more - before)
        if all(divide == 1 or nest((scale * points + shift) // divide) is not None for scale, shift, divide in kinds):
            return first - before, extent + more
    return first, extent


def _longer(kinds: frozenset[tuple[int, int, int]], first: int, extent: int) -> Iterator[tuple[int, int]]:
    """Points in front and in all by which a side may grow: the fewest more, and of these as few as there can be in front."""
    block = math.lcm(*(divide for *_, divide in kinds))
    if block <= SEARCHED:
        yield from ((before, more) for more in range(2 * block - 1) for before in range(min(more, block - 1) + 1))
        return

    def begins(point: int) -> bool:
        return all(not scale or (scale * point + shift) % divide < scale for scale, shift, divide in kinds)

    # As asked, and to the next point on each side at which elements of all streams begin; twice as long, nobody wants it.
    yield 0, 0
    before = next((each for each in range(extent) if begins(first - each)), None)
    behind = next((each for each in range(extent) if begins(first + extent + each)), None)
    if before is not None and behind is not None:
        yield before, before + behind


def _moved(point: Point, offset: Point) -> Point:
    return tuple(p + o for p, o in zip(point, offset, strict=True))
