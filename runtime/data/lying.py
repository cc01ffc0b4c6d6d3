"""Dense operands of sparse programs as they lie in memory: every sub-tile is a walk of the same loops.

The values of an operand come into the global buffer once, row after row as NumPy has them, and stay there for all launches.
With `Glb.listed` a load takes sub-tiles out of them by a list, in whatever order and as often as the program needs them, and
puts their lengths in front:

    operand of 8 x 12, sub-tiles of 4 x 5, read by columns     image of 8 x 16: rows and columns of whole tiles, rows of lines
        loops           4 of 16, 5 of 1
        tile 1, 2       first word 4 * 16 + 10

Rows begin at lines of 8 bytes, so that a DMA or a host moves them as they are. Sub-tiles at the far end are as large as any,
with zeros there, and one that is absent is a sub-tile of zeros behind the others. An operand that has more words than all
sub-tiles that are taken is copied, sub-tile by sub-tile, and so is one that has no room there.

Needs:   tiles of an operand all of whose levels are dense.
Gives:   its image, the loops of a tile, where each begins; a list.
Cost:    of 10^6 elements 20 ms, and 2 bytes an element stay.
Source:  Onyx JSSC V-C (affine loops of the load unit); that blocks are found by a list is ours (`hw/glb/listed.py`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...compiler.dense.map.affine import Loop
from ...compiler.ir.transfer import WORD_BYTES
from ...compiler.sparse.tiles import Tiles
from ...hw.arch.glb import LANES
from ...tensors.coordinates import Ints
from ..commands import Box
from .load_loops import Arranged, Reads, joined
from .window import filled

# Of its room in a bank an operand leaves one of so many parts to lists.
LIST_SHARE = 8
# The word of a list's line that says that no other one follows.
LAST = 1


@dataclass(frozen=True, eq=False)
class Lying:
    """The values of an operand.

    Parameters
    ----------
    image : uint16 array     ``[.., y, x]``, as of `Box`.
    loops : tuple            Of a tile, innermost first.
    firsts : int64[n+1]      The word where each tile begins, at last an absent one.
    """

    image: np.ndarray
    loops: tuple[Loop, ...]
    firsts: Ints

    @property
    def box(self) -> Box:
        """All of it."""
        return Box(self.image, (0,) * self.image.ndim, self.image.shape)

    @property
    def size(self) -> int:
        """Words in the global buffer."""
        return self.image.size

    @functools.cached_property
    def count(self) -> int:
        """Words of a tile."""
        return math.prod(count for count, _ in self.loops)

    def tile(self, number: int) -> LyingBlock:
        """The block of a tile; of an absent one for -1."""
        return LyingBlock(self, int(self.firsts[number]))

    def fits(self, room: int, loops: int) -> bool:
        """Whether it may stay in so many words, and be walked by so many loops."""
        return self.size <= room - filled(room // LIST_SHARE) and len(self.loops) <= loops


@dataclass(frozen=True, eq=False)
class LyingBlock(Arranged):
    """The values of a sub-tile: their number, and a walk of the operand from one of its words on."""

    operand: Lying
    first: int

    @property
    def count(self) -> int:
        """Words of the block."""
        return 1 + self.operand.count

    @property
    def words(self) -> np.ndarray:
        """The block."""
        values = Reads(self.operand.image.reshape(-1), self.operand.loops, self.first).words
        return np.concatenate((np.array([len(values)], np.uint16), values))


def in_words(block: np.ndarray | LyingBlock) -> np.ndarray:
    """The words of a block, wherever they are."""
    return block.words if isinstance(block, LyingBlock) else block


@dataclass(frozen=True)
class Listed(Reads):
    """Blocks that a list names: `held` is the list, and loops walk each block.

    blocks : int     How many.
    """

    blocks: int = 1

    @property
    def count(self) -> int:
        return self.blocks * (1 + super().count)


def listed(blocks: Sequence[LyingBlock], base: int) -> Listed:
    """The list of some blocks of an operand that begins at a byte of the GLB tile; a line for each."""
    operand = blocks[0].operand
    assert all(each.operand is operand for each in blocks), "a stream has the blocks of one operand"
    where = base + WORD_BYTES * np.array([each.first for each in blocks], np.int64)
    lines = np.zeros((len(blocks), LANES), np.uint16)
    lines[:, 0], lines[-1, 1], lines[:, 2], lines[:, 3] = operand.count, LAST, where & 0xFFFF, where >> 16
    return Listed(lines.reshape(-1), operand.loops, blocks=len(blocks))


def sides(tiles: Tiles, absent: bool) -> tuple[int, ...] | None:
    """The shape of an operand as it lies; None if not all of its levels are dense. absent: some item takes no tile of it."""
    form, cut = tiles.access.format, tiles.whole
    if not form.rank or form.dense_levels != form.rank or not len(tiles.ids):
        return None
    counts = (cut.ids.max(axis=0) + 1).tolist()
    # Behind the others.
    counts[0] += absent
    *above, row = (count * edge for count, edge in zip(counts, cut.edges.tolist(), strict=True))
    return (*above, filled(row))


def gains(shape: tuple[int, ...], tiles: Tiles, blocks: int) -> bool:
    """Whether fewer words come with an operand of this shape than with a copy of a tile for each of so many blocks."""
    return math.prod(shape) + LANES * blocks < (1 + math.prod(tiles.edges)) * blocks


def lying(tiles: Tiles, absent: bool) -> Lying | None:
    """An operand as it lies; as of `sides`."""
    shape, form, cut = sides(tiles, absent), tiles.access.format, tiles.whole
    if shape is None:
        return None
    image = np.zeros(shape, np.uint16)
    owners = np.repeat(np.arange(len(tiles.ids)), np.diff(tiles.bounds))
    coords = cut.ids[owners] * cut.edges
    coords[:, list(cut.modes)] += tiles.coords
    image[tuple(coords.T)] = tiles.values.astype(np.int64) & 0xFFFF
    pitch = np.array([math.prod(shape[mode + 1:]) for mode in range(len(shape))], np.int64)
    nests = [[(tiles.edges[mode], int(pitch[cut.modes[mode]]))] for mode in reversed(form.order)]
    corners = np.concatenate((cut.ids, np.zeros((1, len(shape)), np.int64)))
    corners[-1, 0] = shape[0] // cut.edges[0] - 1
    return Lying(image, joined(nests, [1] * len(nests)), (corners * cut.edges) @ pitch)
