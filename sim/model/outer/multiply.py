"""The multiply phase of a lane cycle by cycle.

Source:  `hw.spatial.outer.multiply`.
"""

from __future__ import annotations

from ....hw.arch.dma import NODE_BYTES
from ....hw.arch.outer_product import PAIR_BYTES, WORD_BYTES
from .lane import LaneWork
from .port import Run, always
from .turns import Process


class Multiply(LaneWork):
    """Columns times rows."""

    def work(self, cycle: int, number: int) -> Process:
        """Column `number` times row `number`, in parts that have room."""
        job, half = self.job, self.kind.pairs // 2
        runs = [Run(job[name] + WORD_BYTES * number, 2) for name in ("columns", "rows")]
        ended = yield from self.share.load(cycle, self.user, runs, always)
        (first, last), (row, row_end) = map(self.memory.words, runs)
        cycle = ended + 1
        while row != row_end and first != last:
            terms = min(half, row_end - row)
            run = Run(job["right"] + PAIR_BYTES * row, 2 * terms)
            ended = yield from self.share.load(cycle + 1, self.user, [run], always)
            right, column = self.memory.words(run)[::2], first
            cycle = ended + 1
            while column != last:
                count = min(half, last - column)
                run = Run(job["left"] + PAIR_BYTES * column, 2 * count)
                ended = yield from self.share.load(cycle + 1, self.user, [run], always)
                left = self.memory.words(run)[::2]
                cycle = (yield from (self._append if self.kind.node else self._nodes)(ended + 1, left, right)) + 1
                column += count
            row += terms
        return cycle + 1

    def _nodes(self, cycle: int, left: list[int], right: list[int]) -> Process:
        """A node for each element of a column; returns the cycle in which they are in memory."""
        count, pitch = len(left), self.kind.node_bytes(len(right))
        pairs = _pairs(right)
        cycle, node = yield from self.ledger.allocate(cycle, self.lane, count * pitch)
        runs = [Run(node + nth * pitch, pitch // WORD_BYTES) for nth in range(count)]
        taken, store = yield from self.share.store(cycle, self.user, runs)
        cycle = taken + 1
        for run, place in zip(runs, left):
            cycle, after = yield from self.ledger.exchange(cycle, self.lane, place, run.address)
            self.memory.write(run.address, [after, len(pairs), *pairs])
            cycle = (yield from store.give(cycle, run.words)) + 1
        return (yield from store.over())

    def _append(self, cycle: int, left: list[int], right: list[int]) -> Process:
        """The row for each element of a column, behind what is in the first node of its list, or in more of them."""
        ended = cycle       # of the state in front of the first element
        for place in left:
            done, cycle = 0, ended + 3
            while done < len(right):
                asked = len(right) - done
                cycle, (before, fresh, now) = yield from self.ledger.append(cycle, self.lane, place, asked)
                room = self.kind.node - (0 if fresh else before.used)
                part = _pairs(right[done:done + room])
                begin = now.address + (0 if fresh else NODE_BYTES + PAIR_BYTES * before.used)
                words = [before.address, 2 * self.kind.node, *part] if fresh else part
                self.memory.write(begin, words)
                taken, store = yield from self.share.store(cycle, self.user, [Run(begin, len(words))])
                yield from store.give(taken + 1, len(words))
                ended = yield from store.over()
                done += len(part) // 2
                cycle = ended + 1
        return ended


def _pairs(coordinates: list[int]) -> list[int]:
    """The words of elements, whose values do not count."""
    return [word for coordinate in coordinates for word in (coordinate, 0)]
