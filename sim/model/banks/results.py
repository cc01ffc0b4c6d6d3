"""The buffer of a result cycle by cycle: fibers of ports one after the other, written in a format, and the arrays that leave.

What the arrays have is known (`model.written`); here is when their words leave.

Input:   a `Written`; for each port the FIFO that the array gives to.
Output:  the cycle of the last word that left.
Source:  `FiberCollector`, `FormatWriter` and those of each format, `ArrayStore`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from ....hw.arch.private_buffer import COMPRESSED, DENSE, LINKED
from ....hw.arch.token import DATA_BITS, is_control
from ....hw.arch.written import Written
from ....hw.memory.array_store import READ
from ..queue import Queue, turn
from .stage import DONE, STOP


class TimedResult:
    """Takes a fiber from each port in turn; begin() and step() as of a bank."""

    def __init__(self, written: Written, ports: Sequence[Queue], tensors: int) -> None:
        """tensors: how many there will be."""
        self._written, self._ports = written, ports
        self._fibers = [Queue(written.extent + 1) for _ in ports]
        self._turn = self._operation = 0
        self._over = False
        # The writer: whether arrays are free, and what it counts of a fiber and of a tensor.
        self._stores = [_Store(tensors) for _ in written.arrays]
        self._leading = True
        self._at = self._elements = 0
        self._begins = 2        # of lists: cycles before the elements of a fiber
        self._now, self.last = 0, -1

    @property
    def is_over(self) -> bool:
        """Whether all arrays have left."""
        return all(store.is_over for store in self._stores)

    def step(self) -> None:
        """Do a cycle."""
        for port, fiber in zip(self._ports, self._fibers):
            port.takes = port.head is not None and fiber.offer(port.head)
        head = self._fibers[self._turn].head
        token = DONE if self._over else None if head is None else STOP if is_control(head.crd) else head.crd
        sizes = None
        if all(store.is_free for store in self._stores):
            taken, sizes = self._write(token)
            if taken and token is not None:
                self._collect(token)
        for nth, store in enumerate(self._stores):
            if store.step(None if sizes is None else sizes[nth]):
                self.last = self._now
        turn(self._fibers)
        self._now += 1

    def _collect(self, token: int) -> None:
        """A token leaves the ports."""
        if not self._over:
            self._fibers[self._turn].takes = True
        last = self._turn == len(self._ports) - 1
        if token == DONE:
            self._turn, self._over = 0, False
        elif token == STOP:
            self._turn = 0 if last else self._turn + 1
            if last:
                self._operation = (self._operation + 1) % self._written.operations
                self._over = not self._operation

    def _write(self, token: int | None) -> tuple[bool, list[int] | None]:
        """Whether the writer takes a token, and the words of arrays that are complete by it."""
        written = self._written
        if token is None:
            return False, None
        if written.kind == LINKED:
            return self._append(token)
        if written.kind == COMPRESSED:
            if self._leading:       # the 0 in front of the segments is written
                self._leading = False
                return False, None
            if token == DONE:
                self._leading = True
                return True, self._close([written.fibers + 1, self._elements, self._elements])
            self._elements += token >= 0
            return True, None
        if token == DONE:
            return True, self._close([written.stored] if written.kind == DENSE else [written.stored, self._elements])
        along = written.extent if written.kind == DENSE else written.across
        here = token >= 0 and (token if written.kind == DENSE else token // DATA_BITS) == self._at
        if token == STOP and self._at == along:
            self._at = 0
            return True, None
        # A value, or a word of bits, is written: of bits the word that an element is in stays open.
        self._elements += here
        self._at += written.kind == DENSE or not here
        return here, None

    def _append(self, token: int) -> tuple[bool, list[int] | None]:
        """As `_write`, of lists, each fiber of which begins with two cycles for the last node of its list."""
        written = self._written
        if token == DONE:
            places = self._elements * written.node
            return True, self._close([written.fibers + 1, self._elements, places, places])
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
        self._at = self._elements = 0
        return sizes


class _Store:
    """Two halves of an array: one is written, the one before leaves."""

    def __init__(self, tensors: int) -> None:
        self._tensors = tensors
        self._closed = deque[int]()         # words of those that leave
        self._words = 0                     # of the one that leaves, that were read, its number counted
        self._room = READ
        self._was = False
        self._ahead = deque[None]()

    @property
    def is_free(self) -> bool:
        return len(self._closed) < 2

    @property
    def is_over(self) -> bool:
        return not self._tensors and not self._ahead and not self._was

    def step(self, closes: int | None) -> bool:
        """Do a cycle. closes: of an array that is complete, its words. Whether a word leaves."""
        leaves = bool(self._ahead)
        issues = bool(self._closed) and self._room > 0
        if leaves:
            self._ahead.popleft()
        if self._was:
            self._ahead.append(None)
        self._was = issues
        self._room += leaves - issues
        if issues:
            self._words += 1
            if self._words == 1 + self._closed[0]:
                self._words = 0
                self._closed.popleft()
                self._tensors -= 1
        if closes is not None:
            self._closed.append(closes)
        return leaves
