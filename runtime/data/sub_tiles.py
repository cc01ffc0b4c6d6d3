"""Between tensors and transactions: the blocks of every work item of a tiling, and the result from what they gave.

A transaction maps stream names (``B0``, ``B_vals``, ``X0``, ...) to the 16-bit words of a block.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...compiler.ir.mapped import VALUES, level_name
from ...compiler.lang.expr import Access
from ...compiler.sparse.counted import counted
from ...compiler.sparse.estimate import cycles
from ...compiler.sparse.lanes import Deal, lane_slot
from ...compiler.sparse.meetings import most_rows, most_words, shape_words
from ...compiler.sparse.normalize import normalize
from ...compiler.sparse.pairing import ABSENT
from ...compiler.sparse.parts import dealt_tiles, result_parts
from ...compiler.sparse.renumber import Numbers, renumbered
from ...compiler.sparse.tiles import Tiles, Tiling
from ...tensors import values as tensors
from ...tensors.coordinates import Coo
from .blocks import Blocks, Bounded, with_segments
from .lying import Lying, LyingBlock, gains, lying, sides
from .operand_blocks import TileBlocks, encode, runs


@dataclass(frozen=True)
class Work:
    """The transactions of a tiling, in order.

    lanes: how operands are dealt, by slot (`lanes.py`).
    """

    tiling: Tiling
    lanes: Mapping[str, Deal] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.tiling)

    def operands(self, item: int) -> dict[str, Coo]:
        """The tiles of an item by slot; a term without nonzeros there is an empty tile of the right shape."""
        return self.tiling.operands(item)

    def operands_together(self, begin: int, end: int) -> dict[str, Coo]:
        """The tiles of some items by slot, as one tensor each, whose outermost index is the item."""
        found = {}
        for at, tiles in enumerate(self.tiling.tiles):
            picks = self.tiling.picks[begin:end, at]
            items = np.flatnonzero(picks != ABSENT)
            first, last = tiles.bounds[picks[items]], tiles.bounds[picks[items] + 1]
            chosen = runs(first, last - first)
            coords = np.column_stack((np.repeat(items, last - first), tiles.coords[chosen]))
            found[tiles.access.slot] = Coo((len(picks), *tiles.edges), coords, tiles.values[chosen].astype(np.int16))
        return found

    def transactions(self, most: int = 1) -> Iterator[Blocks]:
        """Blocks of every load stream, item by item; they are read in order, without loops. Each knows its own bounds."""
        return self._blocks_of({})

    def listed(self, groups: int = 1) -> Iterator[Mapping[str, np.ndarray | LyingBlock]]:
        """The same, of dense operands as they lie; groups: of links that bring them, each its share of the items."""
        return self._blocks_of({name: each for name, each in self.dense(groups).items() if isinstance(each, Lying)})

    def dense(self, groups: int = 1) -> Mapping[str, Lying | str]:
        """Operands of dense levels, by the streams of their values: as they lie, or why sub-tiles of them are copied."""
        found: dict[str, Lying | str] = {}
        for at, tiles in enumerate(self.tiling.tiles):
            slot = tiles.access.slot
            absent, values = bool((self.tiling.picks[:, at] == ABSENT).any()), level_name(slot, VALUES)
            shape = sides(tiles, absent)
            if shape is None:
                continue
            if slot in self.lanes or self._numbers.keys() & set(tiles.access.indices):
                found[values] = "dealt to lanes"
            elif not gains(shape, tiles, len(self) // groups):
                found[values] = "more words than its sub-tiles"
            elif operand := lying(tiles, absent):
                found[values] = operand
        return found

    def _blocks_of(self, lies: Mapping[str, Lying]) -> Iterator[Bounded]:
        """Blocks of every load stream, item by item."""
        streams = [(at, name, lies[name].tile if name in lies else blocks.block)
                   for at, found in enumerate(self._streams) for name, blocks in found.items()]
        counted = self._counted
        for item, picks in enumerate(self.tiling.picks):
            chosen = picks.tolist()
            yield Bounded({name: block(chosen[at]) for at, name, block in streams} | counted,
                          functools.partial(self._bounds, item))

    @property
    def told(self) -> str:
        """What there is to do, in numbers: ``27 sub-tiles of i 32, j 32, k 32: 0.1 MB to load, about 60,000 cycles``."""
        edges = ", ".join(f"{index} {edge}" for index, edge in self.tiling.edges.items())
        return (f"{len(self):,} sub-tiles of {edges or 'a number'}: {2 * self.loaded / 1e6:,.1f} MB to load, "
                f"about {self.cycles():,} cycles")

    @property
    def loaded(self) -> int:
        """Words of all load streams of all items."""
        own = sum(len(block) for block in self._counted.values()) * len(self)
        return own + sum(int(blocks.lengths[self.tiling.picks[:, at]].sum())
                         for at, found in enumerate(self._streams) for blocks in found.values())

    @property
    def _counted(self) -> Blocks:
        """The blocks of the dense levels of the result that are counted."""
        einsum, dense = self.tiling.einsum, self._dense
        return {name: dense[name] for name in dense_levels(einsum.result)[:counted(einsum)]}

    @property
    def _dense(self) -> Blocks:
        """The blocks of the dense levels of the result: their extents."""
        result = self.tiling.einsum.result
        empty = Coo.empty(tuple(self.tiling.edges[index] for index in result.indices))
        return {name: block for name, block in named(result, tensors.encode(empty, result.format)).items()
                if name in dense_levels(result)}

    @property
    def busiest(self) -> int:
        """Words of the load stream that has the most."""
        return max(int(blocks.lengths[self.tiling.picks[:, at]].sum())
                   for at, found in enumerate(self._streams) for blocks in found.values())

    @functools.cached_property
    def _streams(self) -> tuple[Mapping[str, TileBlocks], ...]:
        """The blocks of every tile of every slot, by the names of their streams."""
        return tuple(self._blocks(tiles) for tiles in self.tiling.tiles)

    def _blocks(self, tiles: Tiles) -> dict[str, TileBlocks]:
        """The blocks of an operand's tiles; of lanes the last level and the values, and of the first one what is above them."""
        slot, how = tiles.access.slot, self.lanes.get(tiles.access.slot)
        parts = dealt_tiles(tiles, how) if how else ()
        above = parts[0] if parts else renumbered(tiles, self._numbers)
        levels, inner = [*range(len(tiles.access.stored)), VALUES], (len(tiles.access.stored) - 1, VALUES)
        found = {level_name(slot, level): blocks for level, blocks in zip(levels, encode(above), strict=True)
                 if not parts or level not in inner}
        for lane, part in enumerate(parts):
            found |= {level_name(lane_slot(slot, lane), level): blocks
                      for level, blocks in zip(levels, encode(part), strict=True) if level in inner}
        return found

    def cycles(self) -> int:
        """How many cycles all items should take, roughly."""
        return round(cycles(normalize(self.tiling.einsum), self.tiling))

    def bounds(self) -> dict[str, int]:
        """Most words that a block of each store stream can have."""
        return most_words(normalize(self.tiling.einsum), self.tiling)

    def most_words(self) -> dict[str, int]:
        """Most words that a block of each stream has, or can have."""
        loads = {name: max((blocks.lengths[self.tiling.picks[:, at]]).tolist(), default=0)
                 for at, found in enumerate(self._streams) for name, blocks in found.items()}
        return {**loads, **{name: len(block) for name, block in self._counted.items()}, **self.bounds()}

    def _bounds(self, item: int) -> Mapping[str, int]:
        """Most words that the block of each store stream of an item can have."""
        return shape_words(self.tiling, int(self._most_rows[item]))

    @functools.cached_property
    def _most_rows(self) -> np.ndarray:
        """The most nonzeros of each part of the result."""
        return np.concatenate(list(most_rows(normalize(self.tiling.einsum), self.tiling)))

    @property
    def arrays(self) -> tuple[str, ...]:
        """See `arrays`, of the result of an item."""
        return arrays(self.tiling.einsum.result)

    def part(self, item: int, blocks: Mapping[str, np.ndarray]) -> Coo:
        """The part of the result that an item gave."""
        result, shape = self.tiling.einsum.result, self.tiling.result_shape(item)
        names = [level_name(result.slot, level) for level in (*range(len(result.stored)), VALUES)]
        found = {**blocks, **self._dense}
        if (outer := names[0]) in arrays(result)[:-1]:
            found[outer] = with_segments(found[outer])
        if not dense_levels(result):
            return tensors.decode([_whole(found[name]) for name in names], result.format, shape)
        # Dense levels are as long as any tile, with zeros at the far end.
        edges = tuple(self.tiling.edges[index] for index in result.indices)
        return replace(tensors.decode([_whole(found[name]) for name in names], result.format, edges), shape=shape)

    def joined(self, blocks: Mapping[str, np.ndarray]) -> Blocks:
        """The blocks that an item gave, rows of parts that are stored apart or numbered anew in order."""
        result, found = self.tiling.einsum.result, dict(blocks)
        crd, val = level_name(result.slot, 0), level_name(result.slot, VALUES)
        if parts := result_parts(result, self.lanes):
            rows = np.stack([blocks[level_name(lane_slot(result.slot, part), VALUES)][1:] for part in range(parts)], axis=1)
            count = self.tiling.edges[result.stored[0]]
            found = {val: np.concatenate(([count], rows.reshape(-1)[:count])).astype(np.uint16)}
        numbers = np.array(self._numbers.get(result.stored[0], ()) if result.stored else (), np.int64)
        if not len(numbers) or len(numbers) != self.tiling.edges[result.stored[0]]:
            return found
        if parts:
            return {val: found[val][np.concatenate(([0], numbers + 1))]}
        own = np.argsort(numbers)[found[crd][1:]]
        order = np.argsort(own)
        return {crd: np.concatenate((found[crd][:1], own[order])).astype(np.uint16),
                val: np.concatenate((found[val][:1], found[val][1:][order]))}

    @property
    def _numbers(self) -> Numbers:
        """New numbers of coordinates, by index."""
        return next((how.numbers for how in self.lanes.values()), {})

    def result(self, blocks: Iterable[Mapping[str, np.ndarray]]) -> Coo:
        """The whole result from the blocks of every item; partial results are added, sums wrap."""
        return self.tiling.combine(self.part(item, self.joined(found)) for item, found in enumerate(blocks))


def dense_levels(result: Access) -> tuple[str, ...]:
    """The streams of a result's dense levels, which are not stored; the outermost ones may be loaded, to be counted."""
    return tuple(level_name(result.slot, level) for level in range(len(result.stored)) if result.format.is_dense(level))


def arrays(result: Access) -> tuple[str, ...]:
    """The streams of a result whose blocks are one array, the values last: the outermost level has one fiber, so that it is
    stored without segments if it is compressed."""
    outer = [level_name(result.slot, 0)] if result.stored and not result.format.is_dense(0) else []
    return *outer, level_name(result.slot, VALUES)


def named(access: Access, blocks: Sequence[Sequence[int]]) -> Blocks:
    """The blocks of a tensor's levels and values by the names of their streams."""
    levels = [*range(len(access.stored)), VALUES]
    return {level_name(access.slot, level): np.asarray(block, np.uint16)
            for level, block in zip(levels, blocks, strict=True)}


def _whole(block: np.ndarray) -> list[int]:
    """A block as plain integers."""
    return [int(word) for word in block]
