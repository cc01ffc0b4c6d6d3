"""Choose how lanes part the columns of a tile: in stripes, which are read and stored as they lie, unless these cost cycles.

A stripe loads its margin itself, so it has more points than a lane that takes columns in turn: of a 3 x 3 stencil 66 a row in
place of 65 for 64 columns, 39 in place of 38 for 37. Stripes are taken where the grid has `MOST` times as many points or less,
and where lanes in turn would compute what is not stored, as in down-sampling. A stripe of an enlarged image that begins within
an element is read by no loops as it lies, so there columns are taken in turn.

Needs:   PeGraph, the tile, lanes; which way is asked for, if one is.
Gives:   walks, the better one first; the other one may fit a machine where the first does not.
Cost:    two walks, 2 ms for a 3 x 3 stencil.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.pe_graph import PeGraph
from .grid import Walk, walk
from .parted import stride

MOST = 1.02


def possible(pes: PeGraph, lanes: int, stripes: bool | None = None) -> tuple[bool, ...]:
    """Whether lanes may take stripes, or columns in turn. stripes: what is asked for, if anything is."""
    if lanes == 1 or stripes is not None:
        return (bool(stripes),)
    return (True, False) if stride(pes) == 1 else (True,)


def walks(pes: PeGraph, tile: Sequence[int], lanes: int, stripes: bool | None = None) -> tuple[Walk, ...]:
    """The walks of a tile, whose columns divide by the lanes, the better way first; stripes: as of `possible`."""
    found = {way: walk(pes, tile, lanes, way) for way in possible(pes, lanes, stripes)}
    if len(found) == 1:
        return tuple(found.values())
    better = lies(pes, tile, lanes) and found[True].grid.points <= MOST * found[False].grid.points
    return found[better], found[not better]


def lies(pes: PeGraph, tile: Sequence[int], lanes: int) -> bool:
    """Whether stripes, and tiles of them, begin with elements of all images."""
    points = stride(pes) * tile[0] // lanes
    return all(stream.scale[0] * points % stream.divide[0] == 0 for stream in pes.inputs.values() if not stream.pattern)
