"""The private buffers around an array cycle by cycle, port by port.

Input:   `PrivateBuffer`s and what fills them, as `run` has them; what their banks give (`model.private_buffer.given`).
Errors:  what is not modelled has no cycles: `is_timed` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ....hw.arch.private_buffer import Bank, PrivateBuffer
from ....hw.arch.spatial import Spatial
from ....hw.arch.written import Written
from ....hw.arch.written_chain import ChainedWritten
from ..queue import Pair, Queue, turn
from .bank import TimedBank
from .dealt import TimedDealt
from .gather import TimedGather
from .in_step import TimedArray
from .results import TimedResult
from .rows import TimedRows
from .stage import Sink

# Coordinates that wait in front of a bank.
_ASKED = 2


def is_timed(buffers: Sequence[PrivateBuffer], results: Sequence[Written], operations: int, balanced: bool) -> bool:
    """Whether there is a model of all of their banks. balanced: rows of the array take each other's work."""
    if any(isinstance(each, ChainedWritten) or each.sums for each in results):
        return False
    return all(_is_timed(bank, operations, balanced) and not buffer.others for buffer in buffers for bank in buffer.banks)


def _is_timed(bank: Bank, operations: int, balanced: bool) -> bool:
    # A tensor that serves more operations gives words for these, too, and asks for what they gather: words that are not known.
    return not (bank.wide or bank.is_chain or (bank.bases and balanced) or operations % bank.operations)


class Fork:
    """A port by whose coordinates banks gather: a pair goes to all of these, and to the array, each when it has room."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = sinks
        self._gone = [False for _ in sinks]

    def offer(self, pair: Pair) -> bool:
        """Whether all have it with this cycle."""
        self._gone = [gone or sink.offer(pair) for gone, sink in zip(self._gone, self._sinks)]
        taken = all(self._gone)
        if taken:
            self._gone = [False for _ in self._gone]
        return taken


class Around:
    """All banks, which begin empty."""

    def __init__(self, buffers: Sequence[PrivateBuffer], fills: Mapping[str, Sequence[int]],
                 given: Mapping[str, Sequence[tuple[int, int]]], sink: Callable[[str], Sink],
                 results: Sequence[Written], operations: int, leaving: Mapping[str, Queue]) -> None:
        """sink: of the port that the pairs of a bank go to.  leaving: by port, what those that have results give to."""
        self.stored = {port for each in results for port in each.ports}
        self._results = [TimedResult(each, [leaving[port] for port in each.ports], operations // each.operations)
                         for each in results]
        self._queues = list[Queue]()
        self._banks = list[TimedBank | TimedGather]()
        asks: dict[str, list[Queue]] = {}
        for buffer in buffers:
            for names in buffer.asks:
                for name in names:
                    self._queues.append(Queue(_ASKED))
                    asks.setdefault(name, []).append(self._queues[-1])
        self.entries: dict[str, Sink] = {name: Fork([sink(name), *queues]) for name, queues in asks.items()}
        waiting = {name: iter(queues) for name, queues in asks.items()}
        for buffer in buffers:
            for nth, (bank, names) in enumerate(zip(buffer.banks, buffer.sinks, strict=True)):
                fed = {name: fills[buffer.name(nth, name)] for name in bank.streams}
                sinks = [self.entries[name] if name in asks else sink(name) for name in names]
                pairs = [[Pair(*pair) for pair in given[name]] for name in names]
                if bank.bases:
                    mine = [next(waiting[port]) for port in buffer.asks[nth]]
                    self._banks.append((TimedRows if bank.whole else TimedGather)(bank, fed, sinks, pairs, mine))
                else:
                    self._banks.append((TimedDealt if bank.dealt else TimedBank)(bank, fed, sinks, pairs))
        # Cycles in which nothing may move in the array: while a tensor is filled in, and read to a port that has none of it.
        self.patience = 64 + 4 * (sum(map(len, fills.values())) + sum(each.words + each.stored for each in results))

    @property
    def is_over(self) -> bool:
        """Whether ports have all that they get."""
        return all(bank.is_over for bank in self._banks) and all(each.is_over for each in self._results)

    @property
    def last(self) -> int:
        """The cycle in which the last word of a result left; -1 if none did."""
        return max((each.last for each in self._results), default=-1)

    def begin(self) -> None:
        """What is decided from registers alone."""
        for bank in self._banks:
            bank.begin()

    def step(self) -> None:
        """Do a cycle, in which ports are offered what is for them."""
        for bank in self._banks:
            bank.step()
        for each in self._results:
            each.step()

    def end(self) -> None:
        """The end of a cycle."""
        turn(self._queues)


def cycles(spatial: Spatial, words: Mapping[str, int], operations: int, lengths: Sequence[int] | None,
           held: Callable[[Callable[[str], Sink], Mapping[str, Queue]], Around]) -> int:
    """From the first cycle to the last word of an array in step, both included."""
    array = TimedArray(spatial, words, operations, lengths)
    around = held(array.stages.__getitem__, {})
    while not array.is_over:
        array.begin()
        around.begin()
        around.step()
        around.end()
        array.end()
    assert around.is_over, "banks give all that they hold"
    return array.last + 1
