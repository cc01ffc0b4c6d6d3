"""Between matrices and the streams of a matrix product: weights and rows in, sums out.

A tile is `lanes` columns and `rows` rows of the result for one chunk of the terms. Its load streams bring the rows of left for
these columns, then the rows of right (`compiler/dense/map/product.py`); what is missing to whole tiles and steps is 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...compiler.dense.map.grid import Walk
from ...compiler.dense.map.product import CARRY, ROWS, Factor, Product
from .frames import Frames
from .load_loops import Reads


@dataclass(frozen=True)
class Products:
    """One run of a product, tile by tile, columns fastest.

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
        return [(x, y) for y, x in itertools.product(rows, columns)]

    def transactions(self, most: int) -> Iterator[dict[str, Reads]]:
        """Every load stream, tile by tile, with at most `most` loops."""
        shape = (1, self.rows)
        for x, y in self._corners:
            rows = np.zeros((self.lanes + self.rows, self.width), np.int64)
            for at, part in ((0, self.left[x:x + self.lanes]), (self.lanes, self.right[y:y + self.rows])):
                rows[at:at + len(part), :part.shape[1]] = part
            images = {ROWS: rows}
            if self.carry is not None:
                for lane in range(self.lanes):
                    images[f"{CARRY}.{lane}"] = first = np.zeros((self.rows, self.walk.grid.extents[0]), np.int64)
                    column = self.carry[y:y + self.rows, x + lane:x + lane + 1]
                    first[:len(column), :column.shape[1]] = column
            # These rows are arranged already.
            for streams in Frames(self.walk, images, shape, shape).transactions(most):
                yield {name: each.apart for name, each in streams.items()}

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
                column = words[f"{self.name}.{lane}"]
                whole[y:y + self.rows, x + lane] = column[:len(self.right) - y]
        return whole


def factor_matrix(image: np.ndarray, factor: Factor, product: Product) -> np.ndarray:
    """A factor as ``[own dimension][r]``, with the terms of the product only; image is y first."""
    rows = image.T if factor.turned else image
    return rows[:, product.start:product.start + product.terms]
