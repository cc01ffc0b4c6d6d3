"""The private buffers around an array cycle by cycle, port by port.

Input:   `PrivateBuffer`s and what fills them, as `run` has them; what their banks give (`model.private_buffer.given`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ....hw.arch.chain import ChainedBank
from ....hw.arch.private_buffer import PrivateBuffer
from ....hw.arch.spatial import LENGTH, Spatial
from ....hw.arch.written import Written
from ..queue import Pair, Queue
from .asking import Asked
from .bank import TimedBank
from .chosen import TimedChosen
from .dealt import TimedDealt
from .gather import TimedGather
from .in_step import TimedArray
from .results import TimedResult
from .rows import TimedRows
from .stage import Sink
from .wide import Settings, TimedWide


class Around:
    """All banks, which begin empty."""

    def __init__(self, buffers: Sequence[PrivateBuffer], fills: Mapping[str, Sequence[int]],
                 given: Mapping[str, Sequence[tuple[int, int]]], sink: Callable[[str], Sink],
                 results: Sequence[Written], operations: int, leaving: Mapping[str, Queue], settings: Settings,
                 balanced: bool, is_whole: bool) -> None:
        """sink: of the port that the pairs of a bank go to.  leaving: by port, what those that have results give to.

        balanced: rows of the array take each other's work.  is_whole: no tensor serves more operations than there are.
        """
        self.is_whole = is_whole
        self.stored = {port for each in results for port in each.ports}
        self._results = [TimedResult(each, [leaving[port] for port in each.ports], operations // each.operations)
                         for each in results]
        self._asked = Asked(buffers, sink, balanced)
        self.entries = self._asked.forks
        self._banks = list[TimedBank | TimedGather | TimedWide]()
        # The first one that is short tells lengths.
        lengths = [sink(LENGTH)] if any(bank.short for buffer in buffers for bank in buffer.banks) else []
        for buffer in buffers:
            for nth, (bank, names) in enumerate(zip(buffer.banks, buffer.sinks, strict=True)):
                fed = {name: fills[buffer.name(nth, name)] for name in bank.streams}
                sinks = [self._asked.sink(name) for name in names]
                pairs = [[Pair(*pair) for pair in given[name]] for name in names]
                if bank.wide:
                    length = lengths.pop() if bank.short and lengths else None
                    self._banks.append(TimedWide(bank, fed["values"], sinks, pairs, settings, length))
                elif bank.bases:
                    mine = [self._asked.queues[name] for name in names]
                    rows = [self._asked.rows[name] for name in names] if bank.chosen else []
                    self._banks.append(
                        TimedChosen(bank, fed, sinks, pairs, mine) if isinstance(bank, ChainedBank) and bank.whole else
                        TimedRows(bank, fed, sinks, pairs, mine) if bank.whole else
                        TimedGather(bank, fed, sinks, pairs, mine, rows))
                else:
                    self._banks.append((TimedDealt if bank.dealt else TimedBank)(bank, fed, sinks, pairs))
                for at, name in enumerate(names):
                    self._asked.shown(name, partial(self._banks[-1].shows, at))
        # Cycles in which nothing may move in the array: while a tensor is filled in, and read to a port that has none of it.
        self.patience = 64 + 4 * (sum(map(len, fills.values())) + sum(each.words + each.stored for each in results)
                                  + sum(bank.values + bank.fibers for buffer in buffers for bank in buffer.banks))

    @property
    def is_over(self) -> bool:
        """Whether ports have all that they get, but for operations that a tensor may serve beyond those asked for."""
        return (not self.is_whole or all(bank.is_over for bank in self._banks)) and all(each.is_over for each in self._results)

    @property
    def last(self) -> int:
        """The cycle in which the last word of a result left; -1 if none did."""
        return max((each.last for each in self._results), default=-1)

    def begin(self) -> None:
        """What is decided from registers alone."""
        for bank in self._banks:
            bank.begin()
        self._asked.begin()

    def step(self) -> None:
        """Do a cycle, in which ports are offered what is for them."""
        for bank in self._banks:
            bank.step()
        for each in self._results:
            each.step()

    def end(self) -> None:
        """The end of a cycle."""
        self._asked.end()


def cycles(spatial: Spatial, words: Mapping[str, int], operations: int, lengths: Sequence[int] | None,
           held: Callable[[Callable[[str], Sink], Mapping[str, Queue]], Around]) -> int:
    """From the first cycle to the last word of an array in step, both included."""
    array = TimedArray(spatial, words, operations, lengths)
    around = held(array.stages.__getitem__, {})
    stands = 0
    while not array.is_over:
        array.begin()
        around.begin()
        around.step()
        around.end()
        array.end()
        stands = 0 if array.moves else stands + 1
        assert stands < around.patience, "all words of its operations come"
    assert around.is_over, "banks give all that they hold"
    return array.last + 1
