"""Run tiles of a static program on its graph of PEs: the meaning of every PE at every point of the grid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from ...compiler.dense.map.grid import Grid, Store, Walk
from .pe_graph import Region, evaluate_pes


def run_walk(walk: Walk, tiles: Iterable[Mapping[str, np.ndarray]]) -> Iterator[dict[str, np.ndarray]]:
    """Words of every store stream, tile by tile, from those of the load streams."""
    shape = walk.grid.extents[::-1]
    for tile in tiles:
        values = evaluate_pes(walk.graph, {name: words.reshape(shape) for name, words in tile.items()}, walk.grid.origin)
        yield {store.name: pick(values[store.name], store, walk.grid) for store in walk.stores}


def pick(region: Region, store: Store, grid: Grid) -> np.ndarray:
    """The elements of a store from the region of its result, whose points count from the grid's origin."""
    cut = [slice(-corner - start, -corner - start + step * (count - 1) + 1, step)
           for corner, start, step, count in zip(grid.origin, region.origin, store.stride, store.counts, strict=True)]
    return np.asarray(region.values[tuple(reversed(cut))]).astype(np.uint16).reshape(-1)
