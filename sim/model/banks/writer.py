"""A writer of a format cycle by cycle, and the arrays that leave it.

What the arrays have is known (`model.written`); here is when their words leave.

Input:   a `Written`, or a level of one; tokens, a coordinate or `STOP` or `DONE`.
Source:  `FormatWriter` and those of each format, `ArrayStore`.
"""

from __future__ import annotations

from collections import deque

from ....hw.arch.private_buffer import COMPRESSED, DENSE, LINKED
from ....hw.arch.token import DATA_BITS
from ....hw.arch.written import Written
from ....hw.arch.written_chain import WrittenLevel
from ....hw.memory.array_store import READ
from .stage import DONE, STOP


class TimedWriter:
    """Writes fibers; `last`: the cycle in which a word left last."""

    def __init__(self, written: Written | WrittenLevel, tensors: int) -> None:
        """tensors: how many there will be."""
        self._written = written
        # Whether arrays are free, and what is counted of a fiber and of a tensor.
        self._stores = [_Store(tensors) for _ in written.arrays]
        self._leading = True
        self._at = self._elements = self._stops = self._places = 0
        self._begins = 2        # of lists: cycles before the elements of a fiber
        self._now, self.last = 0, -1

    @property
    def is_over(self) -> bool:
        """Whether all arrays have left."""
        return all(store.is_over for store in self._stores)

    def step(self, token: int | None) -> bool:
        """Do a cycle, in which a token is there; whether it is taken."""
        taken, sizes = False, None
        if token is not None and all(store.is_free for store in self._stores):
            taken, sizes = self._write(token)
            self._stops += taken and token == STOP
        for nth, store in enumerate(self._stores):
            if store.step(None if sizes is None else sizes[nth]):
                self.last = self._now
        self._now += 1
        return taken

    def _write(self, token: int) -> tuple[bool, list[int] | None]:
        """Whether a token is taken, and the words of arrays that are complete by it."""
        written = self._written
        if written.kind == LINKED:
            return self._append(token)
        if written.kind == COMPRESSED:
            if self._leading:       # the 0 in front of the segments is written
                self._leading = False
                return False, None
            if token == DONE:
                self._leading = True
                return True, self._close([1 + self._stops, self._elements, self._elements])
            self._elements += token >= 0
            return True, None
        if token == DONE:
            return True, self._close([self._places, self._elements])
        along = written.extent if written.kind == DENSE else written.across
        here = token >= 0 and (token if written.kind == DENSE else token // DATA_BITS) == self._at
        if token == STOP and self._at == along:
            self._at = 0
            return True, None
        # A value, or a word of bits, is written: of bits the word that an element is in stays open.
        self._elements += here
        writes = written.kind == DENSE or not here
        self._at, self._places = self._at + writes, self._places + writes
        return here, None

    def _append(self, token: int) -> tuple[bool, list[int] | None]:
        """As `_write`, of lists, each fiber of which begins with two cycles for the last node of its list."""
        written = self._written
        if token == DONE:
            places = self._elements * written.node
            return True, self._close([self._stops // written.operations + 1, self._elements, places, places])
        if self._begins:
            self._begins, self._at = self._begins - 1, 0
            return False, None
        if token == STOP:
            self._begins = 2
            return True, None
        opens = self._at in (0, written.node)
        self._elements += opens     # nodes, here
        self._at = 1 if opens else self._at + 1
        return True, None

    def _close(self, sizes: list[int]) -> list[int]:
        self._at = self._elements = self._stops = self._places = 0
        return sizes


class _Store:
    """Two halves of an array: one is written, the one before leaves."""

    def __init__(self, tensors: int) -> None:
        self._tensors = tensors
        self._closed = deque[int]()         # words of those that leave
        self._words = 0                     # of the one that leaves, that were read, its number counted
        self._room = READ
        # Of words that are on their way, whether they are of a tensor that counts: buffers may have operands of more.
        self._was: bool | None = None
        self._ahead = deque[bool]()

    @property
    def is_free(self) -> bool:
        return len(self._closed) < 2

    @property
    def is_over(self) -> bool:
        return self._tensors <= 0 and not any(self._ahead) and not self._was

    def step(self, closes: int | None) -> bool:
        """Do a cycle. closes: of an array that is complete, its words. Whether a word leaves that counts."""
        leaves, counts = bool(self._ahead), False
        issues = bool(self._closed) and self._room > 0
        if leaves:
            counts = self._ahead.popleft()
        if self._was is not None:
            self._ahead.append(self._was)
        self._was = self._tensors > 0 if issues else None
        self._room += leaves - issues
        if issues:
            self._words += 1
            if self._words == 1 + self._closed[0]:
                self._words = 0
                self._closed.popleft()
                self._tensors -= 1
        if closes is not None:
            self._closed.append(closes)
        return counts
