"""A bank whose words are rows, one word for each port at once, cycle by cycle.

Input:   a `Bank` that is wide, and the words that fill it.
Source:  `WideBank`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from ....hw.arch.dma import WORD_BITS
from ....hw.arch.private_buffer import Bank
from ..queue import Pair
from .stage import Sink


class Settings(NamedTuple):
    """Of all wide banks: the operations that a tensor serves, and the launches of an operation."""

    served: int
    launches: int


class TimedWide:
    """Gives a row to all ports, each of which takes its word when it has room; begin() and step() as of other banks."""

    def __init__(self, bank: Bank, words: Sequence[int], sinks: Sequence[Sink], pairs: Sequence[Sequence[Pair]],
                 settings: Settings, length: Sink | None) -> None:
        """length: of a bank that tells the lengths of operations, what takes them."""
        self._bank, self._sinks, self._length = bank, sinks, length
        self._left = len(pairs[0])          # words that ports do not have, of each
        self._rows = settings.launches if bank.short else prod(loop.extent for loop in bank.loops[1:])
        self._served = settings.served if bank.operations > 1 else 1
        self._tensor = (settings.launches if bank.short else bank.rows) * bank.row_bits // WORD_BITS
        self._words = len(words)
        self._full = [False, False]         # of each half: all of a tensor is there
        self._filling = self._reading = self._shown = self._filled = 0
        self._row = self._operation = 0     # of the request, that is next
        self._there = self._closes = self._first = self._told = False     # of the row at the ports
        self._given = [False for _ in sinks]
        self._begun = bank.short

    @property
    def is_over(self) -> bool:
        """Whether all that it has for ports has gone there."""
        return not self._left

    def shows(self, at: int) -> Pair | None:
        """As of other banks; by its words nothing is asked for."""
        return None

    def begin(self) -> None:
        """Nothing but `step` decides."""

    def step(self) -> None:
        """Do a cycle, in which sinks are offered what is for them."""
        leaves = self._give() if self._there else False
        reads = self._begun and self._full[self._reading] and (leaves or not self._there)
        freed = self._shown if leaves and self._closes else None
        self._fill(freed)
        if leaves:
            self._left -= 1
        if reads:
            last = self._row == self._rows - 1
            ends = last and self._operation == self._served - 1
            self._shown, self._closes, self._first = self._reading, ends, self._row == 0
            self._row = 0 if last else self._row + 1
            if last:
                self._operation = 0 if ends else self._operation + 1
            if ends:
                self._reading ^= 1
        self._there = reads or (self._there and not leaves)
        self._begun = True

    def _give(self) -> bool:
        """Offer the row to those that do not have their word of it; whether all have it with this cycle."""
        pair = Pair(0, 0)
        self._given = [given or sink.offer(pair) for given, sink in zip(self._given, self._sinks)]
        if self._length is not None and self._first and not self._told:
            self._told = self._length.offer(pair)
        leaves = all(self._given) and (self._length is None or not self._first or self._told)
        if leaves:
            self._given, self._told = [False for _ in self._given], False
        return leaves

    def _fill(self, freed: int | None) -> None:
        """A word more, if there is one and it finds room. freed: the half whose tensor leaves in this cycle."""
        takes = self._words > 0 and (not self._full[self._filling] or freed == self._filling)
        if freed is not None:
            self._full[freed] = False
        if takes:
            self._words -= 1
            self._filled += 1
            if self._filled == self._tensor:
                self._filled = 0
                self._full[self._filling] = True
                self._filling ^= 1
