"""Matrices without zeros in memory, tile by tile: what requests of a spatial accelerator bring and take.

A matrix is cut into tiles, of which each has its fibers one after the other; segments and coordinates go on from tile to tile,
coordinates are those in the tile. Ragged tiles have empty fibers at their ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Cut:
    """How a matrix is cut.

    Parameters
    ----------
    shape, tile : tuple      Rows and columns.
    by_columns : bool        Fibers are columns of a tile.
    down : bool              Tiles follow each other down a column of tiles.
    """

    shape: tuple[int, int]
    tile: tuple[int, int]
    by_columns: bool
    down: bool

    @property
    def tiles(self) -> tuple[int, int]:
        """Tiles from top to bottom, and from left to right."""
        rows, columns = (-(-size // part) for size, part in zip(self.shape, self.tile, strict=True))
        return rows, columns

    @property
    def fibers(self) -> int:
        """Of a tile."""
        return self.tile[1 if self.by_columns else 0]


@dataclass(frozen=True, eq=False)
class Blocked:
    """The arrays of a matrix.

    segments : int64[tiles x fibers + 1];  coordinates, values : int64, of each element.
    """

    segments: np.ndarray
    coordinates: np.ndarray
    values: np.ndarray


def blocked(cut: Cut, rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> Blocked:
    """The arrays of elements in any order, each place once."""
    (down, row), (right, column) = (np.divmod(at, part) for at, part in zip((rows, columns), cut.tile, strict=True))
    number = right * cut.tiles[0] + down if cut.down else down * cut.tiles[1] + right
    fiber, crd = (column, row) if cut.by_columns else (row, column)
    place = number * cut.fibers + fiber
    order = np.lexsort((crd, place))
    counts = np.bincount(place, minlength=cut.tiles[0] * cut.tiles[1] * cut.fibers)
    return Blocked(np.concatenate(([0], np.cumsum(counts))), crd[order], values[order])


def elements(cut: Cut, found: Blocked) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and values of all elements: the inverse of `blocked`; AssertionError for arrays that are none."""
    counts = np.diff(found.segments)
    assert found.segments[0] == 0 and (counts >= 0).all(), "segments rise from 0"
    assert found.segments[-1] == len(found.coordinates) == len(found.values), "segments end with the number of elements"
    number, fiber = np.divmod(np.repeat(np.arange(len(counts)), counts), cut.fibers)
    along, across = np.divmod(number, cut.tiles[0] if cut.down else cut.tiles[1])
    down, right = (across, along) if cut.down else (along, across)
    row, column = (found.coordinates, fiber) if cut.by_columns else (fiber, found.coordinates)
    return down * cut.tile[0] + row, right * cut.tile[1] + column, found.values
