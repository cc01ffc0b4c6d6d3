"""Between matrices and the streams of a matrix product: weights and rows in, sums out.

A tile is `lanes` columns and `rows` rows of the result for one chunk of the terms. Its load streams bring what left has for
these columns, then the rows of right (`compiler/dense/map/product.py`); what is missing to whole tiles and steps is 0.

All streams have the same images of left and of right, as they lie. A tile takes a part of both (`stack.py`), and of that a
stream its terms:

    terms are in rows of both         rows of left, behind them rows of right
                 columns of left      lines of left, with four neighbours of a term, behind them rows of right
                 columns of both      columns of left, beside them columns of right
                 columns of right     lines of left, with four terms, one below the other, beside them columns of right

`compiler/dense/map/weights.py` says how these are walked. Where they cannot be, the host turns a factor, once. A store stream
gives the columns of a tile as they lie in the result, or one lane's, whose image has every one of `lanes`. Tiles come row by
row or column by column, as those of pictures (`frames.py`). Sums of the run before lie as a result of NumPy does; they come as
they leave, those of one lane each in all steps of its row.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...compiler.dense.map.grid import Walk
from ...compiler.dense.map.product import CARRY, ROWS, Factor, Product, joins
from ...compiler.dense.map.weights import Weights
from ...hw.arch.glb import LANES
from ..commands import Box
from .frames import short
from .load_loops import joined
from .result import Part
from .stack import Stack
from .tile import Source, Tile
from .window import Window, filled, rows


@dataclass(frozen=True)
class Products:
    """One run of a product, tile by tile.

    Parameters
    ----------
    walk : Walk          Of one tile.
    left, right : int array     Factors as ``[x][r]`` and ``[y][r]``, the terms of this run only.
    name : str           Of the result.
    lanes, rows : int    Columns and rows of a tile.
    width : int          Terms that the program adds up in a run.
    weights : Weights    How those of left come.
    carry : uint16 array | None    ``[y][x]``: sums of the runs before; None if the program takes none.
    """

    unit: ClassVar[str] = "tiles"

    walk: Walk
    left: np.ndarray
    right: np.ndarray
    name: str
    lanes: int
    rows: int
    width: int
    weights: Weights
    carry: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self._corners)

    @property
    def _corners(self) -> list[tuple[int, int]]:
        """First column and row of every tile."""
        rows, columns = range(0, len(self.right), self.rows), range(0, len(self.left), self.lanes)
        if short(len(columns), len(rows), self.walk.grid.points):
            return [*itertools.product(columns, rows)]
        return [(x, y) for y, x in itertools.product(rows, columns)]

    @property
    def _steps(self) -> int:
        """Steps of a row."""
        return self.walk.grid.extents[0]

    @property
    def _joins(self) -> bool:
        """Whether one stream gives all columns of a tile."""
        return joins(self.lanes, self._steps)

    @cached_property
    def _factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Left and right as `Box` takes images, with their terms in rows, of left perhaps line by line, or in columns."""
        weights, steps = self.weights, self._steps
        # Of lines of neighbours some may be of no step.
        terms = self.width + (weights.down * weights.beside - steps if weights.left and not weights.right else 0)
        left, right = (_whole(each, count, terms) for each, count in ((self.left, self.lanes), (self.right, self.rows)))
        left, right = rows(left.T if weights.left else left), rows(right.T if weights.right else right)
        # Each line of a row of left is a row of the stream's place.
        return left.reshape(len(left), -1, LANES) if weights.right and not weights.left else left, right

    def transactions(self, most: int) -> Iterator[Tile]:
        """Every load stream, tile by tile, with at most `most` loops, and where the store streams belong."""
        tiles = -(-len(self.right) // self.rows), -(-len(self.left) // self.lanes)
        whole = tiles[0] * self.rows, filled(tiles[1] * self.lanes if self._joins else tiles[1])
        stack = self._below if self.weights.right else self._beside
        for x, y in self._corners:
            streams: dict[str, Source] = {f"{ROWS}.{number}": stack(x, y, number, most)
                                          for number in range(self.width // self._steps)}
            if self.carry is not None and self._joins:
                streams[CARRY] = self._carried(np.arange(x, x + self._steps), y, most)
            elif self.carry is not None:
                streams |= {f"{CARRY}.{lane}": self._carried(np.full(self._steps, x + lane), y, most)
                            for lane in range(self.lanes)}
            if self._joins:
                yield Tile(streams, {self.name: Part(whole, (y, x), (self.rows, self.lanes))})
                continue
            yield Tile(streams, {f"{self.name}.{lane}": Part(whole, (y, x // self.lanes), (self.rows, 1))
                                 for lane in range(self.lanes)})

    def _beside(self, x: int, y: int, stream: int, most: int) -> Stack:
        """The stream of a tile whose terms are beside each other in rows of right, which come behind the weights."""
        left, right = self._factors
        first, weights = stream * self._steps, self.weights
        # From the begin of a line on.
        lead = first % LANES
        pitch = filled(lead + self._steps)
        if not weights.left:
            placed = [(0, Box(left, (x, first - lead), (self.lanes, pitch)))]
        elif weights.whole:
            placed = [(0, Box(left, (first, x), (self._steps, self.lanes)))]
        else:
            placed = [(lane // LANES * weights.down * pitch + filled(lead) + LANES * line,
                       Box(left, (first + weights.down * line, x + lane), (weights.down, LANES), pitch))
                      for lane in range(0, self.lanes, LANES) for line in range(weights.beside)]
        placed.append((weights.rows * pitch, Box(right, (y, first - lead), (self.rows, pitch))))
        at, boxes = zip(*placed, strict=True)
        deep = weights.rows + self.rows
        return Stack(boxes, at, deep * pitch, joined([[(self._steps, 1)], [(deep, 1)]], [pitch, deep]), most, lead)

    def _below(self, x: int, y: int, stream: int, most: int) -> Stack:
        """The stream of a tile whose terms are below each other in columns of right, which stand beside the weights."""
        left, right = self._factors
        first, weights = stream * self._steps, self.weights
        before = weights.rows
        pitch = before + filled(self.rows)
        if weights.left:
            placed = [(0, Box(left, (first, x), (self._steps, self.lanes), pitch))]
        else:
            placed = [(LANES * block, Box(left, (x + lane, first // LANES, 0),
                                          (min(weights.beside, self.lanes - lane), weights.lines, LANES), pitch))
                      for block, lane in enumerate(range(0, self.lanes, weights.beside))]
        placed.append((before, Box(right, (first, y), (self._steps, filled(self.rows)), pitch)))
        at, boxes = zip(*placed, strict=True)
        nest = joined([[(self._steps, pitch)], [(weights.rows + self.rows, 1)]], [1, 1])
        return Stack(boxes, at, self._steps * pitch, nest, most)

    @cached_property
    def _sums(self) -> np.ndarray:
        """The sums of the run before as `Box` takes images, behind as many rows as weights take."""
        assert self.carry is not None, "there was one"
        height, width = (-size % part for size, part in zip(self.carry.shape, (self.rows, self.lanes), strict=True))
        # Steps of no lane take words, too.
        width += (self._steps - self.lanes) * self._joins
        return rows(np.pad(self.carry, [(self.weights.rows, height), (0, width)]))

    def _carried(self, columns: np.ndarray, y: int, most: int) -> Window:
        """The sums that go into a tile, from these columns in the steps of a row."""
        return Window(self._sums, (columns, np.arange(y, y + self.weights.rows + self.rows)), most)

    def cycles(self) -> int:
        """How many cycles all tiles should take, roughly: one for every point of the grid."""
        return len(self) * self.walk.grid.points

    def bounds(self) -> dict[str, int]:
        """None: the program says how many words a tile gives."""
        return {}

    def picture(self, stores: Iterable[Mapping[str, np.ndarray]]) -> np.ndarray:
        """The result ``[y][x]`` from the words of every store stream, tile by tile, as uint16."""
        whole = np.zeros((len(self.right), len(self.left)), np.uint16)
        for (x, y), words in zip(self._corners, stores, strict=True):
            if self._joins:
                there = whole[y:y + self.rows, x:x + self.lanes]
                there[...] = words[self.name].reshape(self.rows, self.lanes)[:there.shape[0], :there.shape[1]]
                continue
            for lane in range(min(self.lanes, len(self.left) - x)):
                column = words[f"{self.name}.{lane}"].reshape(-1)
                whole[y:y + self.rows, x + lane] = column[:len(self.right) - y]
        return whole


def factor_matrix(image: np.ndarray, factor: Factor, product: Product) -> np.ndarray:
    """A factor as ``[own dimension][r]``, with the terms of the product only; image is y first."""
    rows = image.T if factor.turned else image
    return rows[:, product.start:product.start + product.terms]


def _whole(factor: np.ndarray, rows: int, width: int) -> np.ndarray:
    """A factor with zeros up to whole tiles of so many rows, and up to so many terms, as words."""
    missing = -len(factor) % rows, width - factor.shape[1]
    return np.pad(factor, [(0, each) for each in missing]).astype(np.int64).astype(np.uint16)
