"""How long two sorted runs of a lane's memory take to become one, and what that has.

Source:  `hw.spatial.outer.run_merge`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# Elements of a FIFO between the memory and what compares (`hw.stream.fifo.Fifo2`).
ROOM = 2


class Merged(NamedTuple):
    """The coordinates of both runs, and cycles up to that in which the end is seen."""

    run: list[int]
    cycles: int


class _Side:
    """A run on its way to what compares."""

    def __init__(self, run: Sequence[int]) -> None:
        self.run = run
        self.read = self.held = self.taken = 0      # elements: read, in the FIFO, compared
        self.came = self.closed = False

    @property
    def free(self) -> bool:
        return self.held < ROOM and not self.came

    def turn(self, reads: bool, takes: bool) -> None:
        """The end of a cycle."""
        closes = self.free and self.read == len(self.run) and not self.closed
        self.held += self.came + closes - takes
        self.closed |= closes
        self.taken += takes
        self.came = reads
        self.read += reads


def merge(first: Sequence[int], second: Sequence[int]) -> Merged:
    """Coordinates that rise, of both some."""
    x, y, cycles = _Side(first), _Side(second), 0
    made = list[int]()
    while True:
        cycles += 1
        takes_x = takes_y = False
        if x.held and y.held:
            over_x, over_y = x.taken == len(x.run), y.taken == len(y.run)
            if over_x and over_y:
                return Merged(made, cycles)
            takes_x = not over_x and (over_y or x.run[x.taken] <= y.run[y.taken])
            takes_y = not over_y and (over_x or y.run[y.taken] <= x.run[x.taken])
            made.append(x.run[x.taken] if takes_x else y.run[y.taken])
        # A result has the memory first; then the run of which less waits.
        wants_x, wants_y = (side.free and side.read < len(side.run) for side in (x, y))
        free = not (takes_x or takes_y)
        reads_x = wants_x and free and not (wants_y and not y.held)
        reads_y = wants_y and free and not reads_x
        x.turn(reads_x, takes_x)
        y.turn(reads_y, takes_y)
