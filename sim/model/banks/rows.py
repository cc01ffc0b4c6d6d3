"""A bank that gives whole fibers as ports ask for them, cycle by cycle.

Source:  `RowBank`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....hw.arch.private_buffer import BITVECTOR, LINKED, Bank
from ....hw.arch.token import DATA_BITS, is_control
from ..queue import Pair, Queue
from .bank import TimedBank
from .bits import BitRows
from .lists import WithNone
from .stage import DONE, NONE, STOP, Sink, Stage


class TimedRows(TimedBank):
    """Each port asks once in an operation, in turn."""

    def __init__(self, bank: Bank, fills: Mapping[str, Sequence[int]], sinks: Sequence[Sink], pairs: Sequence[Sequence[Pair]],
                 asks: Sequence[Queue]) -> None:
        super().__init__(bank, fills, sinks, pairs)
        self._queues = asks
        self._number = self._at = self._served = 0
        self._stopping = self._finishing = False

    def _scanned(self, fills: Mapping[str, Sequence[int]]) -> Stage:
        bank = self._bank
        if bank.kind == BITVECTOR:
            return BitRows(-(-bank.levels[-1].extent // DATA_BITS), fills[bank.streams[0]])
        level = super()._scanned(fills)
        return WithNone(level) if bank.kind == LINKED else level

    def _order(self) -> list[int]:
        return [*range(self._bank.sinks)]

    def _asks(self) -> int | None:
        if self._stopping or self._finishing:
            return STOP if self._stopping else DONE
        head = self._queues[self._number].head
        if head is None:
            return None
        return self._place(head.crd)

    def _place(self, crd: int) -> int:
        """What is asked for at a coordinate."""
        bank = self._bank
        return NONE if is_control(crd) else bank.bases[self._number] + crd * bank.asked.stride + self._at

    def _closes(self) -> bool:
        """Whether a stop follows: bits and lists end their fibers themselves."""
        return self._bank.kind not in (BITVECTOR, LINKED)

    def _advance(self, asked: bool) -> None:
        if not asked:
            return
        if self._stopping or self._finishing:
            self._stopping, self._finishing = False, self._stopping and self._finishing
            return
        bank = self._bank
        ends = not bank.is_along or self._at == bank.loops[0].extent - 1
        self._at = 0 if ends else self._at + 1
        if ends:
            self._stopping = self._closes()
            self._queues[self._number].takes = True
            self._number = (self._number + 1) % bank.sinks
            if not self._number:
                self._served = (self._served + 1) % bank.operations
                self._finishing = not self._served
