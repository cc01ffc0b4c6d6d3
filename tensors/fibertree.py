"""Fibertrees: how a tensor is stored level by level, and the block words in which levels travel.

A format says for each stored level whether it is compressed (``s``: segments and coordinates) or dense
(``d``: all coordinates, nothing stored), and which mode (index position) the level holds: ``ss10`` is a
matrix by columns.

Blocks of 16-bit words, as the global buffer holds them:

    compressed level   n_seg seg... n_crd crd...      an empty matrix: 2 0 0 0 | 1 0 0 | 0
    dense level        2 0 extent 0
    values             n_vals value...
    outermost level of a result, as it is stored: n_crd crd...

Source: Onyx JSSC II-B (fibertrees), III-B (levels in memory tiles); the length-prefixed blocks are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..hw.arch.errors import UserError
from .coordinates import Coo, Ints, sort_rows, starts, wrap

DENSE, COMPRESSED = "d", "s"
WORD_LIMIT = (1 << 16) - 1     # A block states its lengths in one word each.


@dataclass(frozen=True)
class Format:
    """Storage of a tensor: a letter per level, and the mode each level holds."""

    letters: str
    order: tuple[int, ...]

    def __str__(self) -> str:
        return self.letters + "".join(str(mode) for mode in self.order)

    @property
    def rank(self) -> int:
        return len(self.order)

    def is_dense(self, level: int) -> bool:
        """Whether a level is dense."""
        return self.letters[level] == DENSE

    @property
    def dense_levels(self) -> int:
        """How many levels are dense, from the outermost one on, before the first that is not."""
        return len(self.letters) - len(self.letters.lstrip(DENSE))


def natural(rank: int) -> Format:
    """All levels compressed, modes in the order of the indices."""
    return Format(COMPRESSED * rank, tuple(range(rank)))


@dataclass(frozen=True, eq=False)
class Level:
    """One level of a fibertree; a dense one has no arrays.

    Parameters
    ----------
    extent : int        Coordinates are 0..extent-1.
    dense : bool
    seg : int64[n+1]    Fiber r holds entries seg[r] to seg[r+1].
    crd : int64[m]      Coordinates, rising within a fiber.
    """

    extent: int
    dense: bool = False
    seg: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    crd: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def words(self, name: str) -> list[int]:
        """The level as a block. `name` is used in errors only."""
        if self.dense:
            _fits(self.extent, f"the extent of {name}")
            return [2, 0, self.extent, 0]
        _fits(len(self.seg), f"the number of segments of {name}")
        _fits(len(self.crd), f"the number of coordinates of {name}")
        _fits(int(self.crd.max(initial=0)), f"a coordinate of {name}")
        return [len(self.seg), *self.seg.tolist(), len(self.crd), *self.crd.tolist()]


def _fits(number: int, what: str) -> None:
    if number > WORD_LIMIT:
        raise UserError(f"{what} is {number} but a word holds at most {WORD_LIMIT}",
                        fix="cut the tensor into tiles")


@dataclass(frozen=True, eq=False)
class Fibertree:
    """A stored tensor: its levels from the root, and the values of the last level's positions."""

    shape: tuple[int, ...]
    format: Format
    levels: tuple[Level, ...]
    values: NDArray[np.int16]

    def blocks(self, name: str = "the tensor") -> tuple[list[int], ...]:
        """Block words per level, then of the values."""
        _fits(len(self.values), f"the number of values of {name}")
        levels = [level.words(f"level {depth} of {name}") for depth, level in enumerate(self.levels)]
        return *levels, [len(self.values), *(self.values.astype(np.int64) & WORD_LIMIT).tolist()]


