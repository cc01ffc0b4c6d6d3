"""What is between ports by whose coordinates banks gather, these banks, and the array, cycle by cycle.

Source:  `fork`, `Meeting`, `Answered`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....hw.arch.private_buffer import PrivateBuffer
from ....hw.arch.token import is_control, stop
from ..queue import Pair, Queue, turn
from .stage import Sink

# Coordinates that wait in front of a bank.
_ASKED = 2


class Fork:
    """A port by whose coordinates banks gather: a pair goes to all of these, and to the array, each when it has room."""

    def __init__(self, *sinks: Sink) -> None:
        self._sinks = [*sinks]
        self._gone = [False for _ in sinks]
        # The pair that the port offers in this cycle, known at its beginning.
        self.shows: Callable[[], Pair | None] = _nothing

    def join(self, sink: Sink) -> Callable[[], Pair | None]:
        """Another one that gets each pair; returns what says which pair it is offered in this cycle."""
        self._sinks.append(sink)
        self._gone.append(False)
        at = len(self._sinks) - 1
        return lambda: None if self._gone[at] else self.shows()

    def offer(self, pair: Pair) -> bool:
        """Whether all have it with this cycle."""
        self._gone = [gone or sink.offer(pair) for gone, sink in zip(self._gone, self._sinks)]
        taken = all(self._gone)
        if taken:
            self._gone = [False for _ in self._gone]
        return taken


class Decided:
    """Takes what it is offered in a cycle, or does not, as its owner has decided at its beginning."""

    def __init__(self) -> None:
        self.takes = False

    def offer(self, pair: Pair) -> bool:
        return self.takes


class TimedMeeting:
    """The coordinates at which the fibers of two ports meet."""

    def __init__(self, either: bool, forks: tuple[Fork, Fork], out: Queue) -> None:
        self._either, self._out = either, out
        self._sides = Decided(), Decided()
        self._shows = [fork.join(side) for fork, side in zip(forks, self._sides)]

    def begin(self) -> None:
        """Decide which side goes on, from what both show."""
        x, y = (shows() for shows in self._shows)
        for side in self._sides:
            side.takes = False
        if x is None or y is None:
            return
        # Ends of both are alike.
        left, right = (stop(0) if is_control(pair.crd) else pair.crd for pair in (x, y))
        if left == right or self._either:
            if not self._out.room:
                return
            self._out.given = Pair(min(left, right), 0)
        self._sides[0].takes, self._sides[1].takes = left <= right, right <= left


class TimedAnswered:
    """Pairs of a port wait for what is gathered for them, where rows of the array take each other's work."""

    def __init__(self, depth: int, asks: Sequence[Queue], sink: Queue) -> None:
        """sink: of the port that finds coordinates."""
        self.waits = Queue(depth)
        self.fork = Fork(self.waits, *asks)
        self._outs = [sink]
        self._gone: list[bool] = [False]
        self._answers: list[Callable[[], Pair | None]] = []
        self.taker = Decided()

    def answered(self, shows: Callable[[], Pair | None], sink: Queue) -> None:
        """A bank that answers, by the pair that it shows; sink: of the port that gets it."""
        self._answers.append(shows)
        self._outs.append(sink)
        self._gone.append(False)

    def begin(self) -> None:
        """Decide whether a pair goes on with its answers."""
        pairs = [self.waits.head, *(shows() for shows in self._answers)]
        self.taker.takes = False
        if None in pairs:
            return
        for at, (pair, out) in enumerate(zip(pairs, self._outs)):
            if pair is not None and not self._gone[at]:
                self._gone[at] = out.offer(pair)
        self.taker.takes = self.waits.takes = all(self._gone)
        if self.waits.takes:
            self._gone = [False for _ in self._gone]


class Asked:
    """All that is between banks and ports, where some gather.

    forks: by port that finds coordinates, what its pairs go to.  queues, rows: by port that gets what is gathered, the
    coordinates that wait for its bank, and the rows that were found for it.
    """

    def __init__(self, buffers: Sequence[PrivateBuffer], sink: Callable[[str], Any], balanced: bool) -> None:
        """sink: of the port of the array.  balanced: rows of the array take each other's work."""
        self._sink = sink
        gathers = [(buffer, nth, at) for buffer in buffers for nth, names in enumerate(buffer.asks) for at in range(len(names))]
        self.queues = {buffer.sinks[nth][at]: Queue(_ASKED) for buffer, nth, at in gathers}
        self.rows = {buffer.sinks[nth][at]: Queue(_ASKED) for buffer, nth, at in gathers if buffer.chosen}
        self._meetings = list[TimedMeeting]()
        self._answered: dict[str, TimedAnswered] = {}
        by: dict[str, list[tuple[PrivateBuffer, int, int]]] = {}
        for each in gathers:
            buffer, nth, at = each
            by.setdefault(buffer.asks[nth][at], []).append(each)
        # Of each port that gets what is gathered where work moves, what waits for it.
        self._of = {buffer.sinks[nth][at]: port for port, found in by.items() for buffer, nth, at in found} if balanced else {}
        if balanced:
            for port, found in by.items():
                depth = _ASKED + max(buffer.banks[nth].depth for buffer, nth, _ in found)
                asks = [self.queues[buffer.sinks[nth][at]] for buffer, nth, at in found]
                self._answered[port] = TimedAnswered(depth, asks, sink(port))
            self.forks = {port: each.fork for port, each in self._answered.items()}
            return
        finders = dict.fromkeys([*by, *(port for buffer in buffers for names in (*buffer.others, *buffer.chosen)
                                        for port in names)])
        self.forks = {port: Fork(sink(port)) for port in finders}
        for port, found in by.items():
            for buffer, nth, at in found:
                queue = self.queues[buffer.sinks[nth][at]]
                if buffer.others:
                    both = self.forks[port], self.forks[buffer.others[nth][at]]
                    self._meetings.append(TimedMeeting(buffer.either, both, queue))
                else:
                    self.forks[port].join(queue)
                if buffer.chosen:
                    self.forks[buffer.chosen[nth][at]].join(self.rows[buffer.sinks[nth][at]])

    def sink(self, port: str) -> Sink:
        """What the pairs of a bank for a port go to."""
        if port in self._of:
            return self._answered[self._of[port]].taker
        found: Sink = self.forks[port] if port in self.forks else self._sink(port)
        return found

    def shown(self, port: str, shows: Callable[[], Pair | None]) -> None:
        """Who says which pair a port, or what stands in its place, is offered in a cycle."""
        if port in self.forks:
            self.forks[port].shows = shows
        if port in self._of:
            self._answered[self._of[port]].answered(shows, self._sink(port))

    def begin(self) -> None:
        """What is decided from what banks show."""
        for meeting in self._meetings:
            meeting.begin()
        for answered in self._answered.values():
            answered.begin()

    def end(self) -> None:
        """The end of a cycle."""
        turn([*self.queues.values(), *self.rows.values(), *(each.waits for each in self._answered.values())])


def _nothing() -> Pair | None:
    return None
