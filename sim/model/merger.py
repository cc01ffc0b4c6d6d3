"""Mergers step by step: what every node of a lane takes and gives in each step, with the FIFOs between them.

A step is a cycle. FIFOs take an element in a step if they had room at its beginning, and show it in the next one, as those of
the hardware do. In front of nodes of one element there is a register in their place, which has room in the step in which
what it has is taken.

Cost: 4 us for each node and step, and 1 us for each element in it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...hw.arch.merger import Merger

# A key and a value.
Element = tuple[int, int]
DEPTH = 2


@dataclass(frozen=True)
class Simulated:
    """The elements of every lane, in order, and how many steps that took."""

    lanes: tuple[list[Element], ...]
    steps: int


def simulate(kind: Merger, fibers: Sequence[Sequence[Sequence[Element]]]) -> Simulated:
    """Run all operations of some fibers, those of each lane and way, each operation with its end."""
    found = [_Lane(kind, ways).run() for ways in fibers]
    return Simulated(tuple(out for out, _ in found), max(steps for _, steps in found))


class _Fiber:
    """The FIFOs to which a fiber is dealt, in turn; `heads` is what they show, `room` how many in turn take something."""

    def __init__(self, take: int, is_register: bool) -> None:
        self.is_register = is_register
        self.queues: list[deque[Element]] = [deque() for _ in range(take)]
        self._read = self._write = 0
        self.heads: list[Element] = []
        self.room = take

    def begin(self, end: int) -> None:
        """See the elements up to an end."""
        queues, take = self.queues, len(self.queues)
        self.heads = []
        for nth in range(take):
            queue = queues[(self._read + nth) % take]
            if not queue:
                break
            self.heads.append(queue[0])
            if queue[0][0] == end:
                break
        self.room = 0
        while self.room < take and len(queues[(self._write + self.room) % take]) < DEPTH:
            self.room += 1

    def drop(self, count: int) -> None:
        for _ in range(count):
            self.queues[self._read].popleft()
            self._read = (self._read + 1) % len(self.queues)

    def put(self, elements: Sequence[Element]) -> None:
        for each in elements:
            self.queues[self._write].append(each)
            self._write = (self._write + 1) % len(self.queues)


class _Lane:
    def __init__(self, kind: Merger, ways: Sequence[Sequence[Element]]) -> None:
        self._kind, self._left = kind, sum(map(len, ways))
        # What each input stream still gives, with the FIFO behind it.
        self._sources: list[tuple[deque[Element], deque[Element], _Fiber]] = []
        levels = [[_Fiber(kind.take, not kind.ends(0)) for _ in ways]]
        for way, fiber in zip(ways, levels[0]):
            self._sources += [(deque(way[nth::kind.take]), queue, fiber) for nth, queue in enumerate(fiber.queues)]
        while len(levels[-1]) > 1:
            levels.append([_Fiber(kind.take, not kind.ends(len(levels))) for _ in levels[-1][::2]])
        self._output = levels[-1][0]
        self._fibers = [fiber for level in levels for fiber in level]
        self._nodes = [(x, y, o) for below, above in pairwise(levels) for x, y, o in zip(below[::2], below[1::2], above)]

    def run(self) -> tuple[list[Element], int]:
        """The elements that leave, and the step after which the last one has."""
        streams: list[list[Element]] = [[] for _ in range(self._kind.take)]
        step = last = 0
        while self._left:
            for fiber in self._fibers:
                fiber.begin(self._kind.end)
            gone = [(stream, queue) for stream, queue in zip(streams, self._output.queues) if queue]
            moves = []
            for x, y, o in reversed(self._nodes):
                found = self._merged(x, y, o) if x.heads and y.heads else (0, 0, [])
                moves.append(((x, y, o), found))
                for fiber, taken in zip((x, y), found[:2]):
                    if fiber.is_register:
                        fiber.room = int(not fiber.heads or taken > 0)
            fed = [(source, queue) for source, queue, fiber in self._sources
                   if source and (fiber.room if fiber.is_register else len(queue) < DEPTH)]
            for stream, queue in gone:
                stream.append(queue.popleft())
                self._left -= 1
                last = step + 1
            for (x, y, o), (x_count, y_count, given) in moves:
                x.drop(x_count)
                y.drop(y_count)
                o.put(given)
                self._left -= x_count + y_count - len(given)
            for source, queue in fed:
                queue.append(source.popleft())
            step += 1
        return [stream[at] for at in range(len(streams[0])) for stream in streams if at < len(stream)], last

    def _merged(self, x: _Fiber, y: _Fiber, o: _Fiber) -> tuple[int, int, list[Element]]:
        """How many elements a node takes of its fibers, and what it gives."""
        xs, ys, take = x.heads, y.heads, self._kind.take
        half, wraps = 1 << self._kind.bits - 1, 1 << self._kind.bits
        given: list[Element] = []
        i = j = nth = 0
        # An element of y that was added to one of x has a place in the merged fiber behind it, but takes no room.
        while nth < o.room and i < len(xs) and j < len(ys):
            (key, value), (other, more) = xs[i], ys[j]
            if key == other:
                given.append((key, (value + more + half) % wraps - half))
                i, j, nth = i + 1, j + 1, nth + 2
            elif key < other:
                given.append(xs[i])
                i, nth = i + 1, nth + 1
            else:
                given.append(ys[j])
                j, nth = j + 1, nth + 1
        assert nth <= take + 1, "no more leaves than the matrix has places for"
        return i, j, given
