"""A bus and the memory behind it, burst by burst: when words come, when others leave, and when that is answered.

Input:   a `Dma`; the cycles of memory's latency, and how many bursts it takes at once, as the simulated memory has them.
Source:  `hw.dma.dma`, of which each queue is one here; `sim/rtl/outside.h`.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from ....hw.arch.dma import Dma
from ....hw.dma.dma import ORDERED
from .turns import Clock, Turns

# Of a register slice (`hw.stream.fifo.Fifo2`).
SLICE = 2


class Written(NamedTuple):
    """The cycles in which the words of a burst leave its port, and that in which it is answered."""

    words: list[int]
    answered: int


class Bus:
    """What all ports share; turns are given by `reads` and `writes`."""

    def __init__(self, clock: Clock, dma: Dma, latency: int, bursts: int) -> None:
        self.dma, self._latency = dma, latency
        self.reads, self.writes = Turns(clock), Turns(clock)
        # Of reads: when addresses left, and when their last words came; of those before the first one there is none.
        self._addresses = deque([-1] * SLICE, SLICE)
        self._ends = deque([-1] * bursts, bursts)
        # Of writes: when addresses left, when the last words of bursts left ports, when words left the slice, and when memory
        # had bursts.
        self._targets = deque([-1] * SLICE, SLICE)
        self._closed = deque([-1] * ORDERED, ORDERED)
        self._words = deque([-1] * SLICE, SLICE)
        self._had = deque([-1 - latency] * bursts, bursts)
        self._sent = -1

    def read(self, now: int, beats: int) -> int:
        """A burst has its turn; the cycle of its first word, behind which the others follow one by one."""
        address = max(now + 1, self._addresses[-1] + 1, self._ends[0] + 1)
        first = max(address + self._latency, self._ends[-1] + 1)
        self._ends.append(first + beats - 1)
        self._addresses.append(address)
        # There is room in the slice when the address before this one has left.
        self.reads.free(max(now, self._addresses[0]) + 1)
        return first

    def write(self, now: int, beats: int) -> Written:
        """A burst has its turn, whose words are there."""
        words = []
        self._targets.append(max(now + 1, self._targets[-1] + 1, self._had[0] + 1))
        for _ in range(beats):
            self._sent = max(now + 1, self._sent + 1, self._words[0] + 1)
            words.append(self._sent)
            # Memory takes words while it has room for their answer; it has their address by then.
            self._words.append(max(self._sent + 1, self._words[-1] + 1, self._had[0] + self._latency + 1))
        self._had.append(self._words[-1])
        self._closed.append(self._sent)
        self.writes.free(max(now, self._closed[0], self._targets[0]) + 1)
        return Written(words, self._words[-1] + self._latency)
