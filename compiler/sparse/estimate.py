"""Cycles that work items should take, from the sizes of their tiles.

Items stream through three stages that work at once, each on an item of its own (`pipeline.py`): load DMAs write its levels, a
word a cycle a stream; the array computes, one token a cycle in each of its streams, so that the longest sets the time; store
DMAs read the levels of its result, which are whole only when the last token is there. To that come

* the cycles in which a level is closed, offered, read and freed, of which two overlap: no item is faster than half of them;
* `FILL` cycles of every launch, in which the first token passes the stages, and nothing overlaps another launch; more where a
  launch has one item, in which each loop waits for the one before.

What an item takes in each stage is in `item_cycles.py`. That is between 0.85 and 1.1 times what the Verilog takes for nearly
all of the operands and edges of `scripts/bench_edges.py`; docs/performance.md has what is chosen by it.

Source:  timing of `hw/memory/level.py` and `runtime/plan.py`; IEEE Micro (tile pipelining).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from math import ceil

import numpy as np

from .alike import Ratios
from .item_cycles import Estimate
from .meetings import most_words, shape_words
from .normalize import Node
from .pipeline import Floats
from .tiles import Tiling

CHUNK = 1 << 18     # Items at once.
ROOM = 1 << 16      # 16-bit words of a bank of the global buffer, if nothing else is said.
# Cycles of a launch: those of loading and storing, and of the blocks that a loop passes, of many items and of a single one.
FILL, FILL_LOOP, FILL_SINGLE = 15, 12, 20
NAMED_LOAD, NAMED_STORE = 1, 2      # Words of the number of a copy (`hw/sparse/filter.py`, `hw/sparse/arbiter.py`).


@dataclass(frozen=True)
class Copying:
    """Copies of a program that share its items.

    Parameters
    ----------
    most : int      So many, or, with `fewer`, as many of these as take the fewest cycles: of those that are alike the fewest.
    groups : int    Groups of them that have links of their own, at most.
    least : int     Copies of a group, at least, where there are as many.
    fewer : bool
    """

    most: int = 1
    groups: int = 1
    least: int = 1
    fewer: bool = False

    @property
    def counts(self) -> range:
        """How many there may be."""
        return range(1 if self.fewer else self.most, self.most + 1)

    def grouped(self, copies: int) -> int:
        """In how many groups so many are."""
        return max(1, min(self.groups, copies // self.least))


@dataclass(frozen=True)
class Expected:
    """What is expected of work.

    Parameters
    ----------
    cycles : float          Of one copy of the program.
    result_words : float    The most words of a half of a level buffer that the result of an item takes.
    items, longest          How many items, and the cycles of the longest one.
    loaded, stored : float  Words of the fullest link that loads, and of the fullest one that stores.
    fill : float            Cycles of launches in which nothing is computed.
    apart : float           Cycles of one copy where each item is a launch of its own, in which nothing overlaps.
    """

    cycles: float
    result_words: float
    items: int
    longest: float
    loaded: float
    stored: float
    fill: float
    apart: float

    def shared(self, copying: Copying, times: float = 1.0) -> tuple[float, int]:
        """The fewest cycles of `times` as many items on copies of the program, and how many copies take them."""
        return min((self._on(copies, copying.grouped(copies), times), copies) for copies in copying.counts)

    def _on(self, copies: int, groups: int, times: float) -> float:
        """Cycles of the copies, or of the links of their groups, in which a word in front of each block that is loaded says its
        copy, and two words in front of each that is stored. The largest group has the most to bring."""
        if copies == 1:
            return times * self.cycles
        named = self.items if copies > groups else 0
        link = max(self.loaded + NAMED_LOAD * named, self.stored + NAMED_STORE * named) * ceil(copies / groups) / copies
        work = (self.cycles - self.fill) / min(copies, max(1, self.items * times))
        return times * (max(work, link) + self.fill) + self.longest


def cycles(root: Node, tiling: Tiling, room: int = ROOM) -> float:
    """Estimated cycles of all items; `room`: 16-bit words of a bank of the global buffer."""
    return expect(root, tiling, room).cycles


def each_cycles(root: Node, tiling: Tiling) -> Floats:
    """Estimated cycles of each item: those of its longest stage."""
    found, ratios = [np.zeros(0)], Ratios(tiling.tiles, tiling.extents)
    for begin in range(0, len(tiling), CHUNK):
        estimate = Estimate(tiling, slice(begin, begin + CHUNK), ratios)
        estimate.run(root)
        found.append(reduce(np.maximum, estimate.stages))
    return np.concatenate(found)


def expect(root: Node, tiling: Tiling, room: int = ROOM) -> Expected:
    """The estimate for all items."""
    total, result_words, longest, apart = 0.0, 0.0, 0.0, 0.0
    sums: dict[str, float] = {}
    stored: dict[str, float] = {}
    ratios = Ratios(tiling.tiles, tiling.extents)
    for begin in range(0, len(tiling), CHUNK):
        estimate = Estimate(tiling, slice(begin, begin + CHUNK), ratios)
        result_words = max(result_words, float(estimate.run(root).max()))
        longest = max(longest, float(reduce(np.maximum, estimate.stages).max()))
        apart += sum(float(stage.sum()) for stage in estimate.stages)
        total += estimate.cycles()
        for name, words in estimate.loads.items():
            sums[name] = sums.get(name, 0.0) + float(words.sum())
        for name, words in estimate.stores.items():
            stored[name] = stored.get(name, 0.0) + float(words.sum())
    loaded = max(sums.values(), default=0.0)
    launch, single = (FILL + loop * len(tiling.einsum.order) for loop in (FILL_LOOP, FILL_SINGLE))
    fill = _launches(root, tiling, loaded, room) * launch
    gives = max(stored.values(), default=0.0)
    return Expected(total + fill, result_words, len(tiling), longest, loaded, gives, fill, apart + len(tiling) * single)


def _launches(root: Node, tiling: Tiling, loaded: float, room: int) -> int:
    """In how many launches items are done, if the fullest load stream has so many words: the room of a result is reserved item
    by item, as large as any may need, and several launches have half a bank each."""
    if not len(tiling):
        return 0
    stored = len(tiling) * max(shape_words(tiling).values())
    if stored > room:
        stored = len(tiling) * max(most_words(root, tiling).values())
    most = max(loaded, stored)
    return 1 if most <= room else min(len(tiling), ceil(2 * most / room))
