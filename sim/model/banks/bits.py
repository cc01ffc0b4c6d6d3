"""Bitvector levels cycle by cycle: scanned in the order in which they are stored, or fiber by fiber as numbers come.

Input:   the words that fill them; tokens (`Stage`): of the first one places of words, of the second one numbers of fibers.
Output:  numbers of values.
Source:  `BitScanner` behind a `StoredLevel`; `BitRows`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import accumulate

from ....hw.arch.private_buffer import LANES
from .filled import Filled
from .stage import DONE, NONE, STOP, blocks
from .stored_level import StoredLevel


class BitScan:
    """Gives the number of each bit that is set."""

    def __init__(self, lines: int, fibers: int, words: Sequence[int]) -> None:
        self._level = StoredLevel(lines, LANES, words, True)
        self._tensors = [array for array, in blocks(words, 1)]
        self._fibers = fibers
        self._tensor = self._fiber = self._refs = 0
        self._left: int | None = None       # of the word that has been begun
        self._bits = 0
        self.head: int | None = None

    def begin(self) -> None:
        self._level.begin()
        token = self._level.head
        self.head = token
        if token is not None and token >= 0:
            self._bits = self._tensors[self._tensor][token] if self._left is None else self._left
            self.head = self._refs if self._bits else None

    def offer(self, token: int) -> bool:
        return self._level.offer(token)

    def end(self, takes: bool) -> None:
        token = self._level.head
        is_word = token is not None and token >= 0
        rest = self._bits & (self._bits - 1)
        moves = takes or (is_word and not self._bits)
        last = moves and not (is_word and rest)
        if moves and is_word:
            self._refs += self._bits != 0
            self._left = rest or None
        elif moves and token == STOP:
            self._fiber = (self._fiber + 1) % self._fibers
            self._refs = self._refs if self._fiber else 0
        elif moves:
            self._tensor += 1
        self._level.end(last)


class BitRows:
    """Gives the number of each bit that is set in a fiber, and for `NONE` a fiber of nothing."""

    def __init__(self, across: int, words: Sequence[int]) -> None:
        """across: words of a fiber."""
        self._across = across
        self._tensors = [array for array, in blocks(words, 1)]
        self._before = [[0, *accumulate(word.bit_count() for word in array)] for array in self._tensors]
        self._filled = Filled([1 + len(array) for array in self._tensors])
        self._finished = deque[int]()
        self._fiber: int | None = None      # that is scanned
        self._nth = 0                       # words of it that were entered
        self._left = self._place = 0
        self._fetched = False               # the next word is there
        self._reads = False
        self._given: int | None = None
        self._token: int | None = None
        self.head: int | None = None

    def begin(self) -> None:
        self.head = self._finished[0] if self._finished else None
        self._given = self._token = None
        if self._fiber is not None and len(self._finished) < 2:
            self._given = self._place if self._left else STOP if self._nth == self._across else None

    def offer(self, token: int) -> bool:
        if self._fiber is not None or not self._filled.is_there or (token < 0 and len(self._finished) == 2):
            return False
        self._token = token
        return True

    def end(self, takes: bool) -> None:
        reads, goes = False, self._given
        rest = self._left & (self._left - 1)
        if self._fiber is not None:
            if self._reads:
                self._fetched = True
            enters = (not self._left or (goes is not None and not rest)) and self._nth < self._across and self._fetched
            if goes is not None:
                self._left, self._place = rest, self._place + 1
            if enters:
                self._fetched, reads = False, self._nth + 1 < self._across
                self._left = self._tensors[self._filled.tensor][self._fiber * self._across + self._nth]
                self._nth += 1
            if goes == STOP:
                self._fiber = None
        token = self._token
        freed = token == DONE
        if token is not None and token < 0:
            goes = STOP if token == NONE else token
        elif token is not None:
            self._fiber, self._nth, self._left, reads, self._fetched = token, 0, 0, True, False
            self._place = self._before[self._filled.tensor][token * self._across]
        self._reads = reads
        if takes:
            self._finished.popleft()
        if goes is not None:
            self._finished.append(goes)
        self._filled.end(freed)
