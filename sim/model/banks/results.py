"""The buffer of a result cycle by cycle: fibers of ports one after the other, which a writer of a format takes.

Input:   a `Written`; for each port the FIFO that the array gives to.
Output:  the cycle of the last word that left.
Source:  `FiberCollector`, `WrittenResult`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....hw.arch.token import is_control
from ....hw.arch.written import Written
from ....hw.arch.written_chain import ChainedWritten
from ..queue import Queue, turn
from .chain_writer import TimedChainWriter
from .stage import DONE, STOP
from .writer import TimedWriter


class TimedResult:
    """Takes a fiber from each port in turn."""

    def __init__(self, written: Written, ports: Sequence[Queue], tensors: int) -> None:
        """tensors: how many there will be."""
        assert not written.sums, "results of several operations are sums in accelerators alone"
        self._written, self._ports = written, ports
        spans = written.spans
        self._fibers = [Queue(spans[at % len(spans)] + 1) for at in range(len(ports))]
        self._turn = self._operation = 0
        self._over = False
        self._writer = (TimedChainWriter(written, tensors) if isinstance(written, ChainedWritten)
                        else TimedWriter(written, tensors))

    @property
    def is_over(self) -> bool:
        """Whether all arrays have left."""
        return self._writer.is_over

    @property
    def last(self) -> int:
        """The cycle in which a word left last; -1 if none did."""
        return self._writer.last

    def step(self) -> None:
        """Do a cycle."""
        for port, fiber in zip(self._ports, self._fibers):
            port.takes = port.head is not None and fiber.offer(port.head)
        head = self._fibers[self._turn].head
        if not self._over and head is not None and is_control(head.crd) and (self._turn + 1) % len(self._written.begins):
            # The next part of the fiber follows.
            self._fibers[self._turn].takes = True
            self._turn, head = self._turn + 1, None
        token = DONE if self._over else None if head is None else STOP if is_control(head.crd) else head.crd
        if self._writer.step(token) and token is not None:
            self._collect(token)
        turn(self._fibers)

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
