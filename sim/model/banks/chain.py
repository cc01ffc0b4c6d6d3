"""Levels behind each other, of which any may leave zeros out, cycle by cycle.

Each level is a stage, whose references are the tokens of the next one in the same cycle; between coordinates of a level and the
fibers of the next one is a FIFO and what gives empty fibers.

Input:   a `ChainedBank` and the words that fill it; the numbers of its outermost fibers as tokens (`Stage`).
Output:  places of values, `NONE` for a zero that is not stored.
Source:  `ChainBank`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import pairwise

from ....hw.arch.chain import ChainedBank
from ....hw.spatial.buffer.private_buffer import AHEAD
from .chained_level import ChainedLevel
from .expander import TimedExpander

# Coordinates between what gives the empty fibers of one level and of the next one.
_CUT = 2


class TimedChain:
    """A `Stage`."""

    def __init__(self, bank: ChainedBank, fills: Mapping[str, Sequence[int]]) -> None:
        links = bank.links
        self._levels = [ChainedLevel(link, fills) for link in links]
        self._last = self._levels[-1]
        self._expanders = [TimedExpander(above.extent, link.extent if link.is_last and bank.complete else 0)
                           for above, link in pairwise(links)]
        # In front of each of them the coordinates above, and those of its own level but for the last one.
        self._ahead = [deque[int]() for _ in self._levels[:-1]]
        self._above = [self._ahead[0], *(deque[int]() for _ in self._expanders[1:])]
        self.head: int | None = None

    def begin(self) -> None:
        before: ChainedLevel | None = None
        for level in self._levels:
            level.begin(before)
            before = level
        for nth, expander in enumerate(self._expanders):
            inside = self._last.head if expander is self._expanders[-1] else _first(self._ahead[nth + 1])
            expander.show(_first(self._above[nth]), inside)
        self.head = self._expanders[-1].head

    def offer(self, token: int) -> bool:
        return self._levels[0].offer(token)

    def end(self, takes: bool) -> None:
        # FIFOs take what they had room for at the beginning.
        has_room, cuts = [len(each) < AHEAD for each in self._ahead], [len(each) < _CUT for each in self._above[1:]]
        given = list[tuple[deque[int], int]]()
        for nth, expander in enumerate(self._expanders[:-1]):
            token = expander.head if cuts[nth] else None
            self._expand(nth, token is not None, self._ahead[nth + 1])
            if token is not None:
                given.append((self._above[nth + 1], token))
        taken = self._expand(len(self._expanders) - 1, takes, None)
        for level, following in pairwise(self._levels):
            level.ask(following)
        crd = self._last.end(taken, taken, None)
        for nth in reversed(range(len(self._ahead))):
            level, following = self._levels[nth], self._levels[nth + 1]
            crd = level.end(has_room[nth], following.accepts, following)
            if crd is not None:
                given.append((self._ahead[nth], crd))
        for queue, token in given:
            queue.append(token)

    def _expand(self, nth: int, takes: bool, inside: deque[int] | None) -> bool:
        """Do the cycle of what gives empty fibers; whether it takes the token inside."""
        above = self._above[nth]
        from_above, from_inside = self._expanders[nth].end(_first(above), takes)
        if from_above:
            above.popleft()
        if from_inside and inside is not None:
            inside.popleft()
        return from_inside


def _first(queue: deque[int]) -> int | None:
    return queue[0] if queue else None
