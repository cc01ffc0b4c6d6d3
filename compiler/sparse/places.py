"""Lower the values of dense levels of a result that are written at their coordinates.

    X(i,j) dense below i       values at j, in fibers for those i that have some (droppers have thinned them out before)
    X(i,j,k) dense below i     values at j * extent + k likewise: the dense levels are as one
    X(i,j) dense               values at i * extent + j: i is repeated for each j, and an ALU multiplies and adds

So are dense levels that are the innermost ones, below compressed ones, and the values of a result of dense levels alone on
a machine that can do so; on any, which then says what it lacks, if loops are in another order than its levels, or if a sum
is accumulated over them. Nothing is united with all coordinates that there are, so that what is absent takes no cycles, and of
dense levels alone nothing is dropped.

Input:   the coordinates of each level of the result, and its values. Positions are computed before droppers thin these out.
Source:  ours. Onyx's level writer stores what comes in order (JSSC III-B).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from math import prod

from sardonyx.compiler.ir.sam import Pin
from sardonyx.compiler.ir.sam_levels import RootLocator
from sardonyx.compiler.ir.sam_scatter import Position, ScatterWriter
from sardonyx.compiler.ir.sam_streams import Repeater
from sardonyx.compiler.lang.einsum import Einsum


def positions(add: Callable[..., str], einsum: Einsum, loops: Mapping[str, Pin]) -> Pin:
    """Where values are in the dense levels that are the innermost ones of the result: coordinates of one level, or positions in
    several; loops: the coordinates of every index of the result. `add` adds a node."""
    result, sizes = einsum.result, dict(einsum.sizes)
    inner, whole = result.stored != einsum.looped, einsum.scattered == result.format.rank
    names = einsum.looped[-einsum.scattered:]
    if len(names) == 1:
        return loops[names[0]]
    at = Pin(add(f"place_{names[0]}", RootLocator(result.slot, names[0]), i=loops[names[0]]), "o")
    for outer, index in pairwise(names):
        again = add(f"repeat_{result.slot}_{index}", Repeater(result.slot, index), ref=at, crd=loops[index])
        fixed = outer if inner else index
        place = Position(fixed, sizes.get(fixed, 0), inner, not whole and index == names[-1])
        inputs = dict(zip("ca" if inner else "ac", (Pin(again, "ref_o"), loops[index]), strict=True))
        at = Pin(add(f"place_{index}", place, **inputs), "res")
    return at


def scatter(add: Callable[..., str], einsum: Einsum, at: Pin, value: Pin) -> None:
    """Write values at their positions; `add` adds a node."""
    result, sizes = einsum.result, dict(einsum.sizes)
    whole = einsum.scattered == result.format.rank
    extent = prod(sizes.get(index, 0) for index in result.stored[-einsum.scattered:])
    writer = ScatterWriter(result.slot, extent, whole, not whole or einsum.scattered == 1, 0 if whole else einsum.scattered - 1)
    add(f"write_{result.slot}_vals", writer, at=at, val=value)
