"""Cut the operands of fused statements, so that what stays inside the array fits as well.

Where all intermediates are streams, the statement in one is cut as any other. One that MEM tiles keep has to be whole where it
is read: indices that are summed for it are not cut. Each level of it needs half a level buffer in every item. The largest edge
with which all fits is taken for the other indices, since smaller tiles compute intermediates again. An operand that is taken
whole for several uses comes over one link, to the MEM tiles of all of them.

Errors:  UserError saying what does not fit, or which index cannot be cut.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from sardonyx.compiler.lang.einsum import Einsum, with_extents, with_sizes
from sardonyx.compiler.lang.expr import Access
from sardonyx.compiler.lang.schedule import Schedule
from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.joins import TooManyMatches

from .estimate import ROOM
from .fuse import Fused
from .kept_sums import kept_sums_overflow
from .lanes import lanes_of
from .nest import Nest
from .normalize import normalize, unsplit
from .overflow import SEARCH_ROWS, operands_overflow, results_overflow, sums_overflow
from .parts import dealt_tiles
from .search import EDGES, Search, way_to_cut
from .settled_nests import lone, settled_nests
from .tiles import Tiling, cut, meet
from .tiling import tile
from .trials import MOST_ITEMS, Share, alone


def tile_fused(fused: Fused, operands: Mapping[str, Coo], capacity: int, edges: int | Mapping[str, int] | None = None,
               room: int = ROOM, tell: Callable[[int], None] = lambda tried: None, narrow: bool = False,
               share: Share = alone, single: bool = False, looked: Search | None = None) -> Tiling:
    """Cut operands (by tensor name) into tiles that fit; arguments as of `tile`. Where MEM tiles keep something, no index is
    left out of the program of an item, and the edges do not depend on copies."""
    if not fused.nest.kept:
        return tile(fused.einsum, operands, capacity, edges, room, tell, narrow, share, single, looked)
    extents = fused.einsum.extents({name: tensor.shape for name, tensor in operands.items()})
    uncut = kept_whole(fused) | unsplit(normalize(fused.einsum))
    fix = f"do not fuse {' and '.join(dict.fromkeys(slot.partition('.')[0] for slot in fused.whole))}"
    if edges is None:
        fault = ""
        longest = max((extent for index, extent in extents.items() if index not in uncut), default=1)
        ladder = [longest, *(edge for edge in EDGES if edge < longest)]
        for tried, edge in enumerate(ladder, 1):
            tell(tried)
            named = lone(fused, {index: extents[index] if index in uncut else min(edge, max(extents[index], 1))
                                 for index in extents}, uncut)
            found = _fitting(fused, operands, extents, named, capacity)
            if isinstance(found, Tiling):
                return found
            fault = fault or found
        kept = f", also in the smallest tiles that leave {' and '.join(sorted(uncut))} whole" if uncut else ""
        raise UserError(f"{fault}{kept}", fused.einsum.text, f"{fix}, or use an array with larger level buffers")
    named = dict.fromkeys(extents, edges) if isinstance(edges, int) else {index: edges.get(index, max(extent, 1))
                                                                         for index, extent in extents.items()}
    for index in [] if isinstance(edges, int) else edges:
        if index not in extents:
            raise UserError(f"there is a tile edge for {index} but no such index", fused.einsum.text,
                            f"name one of {', '.join(extents)}")
    for index in sorted(uncut):
        if named[index] < extents[index]:
            few = {other: edge for other, edge in named.items() if other not in uncut}
            way = f"give no tile edge for {index}" if not isinstance(edges, int) else \
                f"{way_to_cut(few)} in place of tile {edges}" if few else f"leave out tile {edges}"
            raise UserError(f"index {index}, of {extents[index]}, is summed for what MEM tiles keep, so that it cannot be cut",
                            fused.einsum.text, f"{way}, or {fix}")
    used = named if isinstance(edges, int) else lone(fused, named, uncut | edges.keys())
    found = _fitting(fused, operands, extents, used, capacity)
    if isinstance(found, Tiling):
        return found
    few = {index: edge for index, edge in lone(fused, named, uncut).items() if index not in uncut}
    smaller = f"schedule '{Schedule(edges=few)}'" if any(few[index] < named[index] for index in few) else "smaller edges"
    raise UserError(found, fused.einsum.text, f"use {smaller}, or {fix}")


def sharing(fused: Fused, tiling: Tiling) -> Fused:
    """Fused statements as they are computed on some work. Where an operand is used again and every item takes the same tile of
    it for both uses, its streams come once. Maxima know how many coordinates there are."""
    fused = settled_nests(fused, tiling.edges)
    shared: dict[str, str] = {}
    for at, one in enumerate(tiling.tiles if fused.nest.kept else ()):
        for before, other in enumerate(tiling.tiles[:at]):
            if other.access.slot not in shared and _same(one.access, other.access) and one.edges == other.edges and \
                    np.array_equal(tiling.picks[:, at], tiling.picks[:, before]):
                shared[one.access.slot] = other.access.slot
                break
    nest = _known(fused.nest, tiling.extents)
    return replace(fused, nest=replace(nest, einsum=with_sizes(nest.einsum, tiling.edges)), shared=shared)


def _known(nest: Nest, extents: Mapping[str, int]) -> Nest:
    return Nest(with_extents(nest.einsum, extents), {slot: _known(inner, extents) for slot, inner in nest.kept.items()})


def _same(one: Access, other: Access) -> bool:
    """Whether two uses are of the same tensor, stored in the same way."""
    patterns = [[access.modes.index(index) for index in access.modes] for access in (one, other)]
    return one.tensor == other.tensor and one.format == other.format and patterns[0] == patterns[1]


def kept_whole(fused: Fused) -> frozenset[str]:
    """The indices that have to be whole in every item, since they are summed for what MEM tiles keep."""
    return frozenset(index for nest in fused.nest.walk() for index in nest.einsum.order
                     if index not in nest.einsum.result.indices)


def _fitting(fused: Fused, operands: Mapping[str, Coo], extents: Mapping[str, int], edges: Mapping[str, int], capacity: int
             ) -> Tiling | str:
    """The work with some edges, or what does not fit."""
    fused = settled_nests(fused, edges)
    einsum = fused.einsum
    whole, tiles = cut(einsum, operands, extents, edges)
    lanes = lanes_of(fused)
    parts = [part for one in tiles
             for part in (dealt_tiles(one, lanes[one.access.slot]) if one.access.slot in lanes else (one,))]
    fault = operands_overflow(tuple(parts), whole, capacity)
    for nest in (*fused.nest.walk(), fused.nest):
        fault = fault or sums_overflow(nest.einsum, whole, capacity)
    if fault:
        return fault
    root = normalize(einsum)
    try:
        tiling = meet(einsum, root, extents, whole, tiles, capacity, MOST_ITEMS)
    except TooManyMatches as many:
        return f"tiles make {many.count:,} sub-tiles of work, more than {MOST_ITEMS:,}"
    for nest in (*fused.nest.walk(), fused.nest):
        if fault := kept_sums_overflow(nest.einsum, tiling, SEARCH_ROWS):
            return fault
    for slot, made in fused.whole.items():
        part = _part(tiling, fused, slot, made)
        if fault := results_overflow(normalize(made), part, SEARCH_ROWS):
            return f"{slot.partition('.')[0]} stays inside the array: {fault}"
    return results_overflow(root, tiling, SEARCH_ROWS) or tiling


def _part(tiling: Tiling, fused: Fused, slot: str, made: Einsum) -> Tiling:
    """The work of an intermediate alone, of every item; made: what computes it."""
    slots = [one.access.slot for one in tiling.tiles]
    own = [leaf.slot for leaf in fused.leaves(slot)]
    at = [slots.index(each) for each in own]
    tiles = tuple(replace(tiling.tiles[position], access=access) for position, access in zip(at, made.operands, strict=True))
    picks = np.unique(tiling.picks[:, at], axis=0)
    edges = {index: tiling.edges[index] for index in made.order}
    extents = {index: tiling.extents[index] for index in made.order}
    outputs = np.zeros((len(picks), len(made.result.indices)), np.int32)
    return Tiling(made, tuple(extents[index] for index in made.result.indices), edges, tiles, picks, outputs, tiling.capacity,
                  extents)
