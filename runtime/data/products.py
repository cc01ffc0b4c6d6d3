"""Between matrices and the streams of a matrix product: weights and rows in, sums out.

A tile is `lanes` columns and `rows` rows of the result for one chunk of the terms. Its load streams bring the rows of left for
these columns, then the rows of right (`compiler/dense/map/product.py`); what is missing to whole tiles and steps is 0.

All streams have the same images of left and of right, with their terms row after row. A tile takes rows of both (`stack.py`),
and of these a stream its terms, which lie beside each other. Each store stream has an image of its columns, every one of
`lanes`. Tiles come row by row or column by column, as those of pictures (`frames.py`). The sums of the run before, which come
in the first step of each row with zeros behind them, are arranged.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...compiler.dense.map.grid import Walk
from ...compiler.dense.map.product import CARRY, ROWS, Factor, Product
from ...hw.arch.glb import LANES
from ..commands import Box
from .frames import short
from .load_loops import in_order
from .result import Part
from .stack import Stack
from .tile import Source, Tile
from .window import filled, rows


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

    @cached_property
    def _factors(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows of left and of right, as `Box` takes images."""
        left, right = (rows(_whole(each, count, self.width))
                       for each, count in ((self.left, self.lanes), (self.right, self.rows)))
        return left, right

    def transactions(self, most: int) -> Iterator[Tile]:
        """Every load stream, tile by tile, with at most `most` loops, and where the store streams belong."""
        left, right = self._factors
        tiles = -(-len(self.right) // self.rows), -(-len(self.left) // self.lanes)
        whole = tiles[0] * self.rows, filled(tiles[1])
        for x, y in self._corners:
            streams: dict[str, Source] = {}
            for number, first in enumerate(range(0, self.width, self._steps)):
                # From the begin of a line on.
                lead = first % LANES
                pitch = filled(lead + self._steps)
                boxes = (Box(left, (x, first - lead), (self.lanes, pitch)), Box(right, (y, first - lead), (self.rows, pitch)))
                streams[f"{ROWS}.{number}"] = Stack(boxes, self._steps, most, lead)
            if self.carry is not None:
                for lane in range(self.lanes):
                    streams[f"{CARRY}.{lane}"] = in_order(self._carried(x + lane, y))
            yield Tile(streams, {f"{self.name}.{lane}": Part(whole, (y, x // self.lanes), (self.rows, 1))
                                 for lane in range(self.lanes)})

    def _carried(self, x: int, y: int) -> np.ndarray:
        """The sums of a column that go into a tile, where the rows of right come."""
        assert self.carry is not None
        words = np.zeros((self.lanes + self.rows, self._steps), np.uint16)
        column = self.carry[y:y + self.rows, x:x + 1]
        words[self.lanes:self.lanes + len(column), :column.shape[1]] = column
        return words.reshape(-1)

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
