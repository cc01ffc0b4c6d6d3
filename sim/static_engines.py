"""The engines for statically scheduled programs: as in `engines`, all giving the same words.

``golden`` is `halide_golden` and needs no program; ``tokens`` evaluates the graph of PEs; ``fabric`` runs the decoded bitstream
on the routing graph cycle by cycle; ``rtl`` and ``rtl-full`` run generated Verilog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import numpy as np

from ..compiler.backend.encode import decode, encode
from ..compiler.dense.map.grid import Grid, Store
from ..compiler.dense_pipeline import CompiledDense, store_counts
from ..runtime.data.load_loops import Reads
from . import host, static_host
from .engines import FABRIC, RTL, RTL_FULL, TOKENS, Run, in_verilog
from .model.cycles.fabric import run_tile
from .model.pe_graph import Region, evaluate_pes
from .rtl.machine import Machine

Words = Mapping[str, np.ndarray]


class Tiles(Protocol):
    """What is computed tile by tile."""

    def loads(self, most: int) -> Iterable[Mapping[str, Reads]]:
        """Every load stream, tile by tile, with at most `most` loops."""


def run(engine: str, compiled: CompiledDense, frames: Tiles, progress: Callable[[str], None] = lambda stage: None) -> Run:
    """Run a compiled pipeline on every tile of the frames; `blocks` of the result are words by store stream."""
    tiles = list(frames.loads(compiled.arch.glb.load_loops if engine in (RTL, RTL_FULL) else 1))
    if engine == TOKENS:
        progress(f"running {len(tiles)} tiles on the graph of PEs")
        return Run([_graph(compiled, _words(tile)) for tile in tiles])
    program = decode(encode(compiled.program, compiled.arch), compiled.arch)
    counts = store_counts(compiled.walk)
    if engine == FABRIC:
        progress(f"running {len(tiles)} tiles on the decoded bitstream")
        return Run([run_tile(program, compiled.arch, _words(tile), counts) for tile in tiles])

    def drive(machine: Machine) -> host.Outcome:
        progress(f"simulating {len(tiles)} tiles")
        return static_host.run(machine, program, tiles, counts, configurable=engine == RTL_FULL,
                               progress=lambda done, total: progress(f"simulating {total} tiles, {done} done"))

    return in_verilog(program, compiled.arch, drive, full=engine == RTL_FULL, progress=progress)


def _words(tile: Mapping[str, Reads]) -> Words:
    return {name: each.words for name, each in tile.items()}


def _graph(compiled: CompiledDense, words: Words) -> dict[str, np.ndarray]:
    """Words of every store stream of a tile, from the meaning of the PEs at every point of the grid."""
    walk = compiled.walk
    shape = walk.grid.extents[::-1]
    values = evaluate_pes(walk.graph, {name: each.reshape(shape) for name, each in words.items()}, walk.grid.origin)
    return {store.name: pick(values[store.name], store, walk.grid) for store in walk.stores}


def pick(region: Region, store: Store, grid: Grid) -> np.ndarray:
    """The elements of a store from the region of its result, whose points count from the grid's origin."""
    cut = [slice(-corner - start, -corner - start + step * (count - 1) + 1, step)
           for corner, start, step, count in zip(grid.origin, region.origin, store.stride, store.counts, strict=True)]
    return np.asarray(region.values[tuple(reversed(cut))]).astype(np.uint16).reshape(-1)
