"""A lane of an outer product cycle by cycle, whatever it does: numbers that it takes, one after the other.

Source:  `hw.spatial.outer.lane_work`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from ....hw.arch.outer_product import OuterProduct
from .memory import Memory
from .shared import Ledger, Share
from .turns import Process


@dataclass(frozen=True)
class Around:
    """What lane `number` has around it; `user` of a port that it shares."""

    kind: OuterProduct
    number: int
    user: int
    share: Share
    ledger: Ledger
    memory: Memory
    job: Mapping[str, int]


class LaneWork(ABC):
    """What a lane does in a phase."""

    def __init__(self, around: Around) -> None:
        self.kind, self.job, self.memory, self.ledger = around.kind, around.job, around.memory, around.ledger
        self.share, self.user, self.lane = around.share, around.user, around.number

    def process(self, cycle: int, takes: bool, most: int) -> Process:
        """Work on all numbers below `most`; returns the cycle in which there are no more. takes: whichever is next."""
        number = self.lane - self.kind.lanes
        while True:
            if takes:
                cycle, number = yield from self.ledger.next(cycle, self.lane)
            else:
                cycle, number = cycle + 1, number + self.kind.lanes
            if number >= most:
                return cycle
            cycle = yield from self.work(cycle, number)

    @abstractmethod
    def work(self, cycle: int, number: int) -> Process:
        """Work on a number from a cycle on; returns that behind it."""
