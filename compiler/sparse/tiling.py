"""Cut operands into sub-tiles in coordinate space, so that each fits the level buffers, and list the work.

Where no edges are given, those of the fewest estimated cycles are chosen (`search.py`, `estimate.py`). Large tiles mean few
items; small ones leave out more of the pairs of fibers that have nothing in common, and let the next item load while one is
computed. Tiles of one coordinate of a summed index make a product an outer one: no pair is looked at in vain.

A function has to see whole sums, so an index that is summed inside one is not cut. Where its whole extent does not fit, or
the user cuts it, or it saves half of the cycles, a function of the result is left to the host, which applies it where the
results of items are added.

Errors:  UserError for edges that the user chose and that do not fit, and where all edges make too many items.
Cost:    that of the search, which is bounded, and of cutting once; processor time for a 2021 x 2021 matrix with 7310
         nonzeros times itself 0.4 s, for two of 100,000 x 100,000 with 10^6 each 4 s.
Source:  Onyx JSSC IV-B (tiles of the operands, empty ones skipped); Onyx itself takes edges by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sardonyx.compiler.lang.einsum import Einsum, peeled, with_extents
from sardonyx.compiler.lang.terms import with_value
from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors.coordinates import Coo

from .estimate import ROOM, cycles
from .full import filled
from .narrow import narrowed
from .normalize import normalize, unsplit
from .search import Search
from .tiles import Tiling
from .trials import BUDGET, Share, alone

# Times the cycles that are worth what the host then applies: to no more values than items store, which take a cycle each.
HOST = 2


def tile(einsum: Einsum, operands: Mapping[str, Coo], capacity: int, edges: int | Mapping[str, int] | None = None,
         room: int = ROOM, tell: Callable[[int], None] = lambda tried: None, narrow: bool = False,
         share: Share = alone, single: bool = False, looked: Search | None = None) -> Tiling:
    """Cut operands (by tensor name) into tiles that fit.

    Parameters
    ----------
    capacity : int      Words of one half of a level buffer: segments, coordinates or values; also of the sums of an
                        accumulator.
    edges : int         For every index, or a dict per index (whole extents for those left out); else chosen.
    room : int          16-bit words of a bank of the global buffer, for choosing the edges.
    tell : function     Called with the number of edges that were compared, as it rises.
    narrow : bool       Leave indices of one coordinate a tile out of the program of an item (`narrow.py`), and store levels
                        dense that are full in all tiles (`full.py`): compile that of the tiling, not `einsum`.
    share : function    The copies of a program that share the items.
    single : bool       Each item is a launch of its own, on one copy.
    looked : Search     Of this statement, in place of one that begins anew (`search`).
    """
    def found(program: Einsum) -> Tiling:
        made = looked if looked is not None and looked.einsum == program else \
            search(program, operands, capacity, room, tell, narrow, share, single)
        return made.chosen() if edges is None else made.given(edges)

    extents = einsum.extents({name: tensor.shape for name, tensor in operands.items()})
    tiling = _peeled(with_extents(einsum, extents), found, edges is None, room)
    return filled(narrowed(tiling)) if narrow else tiling


def search(einsum: Einsum, operands: Mapping[str, Coo], capacity: int, room: int = ROOM,
           tell: Callable[[int], None] = lambda tried: None, narrow: bool = False, share: Share = alone, single: bool = False,
           budget: int = BUDGET) -> Search:
    """A search for edges; arguments as of `tile`. budget: nonzeros and items that are looked at."""
    extents = einsum.extents({name: tensor.shape for name, tensor in operands.items()})
    program = with_extents(einsum, extents)
    return Search(program, normalize(program), operands, extents, capacity, room, tell, narrow, share, single, budget)


def _peeled(einsum: Einsum, found: Callable[[Einsum], Tiling], free: bool, room: int) -> Tiling:
    """The sub-tiles of a statement, or of it without a function of its result, which the host then applies: where nothing else
    fits, or, with edges that are `free`, where that saves half of the cycles."""
    inner, after = peeled(einsum)
    if with_value(inner.expr, 0) or unsplit(normalize(inner)) == unsplit(normalize(einsum)):
        return found(einsum)
    try:
        whole = found(einsum)
    except UserError as refused:
        try:
            return replace(found(inner), after=after)
        except UserError:
            raise refused from None
    if not free:
        return whole
    cut = found(inner)
    saves = HOST * cycles(normalize(cut.einsum), cut, room) < cycles(normalize(whole.einsum), whole, room)
    return replace(cut, after=after) if saves else whole
