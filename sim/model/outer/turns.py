"""Processes that take turns, in the order of cycles.

A process is a generator that runs ahead to what it has to wait for, and yields that: a function that is given what to call with
the answer, when it is known. Cycles in which nothing is decided between processes cost nothing.

Source:  `hw.dma.turns`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from heapq import heappop, heappush
from itertools import count
from typing import Any

# Is given an answer.
Resume = Callable[[Any], None]
Process = Generator[Callable[[Resume], None], Any, Any]


class Clock:
    """What happens in a cycle: first it is said who asks, then it is decided whose turn it is."""

    def __init__(self) -> None:
        self._events: list[tuple[int, bool, int, Callable[[int], None]]] = []
        self._numbers = count()

    def at(self, cycle: int, do: Callable[[int], None], decides: bool = False) -> None:
        """Do something in a cycle that is not over, behind what others say if it `decides`."""
        heappush(self._events, (cycle, decides, next(self._numbers), do))

    def run(self) -> None:
        """Until nothing is under way."""
        while self._events:
            cycle, _, _, do = heappop(self._events)
            do(cycle)


def start(process: Process, ended: Callable[[Any], object]) -> None:
    """Run a process; `ended` is given what it returns."""
    def resume(answer: Any) -> None:
        try:
            wait = process.send(answer)
        except StopIteration as found:
            ended(found.value)
        else:
            wait(resume)
    resume(None)


class Turns:
    """Who asks gets a turn, one user in a cycle, round robin among those that ask."""

    def __init__(self, clock: Clock, free: int = 0) -> None:
        """free: the first cycle in which there is a turn."""
        self._clock = clock
        self._free: int | None = free
        self._asking: dict[int, Callable[[int], None]] = {}
        self._last = -1                     # whose turn it was
        self._looks: int | None = None      # when it is decided next

    def ask(self, cycle: int, user: int, given: Callable[[int], None]) -> None:
        """A user asks from a cycle on; `given` is told in which one it has its turn."""
        def come(now: int) -> None:
            self._asking[user] = given
            self._look(now)
        self._clock.at(cycle, come)

    def had(self, user: int, free: int) -> None:
        """A user had a turn while no other one asked, and there is another turn from a cycle on."""
        assert not self._asking, "nobody asks"
        self._last, self._free = user, free

    def hold(self) -> None:
        """There is no turn until it is said when."""
        self._free = None

    def free(self, cycle: int) -> None:
        """The first cycle in which there is another turn."""
        self._free = cycle
        self._look(cycle)

    def _look(self, now: int) -> None:
        if not self._asking or self._free is None:
            return
        when = max(now, self._free)
        if self._looks is None or when < self._looks:
            self._looks = when
            self._clock.at(when, self._decide, True)

    def _decide(self, now: int) -> None:
        if now != self._looks:
            return      # it was decided before, or is later
        self._looks = None
        if self._free is not None and self._free <= now:
            user = min([each for each in self._asking if each > self._last] or self._asking)
            self._last, self._free = user, now + 1
            self._asking.pop(user)(now)
        self._look(now)
