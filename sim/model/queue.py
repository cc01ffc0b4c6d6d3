"""A FIFO of a spatial array cycle by cycle, as its sources and sinks see it: what is in it in a cycle stays until the end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple


class Pair(NamedTuple):
    """A coordinate, a value, and beside them the coordinate of a row."""

    crd: int
    value: int
    row: int = 0


class Queue:
    """A FIFO in a cycle: `head` is what it showed at the beginning, `room` whether it took something then."""

    def __init__(self, depth: int) -> None:
        self.depth, self.pairs = depth, deque[Pair]()
        self.head: Pair | None = None
        self.room = True
        self.given: Pair | None = None
        self.takes = False

    def begin(self) -> None:
        self.head = self.pairs[0] if self.pairs else None
        self.room = len(self.pairs) < self.depth
        self.given, self.takes = None, False

    def offer(self, pair: Pair) -> bool:
        """Whether it takes a pair in this cycle."""
        if self.room:
            self.given = pair
        return self.room

    def end(self) -> None:
        if self.takes:
            self.pairs.popleft()
        if self.given is not None:
            self.pairs.append(self.given)


def turn(queues: Iterable[Queue]) -> bool:
    """End a cycle and begin the next one; whether anything moved. A FIFO in which nothing does shows what it showed."""
    moved = [queue for queue in queues if queue.takes or queue.given is not None]
    for queue in moved:
        queue.end()
        queue.begin()
    return bool(moved)
