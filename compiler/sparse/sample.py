"""Some of the work on large operands, to estimate all of it: tiles of some rows of tiles only.

Of an index whose tiles are sampled, every operand keeps the tiles at some of its coordinates, chosen by seed, and so do the
items: each takes tiles of one coordinate. Work is then as many times more as there are coordinates for one that was chosen.
That holds for indices of the result, which every term has, and for all others where nothing is added up but products.

Cost:    a sort of every operand by an index that is sampled, once; then for every edge what is cut, sorted and paired: about
         `MOST` nonzeros an operand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.compiler.lang.expr import Access
from sardonyx.tensors.coordinates import Coo, Ints

from .normalize import Node, Sum
from .tiles import Tiles, cut_one

MOST = 1 << 16      # Nonzeros of an operand that are looked at.
LEAST_ROWS = 8      # Rows of tiles that are looked at, if there are so many.


@dataclass(frozen=True, eq=False)
class Sample:
    """Which share of the tiles is looked at.

    Parameters
    ----------
    einsum, extents
    operands : dict    By slot.
    shares : dict      Per index: of so many rows of tiles one is looked at.
    """

    einsum: Einsum
    operands: Mapping[str, Coo]
    extents: Mapping[str, int]
    shares: Mapping[str, int]
    # By slot and index: the nonzeros in the order of that index, and their coordinates in it.
    sorted_by: dict[tuple[str, str], tuple[Ints, Ints]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, einsum: Einsum, root: Node, operands: Mapping[str, Coo], extents: Mapping[str, int]) -> Sample:
        """A sample with no more than about `MOST` nonzeros of each operand, where there are indices to take it by."""
        possible = einsum.result.indices if _adds(root) else einsum.order
        shares: dict[str, int] = {}
        for access in sorted(einsum.operands, key=lambda each: -operands[each.slot].nnz):
            left = operands[access.slot].nnz
            for index in access.indices:
                left //= shares.get(index, 1)
            free = [index for index in access.indices if index in possible and index not in shares]
            if left > MOST and free:
                shares[max(free, key=lambda index: extents[index])] = -(-left // MOST)
        return cls(einsum, operands, extents, shares)

    def cut(self, einsum: Einsum, edges: Mapping[str, int]) -> tuple[tuple[Tiles, ...], float]:
        """The tiles of every operand slot that are looked at, stored as the statement's are in some order of loops, and how
        many times more all work is."""
        chosen, times = {}, 1.0
        for index, share in self.shares.items():
            rows = -(-self.extents[index] // edges[index])
            count = min(rows, max(LEAST_ROWS, -(-rows // share)))
            chosen[index] = np.zeros(rows, bool)
            chosen[index][np.random.default_rng(0).choice(rows, count, replace=False)] = True
            times *= rows / count
        return tuple(cut_one(access, self._kept(access, edges, chosen), edges)
                     for access in einsum.operands), times

    def _kept(self, access: Access, edges: Mapping[str, int], chosen: Mapping[str, NDArray[np.bool_]]) -> Coo:
        """The nonzeros of an operand in chosen tiles."""
        tensor, indices = self.operands[access.slot], access.indices
        first, *others = [index for index in indices if index in chosen and not chosen[index].all()] or [""]
        if first:
            # Tiles are runs of what is sorted by their index, so that what is not chosen is not looked at.
            order, at = self._sorted(access, first)
            begins = np.flatnonzero(chosen[first]) * edges[first]
            lows, highs = np.searchsorted(at, begins), np.searchsorted(at, begins + edges[first])
            lengths = highs - lows
            runs = np.arange(lengths.sum()) + np.repeat(lows - (np.cumsum(lengths) - lengths), lengths)
            there = np.sort(order[runs])
            tensor = Coo(tensor.shape, tensor.coords[there], tensor.values[there])
        for index in others:
            mask = chosen[index][tensor.coords[:, indices.index(index)] // edges[index]]
            tensor = Coo(tensor.shape, tensor.coords[mask], tensor.values[mask])
        return tensor

    def _sorted(self, access: Access, index: str) -> tuple[Ints, Ints]:
        key = access.slot, index
        if key not in self.sorted_by:
            coords = self.operands[access.slot].coords[:, access.indices.index(index)]
            order = np.argsort(coords, kind="stable")
            self.sorted_by[key] = order, coords[order]
        return self.sorted_by[key]


def _adds(node: Node) -> bool:
    """Whether a part has a sum of terms."""
    return isinstance(node, Sum) or any(_adds(each) for each in getattr(node, "factors", ()))
