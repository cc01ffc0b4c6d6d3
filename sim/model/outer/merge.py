"""The merge phase of a lane cycle by cycle.

Source:  `hw.spatial.outer.merge`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from ....hw.arch.dma import NODE_BYTES
from ....hw.arch.outer_product import PAIR_BYTES, RUNS, WORD_BYTES, OuterProduct
from .lane import LaneWork
from .port import Run
from .run_merge import merge
from .turns import Process


class Merge(LaneWork):
    """Lists become rows."""

    def work(self, cycle: int, number: int) -> Process:
        """The list of row `number`."""
        cycle, first = yield from self.ledger.read(cycle, self.lane, number)
        if not first.address:
            return cycle
        ring = _Ring(self.kind, first.used, self._coordinates(first.address))
        ended = yield from self.share.follow(cycle, self.user, first.address, self.memory.node, ring.take)
        cycle, row = ring.close(ended), ring.row
        cycle, node = yield from self.ledger.allocate(cycle, self.lane, NODE_BYTES + PAIR_BYTES * len(row))
        run = Run(node, (NODE_BYTES + PAIR_BYTES * len(row)) // WORD_BYTES)
        taken, store = yield from self.share.store(cycle, self.user, [run])
        yield from store.give(taken + 1, run.words)
        ended = yield from store.over()
        cycle, _ = yield from self.ledger.exchange(ended + 2, self.lane, number, node)
        return cycle

    def _coordinates(self, node: int) -> Iterator[int]:
        while node:
            following, count = self.memory.node(node)
            yield from self.memory.words(Run(node + NODE_BYTES, count))[::2]
            node = following


class _Ring:
    """The memory of a lane, in which what comes is cut into runs that rise."""

    def __init__(self, kind: OuterProduct, used: int, coordinates: Iterator[int]) -> None:
        """used: pairs of the first node, if nodes have room that may be left."""
        self._half, self._coordinates = kind.pairs // 2, coordinates
        # Of the first node pairs that count, and those that are passed over behind them.
        self._counts, self._over = used, kind.node - used if kind.node else 0
        self._runs = deque[list[int]]()
        self._opened = self._second = False
        self._held = 0
        self._ready = 0         # the first cycle for the next word
        self._merges = False    # since it was last taken, runs were merged as there was no more room

    @property
    def row(self) -> list[int]:
        """The one run that is left."""
        row, = self._runs
        return row

    def take(self, cycle: int) -> int:
        """A word is there; when it is taken."""
        cycle = max(cycle, self._ready)
        self._merges = False
        if self._second:
            self._pair(cycle, next(self._coordinates))
        self._second = not self._second
        return cycle

    def close(self, ended: int) -> int:
        """The list ends in a cycle; returns the one in which a single run is left."""
        # In the cycle in which the end is known, one behind it, runs are closed, if they are not yet.
        return self._ready if self._merges else self._merged(max(ended + 1, self._ready) + 1)

    def _pair(self, cycle: int, coordinate: int) -> None:
        if self._counts == 0 and self._over:
            self._over -= 1
            return
        self._counts -= 1
        if not self._opened or coordinate <= self._runs[-1][-1]:
            self._runs.append([])
        self._runs[-1].append(coordinate)
        self._opened = True
        self._held += 1
        if self._held == self._half or len(self._runs) >= RUNS:
            self._ready, self._merges = self._merged(cycle + 2), True

    def _merged(self, cycle: int) -> int:
        """All runs become one, from a cycle on; returns that behind."""
        self._opened = False
        while len(self._runs) > 1:
            made = merge(self._runs.popleft(), self._runs.popleft())
            self._runs.append(made.run)
            # Two cycles find where both are, one begins, and the end is looked at in the next one.
            cycle += 3 + made.cycles
        self._held = len(self._runs[0])
        assert self._held < self._half, "a row has no room in a lane"
        return cycle + 1
