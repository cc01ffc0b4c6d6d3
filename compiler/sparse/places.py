"""Lower the values of dense levels of a result that are written at their coordinates.

    X(i,j) dense below i       values at j, in fibers for those i that have some (droppers have thinned them out before)
    X(i,j) dense               values at i * extent + j: i is repeated for each j, and an ALU multiplies and adds

So are a dense level that is the innermost one, below compressed ones, and the values of a result of dense levels alone on a
machine that can do so; on any, which then says what it lacks, if loops are in another order than its levels, or if a sum is
accumulated over them. Nothing is united with all coordinates that there are, so that what is absent takes no cycles, and of
dense levels alone nothing is dropped.

Input:   the coordinates of each level of the result, and its values.
Source:  ours. Onyx's level writer stores what comes in order (JSSC III-B).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import prod

from sardonyx.compiler.ir.sam import Pin
from sardonyx.compiler.ir.sam_ops import Repeater, RootLocator
from sardonyx.compiler.ir.sam_scatter import Position, ScatterWriter
from sardonyx.compiler.lang.einsum import Einsum


def scatter(add: Callable[..., str], einsum: Einsum, crds: list[Pin], value: Pin) -> None:
    """Write values at their coordinates in the innermost level, or at their positions in all; `add` adds a node."""
    result, sizes = einsum.result, dict(einsum.sizes)
    whole = einsum.scattered == result.format.rank
    at = crds[-1]
    if whole and len(crds) > 1:
        loops = dict(zip(result.stored, crds, strict=True))
        inner = result.stored != einsum.looped
        at = Pin(add(f"place_{einsum.looped[0]}", RootLocator(result.slot, einsum.looped[0]), i=loops[einsum.looped[0]]), "o")
        for outer, index in pairwise(einsum.looped):
            again = add(f"repeat_{result.slot}_{index}", Repeater(result.slot, index), ref=at, crd=loops[index])
            place = Position(index, sizes.get(outer if inner else index, 0), inner)
            inputs = dict(zip("ca" if inner else "ac", (Pin(again, "ref_o"), loops[index]), strict=True))
            at = Pin(add(f"place_{index}", place, **inputs), "res")
    extent = prod(sizes.get(index, 0) for index in result.stored[-einsum.scattered:])
    add(f"write_{result.slot}_vals", ScatterWriter(result.slot, extent, whole, einsum.scattered == 1), at=at, val=value)
