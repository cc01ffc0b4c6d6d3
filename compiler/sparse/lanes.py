"""Lanes: the nonzeros of each row dealt to several sums, which are added.

    a(i) = A(i,j) * x(j)     A by dense rows, x located     a(i) = A.lane0(i,j) * x(j) + A.lane1(i,j) * x(j) + ...

    rows of A -+-> coordinates of lane 0 --> * x --> sum over j -+-> + --> a
               +-> coordinates of lane 1 --> * x --> sum over j -+

A row takes the cycles of its longest lane. Nonzeros of a row go to the lanes in turn, so that none has more than one more than
another, and each row begins with another lane. Rows are the same for all: references of the level above, which is dense, are
those of all lanes, and an empty row sums to 0 in each. What guides their sums is counted apart from these references, in a MEM
tile more, so that no tiles have to hold it for as long as references take to become products. What is looked up is written to a
MEM tile for each lane.

That is for programs whose intermediates stay in the array: they have one sub-tile, which copies of the program cannot share.

Source:  ours; IEEE Micro unrolls whole programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.compiler.lang.expr import Access
from sardonyx.compiler.lang.functions import SUM
from sardonyx.tensors.coordinates import Ints, sort_rows

from .fuse import Fused
from .normalize import Node, Product, located, nested, products
from .renumber import Numbers
from .tiles import Tiles

LANE = ".lane"


@dataclass(frozen=True)
class Deal:
    """How the nonzeros of an operand are dealt.

    Parameters
    ----------
    lanes : int       To so many.
    parts : bool      Whole rows; else those of each row.
    numbers : dict    New numbers of coordinates, by index (`renumber.py`).
    """

    lanes: int
    parts: bool = False
    numbers: Numbers = field(default_factory=dict)

    @property
    def what(self) -> str:
        """What is dealt, in words."""
        return "rows" if self.parts else "nonzeros of each row"


def lane_slot(slot: str, lane: int) -> str:
    """The slot of a lane of an operand: ``A.2.lane0``."""
    return f"{slot}{LANE}{lane}"


def dealt(fused: Fused) -> frozenset[str]:
    """The slots of the operands whose rows may be dealt to lanes; none where nothing is kept in MEM tiles. Of a tensor that is
    used several times all or none are, since they may share streams."""
    if not fused.nest.kept:
        return frozenset()
    root = fused.nest.apart()
    nests = [nest.einsum for nest in (*root.walk(), root)]
    found = [_dealt(part, einsum) for einsum in nests for part in products(nested(einsum)[0])]
    slots = {access.slot for access in found if access is not None}
    whole = {access.tensor for access in fused.einsum.operands if access.slot not in slots}
    return frozenset(access.slot for access in fused.einsum.operands if access.tensor not in whole)


def lanes_of(fused: Fused) -> dict[str, Deal]:
    """How operands are dealt to lanes, by slot."""
    return dict.fromkeys(sorted(dealt(fused)), Deal(fused.lanes, fused.parts, fused.numbers)) if fused.lanes > 1 else {}


def _dealt(part: Product, einsum: Einsum) -> Access | None:
    """The factor of a sum whose rows may be dealt: the only one that is scanned, dense but for its last level."""
    if not part.contract or part.function != SUM:
        return None
    found = located(part, part.contract, einsum.locate)
    scanned = [factor for factor in part.factors if factor not in found]
    if len(scanned) != 1 or not isinstance(scanned[0], Access):
        return None
    access = scanned[0]
    upper, last = range(len(access.stored) - 1), len(access.stored) - 1
    fits = access.stored[last] == part.contract and not access.format.is_dense(last) and \
        last > 0 and all(access.format.is_dense(level) for level in upper)
    return access if fits else None


def split(part: Node, lanes: Mapping[str, Deal]) -> dict[str, Product]:
    """A sum as one for each lane of the operand in it that has lanes, by the slot of that lane; nothing where none has."""
    if not isinstance(part, Product) or not part.contract:
        return {}
    slots = [factor.slot for factor in part.factors if isinstance(factor, Access) and factor.slot in lanes]
    return {lane_slot(slot, lane): replace(part, coefficient=1, factors=tuple(
        replace(factor, slot=lane_slot(slot, lane)) if isinstance(factor, Access) and factor.slot == slot else factor
        for factor in part.factors)) for slot in slots[:1] for lane in range(lanes[slot].lanes)}


def deal(tiles: Tiles, lanes: int) -> tuple[Tiles, ...]:
    """The tiles of each lane."""
    order = tiles.access.format.order
    owners = np.repeat(np.arange(len(tiles.ids)), np.diff(tiles.bounds))
    rows = np.column_stack((owners, tiles.coords[:, list(order)]))
    sorted_ = sort_rows(rows)
    rows = rows[sorted_]
    first = np.ones(len(rows), bool)
    first[1:] = (rows[1:, :-1] != rows[:-1, :-1]).any(axis=1)
    begins = np.flatnonzero(first)
    numbers = np.cumsum(first) - 1
    lane = (np.arange(len(rows)) - begins[numbers] + rows[:, -2]) % lanes if len(rows) else np.zeros(0, np.int64)
    return tuple(of_lane(tiles, sorted_[lane == number], owners) for number in range(lanes))


def of_lane(tiles: Tiles, chosen: Ints, owners: Ints) -> Tiles:
    """Tiles with some of the nonzeros; owners: the tile of each of all."""
    chosen = np.sort(chosen)
    nnz = np.bincount(owners[chosen], minlength=len(tiles.ids))
    counts = np.column_stack((tiles.counts[:, :-1], nnz))
    return replace(tiles, bounds=np.concatenate(([0], np.cumsum(nnz))), coords=tiles.coords[chosen],
                   values=tiles.values[chosen], counts=counts)
