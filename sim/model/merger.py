"""Mergers step by step: what every node of a lane takes and gives in each step, with the FIFOs between them.

A step is a cycle. FIFOs take an element in a step if they had room at its beginning, and show it in the next one, as those of
the hardware do. Between nodes of one element there is a register in their place, which has room in the step in which what it
has is taken, or nothing: then a node gives what the next one takes of it in the same step.

Cost: 4 us for each node and step, and 1 us for each element in it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from ...hw.arch.logic import OPERATIONS, wrapped
from ...hw.arch.merger import Merger
from ...hw.arch.reduction import TRUTHS

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

    def takes(self, count: int) -> None:
        """So many are taken in this step: a register has room then."""
        if self.is_register:
            self.room = int(not self.heads or count > 0)

    def drop(self, count: int) -> int:
        """Take what was seen; how many elements are fewer, as they were added to others on the way."""
        for _ in range(count):
            self.queues[self._read].popleft()
            self._read = (self._read + 1) % len(self.queues)
        return 0

    def put(self, elements: Sequence[Element]) -> None:
        for each in elements:
            self.queues[self._write].append(each)
            self._write = (self._write + 1) % len(self.queues)


class _Through:
    """What a node of one element shows of the heads of its fibers, where nothing is held behind it."""

    def __init__(self, x: _Fiber | _Through, y: _Fiber | _Through, kind: Merger) -> None:
        self._x, self._y, self._kind = x, y, kind
        self._counts = 0, 0
        self.heads: list[Element] = []

    def begin(self, end: int) -> None:
        x_count, y_count, self.heads = _merged(self._x.heads, self._y.heads, 1, self._kind)
        self._counts = x_count, y_count

    def takes(self, count: int) -> None:
        for fiber, taken in zip((self._x, self._y), self._counts):
            fiber.takes(taken * count)

    def drop(self, count: int) -> int:
        x_count, y_count = (taken * count for taken in self._counts)
        return max(0, x_count + y_count - count) + self._x.drop(x_count) + self._y.drop(y_count)


class _Lane:
    def __init__(self, kind: Merger, ways: Sequence[Sequence[Element]]) -> None:
        self._kind, self._left = kind, sum(map(len, ways))
        # What each input stream still gives, with the FIFO behind it if it has one.
        self._sources: list[tuple[deque[Element], deque[Element]]] = []
        levels: list[list[_Fiber | _Through]] = [[]]
        for way in ways:
            if kind.reduction in TRUTHS:
                way = [(key, wrapped(int(value != 0), kind.bits)) for key, value in way]
            fiber = _Fiber(kind.take, False)
            given = [deque(way[nth::kind.take]) for nth in range(kind.take)]
            if kind.places(0):
                self._sources += zip(given, fiber.queues)
            else:
                fiber.queues = given
            levels[0].append(fiber)
        self._nodes: list[tuple[_Fiber | _Through, _Fiber | _Through, _Fiber]] = []
        while len(levels[-1]) > 1:
            places, made = kind.places(len(levels)), list[_Fiber | _Through]()
            for x, y in zip(levels[-1][::2], levels[-1][1::2]):
                if places:
                    made.append(o := _Fiber(kind.take, places == 1))
                    self._nodes.append((x, y, o))
                else:
                    made.append(_Through(x, y, kind))
            levels.append(made)
        output, = levels[-1]
        assert isinstance(output, _Fiber), "what leaves a tree was held"
        self._output = output
        self._fibers = [fiber for level in levels for fiber in level]

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
                found = _merged(x.heads, y.heads, o.room, self._kind)
                assert found[0] + found[1] <= self._kind.take + 1, "no more leaves than the matrix has places for"
                moves.append(((x, y, o), found))
                x.takes(found[0])
                y.takes(found[1])
            fed = [(source, queue) for source, queue in self._sources if source and len(queue) < DEPTH]
            for stream, queue in gone:
                stream.append(queue.popleft())
                self._left -= 1
                last = step + 1
            for (x, y, o), (x_count, y_count, given) in moves:
                self._left -= x_count + y_count - len(given) + x.drop(x_count) + y.drop(y_count)
                o.put(given)
            for source, queue in fed:
                queue.append(source.popleft())
            assert gone or fed or any(x_count or y_count for _, (x_count, y_count, _) in moves), "each fiber has its end"
            step += 1
        return [stream[at] for at in range(len(streams[0])) for stream in streams if at < len(stream)], last


def _merged(xs: Sequence[Element], ys: Sequence[Element], room: int, kind: Merger) -> tuple[int, int, list[Element]]:
    """How many of the heads of two fibers a node takes, and what it gives."""
    meaning = OPERATIONS[kind.reduction].meaning
    given: list[Element] = []
    i = j = nth = 0
    # An element of y that was added to one of x has a place in the merged fiber behind it, but takes no room.
    while nth < room and i < len(xs) and j < len(ys):
        (key, value), (other, more) = xs[i], ys[j]
        if key == other:
            given.append((key, wrapped(meaning(value, more), kind.bits)))
            i, j, nth = i + 1, j + 1, nth + 2
        elif key < other:
            given.append(xs[i])
            i, nth = i + 1, nth + 1
        else:
            given.append(ys[j])
            j, nth = j + 1, nth + 1
    return i, j, given
