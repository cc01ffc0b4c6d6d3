"""The results of many items as one tensor: the item is one more index, the outermost one, stored dense.

Blocks of a level stand one behind the other, so that all are taken apart at once, and checked by comparing arrays.

    two items, X(i)         words 2 1 3, 1 2     segments 0 2 3, coordinates 1 3 2

Cost:    10^6 words in 0.1 s, and 2 us an item and level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...tensors.coordinates import Ints, wrap
from ...tensors.fibertree import DENSE, Fibertree, Format, Level
from .operand_blocks import runs


def above(form: Format) -> Format:
    """A format with one dense level for the items above it."""
    return Format(DENSE + form.letters, (0, *(mode + 1 for mode in form.order)))


def gathered(stored: Sequence[Mapping[str, np.ndarray]], names: Sequence[str], form: Format, shape: Sequence[int]
             ) -> Fibertree | None:
    """The fibertree of all items; None if lengths or segments in any of their words do not fit.

    names: of the streams of the levels and of the values. shape: of the result of an item.
    """
    count = len(stored)
    levels = [Level(count, dense=True)]
    offsets = np.arange(count + 1)      # Of the fibers of each item.
    for letter, mode, name in zip(form.letters, form.order, names):
        words, begins, lengths = _joined(stored, name)
        extent, fibers = int(shape[mode]), np.diff(offsets)
        if letter == DENSE:
            if not np.array_equal(words, np.tile([2, 0, extent, 0], count)):
                return None
            levels.append(Level(extent, dense=True))
            offsets = offsets * extent
            continue
        if not levels[1:]:
            # The outermost one has no segments.
            entries = words[begins]
            if not np.array_equal(lengths, entries + 1):
                return None
            offsets = np.concatenate(([0], np.cumsum(entries)))
            levels.append(Level(extent, seg=offsets, crd=words[runs(begins + 1, entries)]))
            continue
        if (lengths < fibers + 3).any() or not np.array_equal(words[begins], fibers + 1):
            return None
        entries = words[begins + fibers + 2]
        if not np.array_equal(lengths, fibers + entries + 3):
            return None
        segments = words[runs(begins + 1, fibers + 1)]
        first = np.cumsum(fibers + 1) - fibers - 1
        if segments[first].any() or not np.array_equal(segments[first + fibers], entries):
            return None
        offsets = np.concatenate(([0], np.cumsum(entries)))
        absolute = segments + np.repeat(offsets[:-1], fibers + 1)
        # The first segment of an item is the last one of the item before.
        levels.append(Level(extent, seg=np.concatenate(([0], np.delete(absolute, first))),
                            crd=words[runs(begins + fibers + 3, entries)]))
    words, begins, lengths = _joined(stored, names[-1])
    entries = np.diff(offsets)
    if not np.array_equal(words[begins], entries) or not np.array_equal(lengths, entries + 1):
        return None
    values = wrap(words[runs(begins + 1, entries)]).astype(np.int16)
    return Fibertree((count, *(int(extent) for extent in shape)), above(form), tuple(levels), values)


def same(one: Fibertree, other: Fibertree) -> bool:
    """Whether two fibertrees hold the same words."""
    return np.array_equal(one.values, other.values) and all(
        np.array_equal(left.seg, right.seg) and np.array_equal(left.crd, right.crd) and left.extent == right.extent
        for left, right in zip(one.levels, other.levels, strict=True))


def _joined(stored: Sequence[Mapping[str, np.ndarray]], name: str) -> tuple[Ints, Ints, Ints]:
    """The words of a stream, one item behind the other; where each begins, and how many it has."""
    blocks = [each[name] for each in stored]
    lengths = np.fromiter(map(len, blocks), np.int64, len(blocks))
    return np.concatenate(blocks).astype(np.int64), np.cumsum(lengths) - lengths, lengths
