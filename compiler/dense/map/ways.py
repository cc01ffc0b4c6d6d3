"""Choose how lanes part the columns of a tile: in stripes, which are read and stored as they lie, wherever they can.

A stripe loads its margin itself, so it has more points than a lane that takes columns in turn: of a 3 x 3 stencil 66 a row in
place of 65 for 64 columns, 39 in place of 38 for 37. Columns in turn have to be parted before and joined behind by the host,
which no cycle of the machine counts. So they are taken where stripes do not fit a machine, and where these would not be read as
they lie: a stripe of an enlarged image that begins within an element is walked by no loops. Where lanes in turn would compute
what is not stored, as in down-sampling, lanes are stripes.

Needs:   PeGraph, the tile, lanes; which way is asked for, if one is.
Gives:   walks, the better one first; the other one may fit a machine where the first does not.
Cost:    two walks, 2 ms for a 3 x 3 stencil.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.pe_graph import PeGraph
from .grid import Walk, walk
from .parted import stride


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
    better = lies(pes, tile, lanes)
    return found[better], found[not better]


def lies(pes: PeGraph, tile: Sequence[int], lanes: int) -> bool:
    """Whether stripes, and tiles of them, begin with elements of all images."""
    points = stride(pes) * tile[0] // lanes
    return all(stream.scale[0] * points % stream.divide[0] == 0 for stream in pes.inputs.values() if not stream.pattern)
