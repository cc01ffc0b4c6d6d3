"""The events of performance counters, counted while a network runs by the clock.

A node is watched at its ports, as a tile is at those of its core: a token that a process takes from a queue enters, one that is
delivered leaves. What `hw/tile/counters.py` counts is counted: cycles between two tokens are starved, or blocked if a token
was given that found no room, when the second one comes.

Cost:    a look at each port in each cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....hw.arch.counters import Counts
from .process import Queue
from .schedule import Output


@dataclass
class Watched:
    """A place where tokens enter and leave: the outputs that lead to its queues, with these, and its own outputs."""

    ins: Sequence[tuple[Output, Queue | list[int] | None]]
    outs: Sequence[Output]
    tokens: int = 0
    busy: int = 0
    starved: int = 0
    blocked: int = 0
    _waited: int = 0    # Cycles since the last token, of each kind.
    _held: int = 0

    def look(self) -> None:
        """Count what happened in a cycle that ends."""
        total = sum(source.count - len(queue or ()) for source, queue in self.ins) + sum(out.count for out in self.outs)
        if total > self.tokens:
            self.tokens, self.busy = total, self.busy + 1
            self.starved, self.blocked = self.starved + self._waited, self.blocked + self._held
            self._waited = self._held = 0
        elif self.busy:
            held = any(out.staged for out in self.outs)
            self._waited, self._held = self._waited + (not held), self._held + held

    @property
    def counts(self) -> Counts:
        return Counts(self.tokens, self.busy, self.starved, self.blocked)
