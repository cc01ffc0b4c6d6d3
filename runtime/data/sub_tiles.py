"""Between tensors and transactions: the blocks of every work item of a tiling, and the result from what they gave.

A transaction maps stream names (``B0``, ``B_vals``, ``X0``, ...) to the 16-bit words of a block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...compiler.ir.mapped import VALUES, level_name
from ...compiler.lang.expr import Access
from ...compiler.sparse.normalize import normalize
from ...compiler.sparse.tiling import ITEM_CYCLES, Tiling, cycles
from ...tensors import values as tensors
from ...tensors.coordinates import Coo
from .blocks import Blocks


@dataclass(frozen=True)
class Work:
    """The transactions of a tiling, in order."""

    tiling: Tiling

    def __len__(self) -> int:
        return len(self.tiling)

    def operands(self, item: int) -> dict[str, Coo]:
        """The tiles of an item by slot; a term without nonzeros there is an empty tile of the right shape."""
        found = self.tiling.operands(item)
        extents = dict(self.tiling.edges) | dict(zip(self.tiling.einsum.result.indices, self.tiling.result_shape(item),
                                                     strict=True))
        for access in self.tiling.einsum.operands:
            if found[access.slot].nnz:
                extents |= dict(zip(access.indices, found[access.slot].shape, strict=True))
        return {access.slot: tile if (tile := found[access.slot]).nnz
                else Coo.empty(tuple(extents[index] for index in access.indices))
                for access in self.tiling.einsum.operands}

    def transactions(self, most: int = 1) -> Iterator[Blocks]:
        """Blocks of every load stream, item by item; they are read in order, without loops."""
        for item in range(len(self)):
            tiles = self.operands(item)
            yield {name: block for access in self.tiling.einsum.operands
                   for name, block in named(access, tensors.encode(tiles[access.slot], access.format, access.tensor)).items()}

    def cycles(self) -> int:
        """How many cycles all items should take, roughly."""
        return round(cycles(normalize(self.tiling.einsum), self.tiling, ITEM_CYCLES))

    def bounds(self) -> dict[str, int]:
        """Most words that a block of each store stream can have, by the shape of the result's tiles."""
        result = self.tiling.einsum.result
        fibers, most = 1, {}
        for level, index in enumerate(result.stored):
            entries = fibers * self.tiling.edges[index]
            most[f"{result.slot}{level}"] = 2 + fibers + 1 + entries
            fibers = entries
        return most | {f"{result.slot}_vals": 1 + fibers}

    def part(self, item: int, blocks: Mapping[str, np.ndarray]) -> Coo:
        """The part of the result that an item gave."""
        result = self.tiling.einsum.result
        names = [level_name(result.slot, level) for level in (*range(len(result.stored)), VALUES)]
        return tensors.decode([_whole(blocks[name]) for name in names], result.format, self.tiling.result_shape(item))

    def result(self, blocks: Iterable[Mapping[str, np.ndarray]]) -> Coo:
        """The whole result from the blocks of every item; partial results are added, sums wrap."""
        return self.tiling.combine(self.part(item, found) for item, found in enumerate(blocks))


def named(access: Access, blocks: Sequence[Sequence[int]]) -> Blocks:
    """The blocks of a tensor's levels and values by the names of their streams."""
    levels = [*range(len(access.stored)), VALUES]
    return {level_name(access.slot, level): np.asarray(block, np.uint16)
            for level, block in zip(levels, blocks, strict=True)}


def _whole(block: np.ndarray) -> list[int]:
    """A block as plain integers."""
    return [int(word) for word in block]
