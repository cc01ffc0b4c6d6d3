"""Between images and streams: the words of every load stream of a tile, and the picture from those of the store streams.

Images are NumPy arrays with y first, streams and points are x first. A result is computed in tiles of one shape; the last ones
reach beyond the picture and are cut off. Outside an image a stream has zeros, which no stored word depends on: as far as tiles
reach, they stand around it. A stream that takes every second element has an image of these; the stripes of lanes read one
image, and give one. What a boundary condition says of an image is gathered here, word by
word, once for all tiles.

Tiles come row by row, in each stripe in its own: those of a launch are in one step, so that it ends with its row. Where a row
takes few cycles and columns have more tiles, of whatever dimension, these come column by column.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...compiler.dense.map.grid import Load, Store, Walk
from ...compiler.ir.dataflow import Stream
from ...compiler.lang.halide.pipeline import Func, Variable
from ...compiler.lang.halide.walk import postorder
from ...hw.arch.glb import LANES
from .gather import gather
from .load_loops import Reads, held_once
from .result import Part
from .tile import Tile
from .window import Window, filled, rows

# Less is a short launch: between two pass some hundred cycles where they are not queued (docs/soc.md).
LONG = 4096


def short(across: int, down: int, points: int) -> bool:
    """Whether rows of tiles of so many points are short launches, and columns longer ones."""
    return across < down and across * points < LONG


@dataclass(frozen=True)
class Frames:
    """A picture in tiles.

    Parameters
    ----------
    walk : Walk            Of one tile.
    images : mapping       Input arrays, y first, of integers.
    shape : tuple          Of the result, x first, in all its dimensions.
    tile : tuple           Of a tile of it, in the dimensions of the grid.
    starts : mapping       Where an image begins, x first, if not at 0 everywhere.
    gathered : mapping     Images that are gathered from these: Funcs over the dimensions of the grid, by name.
    """

    unit: ClassVar[str] = "tiles"

    walk: Walk
    images: Mapping[str, np.ndarray]
    shape: tuple[int, ...]
    tile: tuple[int, ...]
    starts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    gathered: Mapping[str, Func] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._corners)

    @property
    def _sides(self) -> tuple[int, ...]:
        """The result in the dimensions of the grid."""
        planes = self.walk.stores[0].stream.plane
        return tuple(size for size, plane in zip(self.shape, planes, strict=True) if plane is None)

    @property
    def _stripe(self) -> int:
        """Columns of a lane; the last one reaches beyond the picture. It has as many tiles in a row as the whole."""
        return -(-self._sides[0] // self.tile[0]) * self.tile[0] // self.walk.lanes

    def _first(self, corner: Sequence[int], lane: int) -> tuple[int, ...]:
        """The first element of a tile in a lane."""
        return corner[0] + lane * self._stripe, *corner[1:]

    @property
    def _corners(self) -> list[tuple[int, ...]]:
        """First element of every tile, of the first stripe, x fastest, or the dimension of most tiles; the last one slowest."""
        sides, tile = (self._stripe, *self._sides[1:]), (self.tile[0] // self.walk.lanes, *self.tile[1:])
        starts = [range(0, whole, part) for whole, part in zip(sides, tile, strict=True)]
        down = max(range(len(starts)), key=lambda dim: len(starts[dim]))
        fastest = down if short(len(starts[0]), len(starts[down]), self.walk.grid.points) else 0
        order = [*(dim for dim in reversed(range(len(starts))) if dim != fastest), fastest]
        at = [order.index(dim) for dim in range(len(starts))]
        return [tuple(corner[place] for place in at) for corner in itertools.product(*(starts[dim] for dim in order))]

    def transactions(self, most: int) -> Iterator[Tile]:
        """Every load stream, tile by tile, with at most `most` loops, and where the store streams belong."""
        for corner in self._corners:
            yield Tile({load.name: self._load(load, corner, most) for load in self.walk.loads},
                       {store.name: self._part(store, corner) for store in self.walk.stores})

    def _part(self, store: Store, corner: Sequence[int]) -> Part:
        """What a tile gives of an image in whole tiles: that of a store stream, which is that of all lanes."""
        columns, *rest = (-(-whole // part) * part for whole, part in zip(self._sides, self.tile, strict=True))
        row, first = filled(columns), self._first(corner, store.lane)
        if self.walk.lanes == 1:
            return Part((*rest[::-1], row), tuple(first[::-1]), store.counts[::-1])
        # A stripe of an image of one line a row would be moved with what fills it up, which is of other stripes.
        whole = (*rest[::-1], max(row, 2 * LANES))
        return Part(whole, tuple(first[::-1]), store.counts[::-1], store.name.rpartition(".")[0])

    def _load(self, load: Load, corner: Sequence[int], most: int) -> Reads | Window:
        """One stream."""
        elements = self._elements(load.stream, self._points(corner, load.lane))
        if load.name in self._lying:
            lying = self._lying[load.name]
            return Window(lying.image, lying.places(elements), most, lying.lead)
        held, loops = held_once(elements, most)
        return Reads(self._words(load.stream, held).reshape(-1), loops)

    @cached_property
    def _lying(self) -> dict[str, _Lying]:
        """Of every load stream that is over an image: its words, as far as any tile reads them."""
        ends = self._points(self._corners[0], 0), self._points(self._corners[-1], self.walk.lanes - 1)
        whole = [np.arange(begin[0], end[-1] + 1) for begin, end in zip(*ends, strict=True)]
        across = {corner[0]: corner for corner in self._corners}
        images: dict[Stream, tuple[np.ndarray, tuple[int, ...], tuple[int, ...]]] = {}
        found = {}
        for load in self.walk.loads:
            stream = load.stream
            if stream.pattern:
                continue
            # Lanes have one stream, and so one image.
            if stream not in images:
                every = self._elements(stream, whole)
                low = tuple(int(each.min()) for each in every)
                steps = tuple(int(np.gcd.reduce(np.diff(each))) or 1 for each in every)
                reach = [np.arange(first, each.max() + 1, step) for first, each, step in zip(low, every, steps, strict=True)]
                images[stream] = rows(self._words(stream, reach)), low, steps
            image, low, steps = images[stream]
            begins = [int(self._elements(stream, self._points(corner, load.lane))[0].min()) for corner in across.values()]
            found[load.name] = _Lying(image, low, steps, max((begin - low[0]) // steps[0] % LANES for begin in begins))
        return found

    def _points(self, corner: Sequence[int], lane: int) -> list[np.ndarray]:
        """The points of a tile in a lane, in each dimension of the grid."""
        first = self._first(corner, lane)
        return [np.arange(origin, origin + extent) + self._moved(first, dim)
                for dim, (origin, extent) in enumerate(zip(self.walk.grid.origin, self.walk.grid.extents, strict=True))]

    def _elements(self, stream: Stream, points: Sequence[np.ndarray]) -> list[np.ndarray]:
        """For each dimension the element that is read at points; of a pattern, its number there."""
        func = self.gathered.get(stream.image)
        walked = {part.name for part in postorder(*func.values) if isinstance(part, Variable)} if func else set()
        elements = []
        for dim, each in enumerate(points):
            places = (stream.scale[dim] * each + stream.shift[dim]) // stream.divide[dim]
            if func and func.args[dim] not in walked:
                # As from an image without this dimension: the same word everywhere.
                places = np.zeros_like(places)
            # Of a pattern, only the remainder of the sum counts.
            elements.append(places % len(stream.pattern) if stream.pattern else places)
        return elements

    def _words(self, stream: Stream, elements: Sequence[np.ndarray]) -> np.ndarray:
        """The words of a stream at all combinations of elements, ``[.., y, x]``; zeros outside the image."""
        if stream.pattern:
            total = functools.reduce(np.add.outer, elements[::-1])
            return np.array(stream.pattern, np.uint16)[total % len(stream.pattern)]
        if stream.image in self.gathered:
            return _words(gather(self.gathered[stream.image], self.images, self.starts, elements))
        image = self.images[stream.image]
        rest = iter(elements)
        # One index array for each dimension of the image, x first.
        starts = self.starts.get(stream.image, (0,) * image.ndim)
        where = [(next(rest) if plane is None else np.array([plane])) - start
                 for plane, start in zip(stream.plane, starts, strict=True)]
        sizes = image.shape[::-1]
        found = image[np.ix_(*(np.clip(each, 0, size - 1) for each, size in zip(where[::-1], sizes[::-1], strict=True)))]
        inside = functools.reduce(np.logical_and.outer,
                                  [(each >= 0) & (each < size) for each, size in zip(where[::-1], sizes[::-1], strict=True)])
        # Dimensions of planes are of one element.
        return _words(np.where(inside, found, 0)).reshape([len(each) for each in elements[::-1]])

    def _moved(self, first: Sequence[int], dim: int) -> int:
        """Points between the first tile and the one with such a first element."""
        return self.walk.stores[0].stride[dim] * first[dim]

    def cycles(self) -> int:
        """How many cycles all tiles should take, roughly: one for every point of the grid."""
        return len(self) * self.walk.grid.points

    def bounds(self) -> dict[str, int]:
        """None: the program says how many words a tile gives."""
        return {}

    def picture(self, stores: Iterable[Mapping[str, np.ndarray]]) -> np.ndarray:
        """The result from the words of every store stream, tile by tile: the last dimension first, as int32."""
        whole = np.zeros(self.shape[::-1], np.int32)
        for corner, words in zip(self._corners, stores, strict=True):
            for store in self.walk.stores:
                tile = words[store.name].astype(np.int16 if store.stream.signed else np.uint16).reshape(store.counts[::-1])
                where: list[slice] = []
                first = self._first(corner, store.lane)
                for dim, (begin, size, count) in enumerate(zip(first, self._sides, store.counts, strict=True)):
                    fits = max(0, min(count, size - begin))
                    tile = np.take(tile, range(fits), axis=len(corner) - 1 - dim)
                    where.append(slice(begin, begin + fits))
                slices = iter(where)
                place = [next(slices) if plane is None else plane for plane in store.stream.plane]
                whole[tuple(place[::-1])] = tile
        return whole


@dataclass(frozen=True, eq=False)
class _Lying:
    """An image as a stream reads it.

    Parameters
    ----------
    image : uint16 array     As of `Window`.
    low, steps : tuple       x first: the first element of the whole image that it has, and from one that it has to the next.
    lead : int               As of `Window`.
    """

    image: np.ndarray
    low: tuple[int, ...]
    steps: tuple[int, ...]
    lead: int

    def places(self, elements: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Where elements of the whole image are."""
        return tuple((each - first) // step for each, first, step in zip(elements, self.low, self.steps, strict=True))


def _words(elements: np.ndarray) -> np.ndarray:
    """Elements of any type as words."""
    return (elements.astype(np.int64) & 0xFFFF).astype(np.uint16)
