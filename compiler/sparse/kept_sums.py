"""Whether sums that are statements of their own (`lang/apart.py`) fit the MEM tiles that keep them, said as a sentence if not.

Each level of them takes half a level buffer in every item, as do those of fused intermediates. They are counted as results are
(`overflow.py`), on the structure of the operands; of what other statements give, which has no tiles, by the edges alone.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from sardonyx.compiler.lang.einsum import Einsum

from .normalize import normalize
from .overflow import results_overflow
from .tiles import Tiling


def kept_sums_overflow(einsum: Einsum, tiling: Tiling, rows: int | None = None) -> str:
    """What of the sums of a statement does not fit; empty if everything does. rows: as of `results_overflow`."""
    for made in einsum.apart[1].values():
        if fault := _overflow(made, tiling, rows):
            return f"the sum {made.expr} is kept in MEM tiles: {fault}"
        if fault := kept_sums_overflow(made, tiling, rows):
            return fault
    return ""


def _overflow(made: Einsum, tiling: Tiling, rows: int | None) -> str:
    slots, capacity = [one.access.slot for one in tiling.tiles], tiling.capacity
    edges = [tiling.edges[index] for index in made.result.stored]
    if prod(edges) <= capacity and prod(edges[:-1]) < capacity:
        return ""
    if any(access.slot not in slots for access in made.operands):
        return f"it may have {prod(edges):,} values but a MEM tile holds {capacity}"
    at = [slots.index(access.slot) for access in made.operands]
    tiles = tuple(replace(tiling.tiles[position], access=access) for position, access in zip(at, made.operands, strict=True))
    picks = np.unique(tiling.picks[:, at], axis=0)
    part = replace(tiling, einsum=made, shape=tuple(tiling.extents[index] for index in made.result.indices), tiles=tiles,
                   picks=picks, outputs=np.zeros((len(picks), len(edges)), np.int32), after=None, statement=None)
    return results_overflow(normalize(made), part, rows)