def build(tensor: Coo, form: Format) -> Fibertree:
    """Store a tensor. Zeros are kept only where dense levels demand a place for them."""
    assert form.rank == tensor.rank, "the format was parsed for this rank"
    rows = tensor.coords[:, list(form.order)]
    order = sort_rows(rows)
    rows = rows[order]
    position = np.zeros(len(rows), dtype=np.int64)
    fibers = 1
    levels = []
    for letter, mode, column in zip(form.letters, form.order, rows.T):
        extent = tensor.shape[mode]
        if letter == DENSE:
            levels.append(Level(extent, dense=True))
            position = position * extent + column
            fibers *= extent
            _fits(fibers, f"the number of positions down to dense mode {mode}")
        else:
            first = starts(np.stack((position, column), axis=1))
            counts = np.bincount(position[first], minlength=fibers)
            levels.append(Level(extent, seg=np.concatenate(([0], np.cumsum(counts))), crd=column[first]))
            position = np.cumsum(first) - 1
            fibers = int(first.sum())
    values = np.zeros(fibers, dtype=np.int16)
    values[position] = tensor.values[order]
    return Fibertree(tensor.shape, form, tuple(levels), values)


def flatten(tree: Fibertree) -> Coo:
    """The tensor a fibertree stores: the inverse of `build`."""
    coords, position = entries(tree.levels, tree.format.order)
    return Coo.make(tree.shape, coords, tree.values[position])


def entries(levels: Sequence[Level], order: Sequence[int]) -> tuple[Ints, Ints]:
    """The coordinates of every position of the last level, those of the modes in order, and the number of the position.

    order: the mode of each level.
    """
    position = np.zeros(1, dtype=np.int64)
    columns: list[Ints] = []
    for level in levels:
        if level.dense:
            counts = np.full(len(position), level.extent)
            crd = np.tile(np.arange(level.extent), len(position))
            position = np.repeat(position, counts) * level.extent + crd
        else:
            counts = level.seg[position + 1] - level.seg[position]
            within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            position = np.repeat(level.seg[position], counts) + within
            crd = level.crd[position]
        columns = [np.repeat(column, counts) for column in columns] + [crd]
    coords = np.zeros((len(position), len(order)), dtype=np.int64)
    for mode, column in zip(order, columns):
        coords[:, mode] = column
    return coords, position


def from_blocks(blocks: Sequence[Sequence[int]], form: Format, shape: Sequence[int]) -> Fibertree:
    """The fibertree that block words (levels, then values) describe, checked for consistency."""
    assert len(blocks) == form.rank + 1, f"a block per level and one of values are needed, not {len(blocks)}"
    levels = []
    fibers = 1
    for letter, mode, words in zip(form.letters, form.order, blocks):
        extent = int(shape[mode])
        if letter == DENSE:
            assert list(words) == [2, 0, extent, 0], f"{list(words)} is not a dense level of extent {extent}"
            levels.append(Level(extent, dense=True))
            fibers *= extent
        else:
            seg, rest = _counted(words)
            crd, rest = _counted(rest)
            assert not len(rest), "words are left over after the coordinates"
            assert len(seg) == fibers + 1, f"{fibers} fibers need {fibers + 1} segments, not {len(seg)}"
            assert seg[0] == 0 and seg[-1] == len(crd), "segments do not run from 0 to the last coordinate"
            assert (np.diff(seg) >= 0).all(), "segments do not rise"
            assert (crd < extent).all(), f"a coordinate is not below the extent {extent}"
            falls = np.flatnonzero(np.diff(crd) <= 0) + 1
            assert np.isin(falls, seg).all(), "coordinates of a fiber do not rise"
            levels.append(Level(extent, seg=seg, crd=crd))
            fibers = len(crd)
    values, rest = _counted(blocks[-1])
    assert not len(rest) and len(values) == fibers, f"{fibers} values were expected, not {len(values)}"
    return Fibertree(tuple(int(extent) for extent in shape), form, tuple(levels),
                     wrap(values).astype(np.int16))


def _counted(words: Sequence[int] | Ints) -> tuple[Ints, Ints]:
    """An array after its length, and the words after it."""
    array = np.asarray(words, dtype=np.int64)
    assert len(array) and len(array) > array[0], "a block is shorter than it says"
    return array[1:1 + array[0]], array[1 + array[0]:]
