"""Between matrices and the streams of a matrix product: weights and rows in, sums out.

A tile is `lanes` columns and `rows` rows of the result for one chunk of the terms. Its load streams bring the rows of left for
these columns, then the rows of right (`compiler/dense/map/product.py`); what is missing to whole tiles and steps is 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..compiler.dense.map.grid import Walk
from ..compiler.dense.map.product import CARRY, ROWS, Factor, Product
from ..compiler.dense_pipeline import CompiledDense
from ..runtime.data.load_loops import Reads
from . import static_engines
from .engines import Run
from .frames import Frames


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

    def loads(self, most: int) -> Iterator[dict[str, Reads]]:
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
            yield from Frames(self.walk, images, shape, shape).loads(most)

    def picture(self, stores: Sequence[Mapping[str, np.ndarray]]) -> np.ndarray:
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


def multiply(engine: str, compiled: CompiledDense, whole: Products,
             progress: Callable[[str], None] = lambda stage: None) -> tuple[Run, np.ndarray]:
    """Run a product whose factors have all terms, `width` of them a run; what the engine found, and the result ``[y][x]``."""
    sums = np.zeros((len(whole.right), len(whole.left)), np.uint16)
    total: Run | None = None
    for first in range(0, whole.left.shape[1], whole.width):
        terms = slice(first, first + whole.width)
        part = replace(whole, left=whole.left[:, terms], right=whole.right[:, terms],
                       carry=None if whole.width >= whole.left.shape[1] else sums)
        found = static_engines.run(engine, compiled, part, progress)
        sums = part.picture(found.blocks)
        total = found if total is None else replace(
            found, blocks=[], cycles=None if found.cycles is None else found.cycles + (total.cycles or 0),
            launches=total.launches + found.launches, build_s=total.build_s + found.build_s,
            simulate_s=total.simulate_s + found.simulate_s, simulated=total.simulated + found.simulated)
    assert total is not None, "a product has a term"
    return total, sums
