"""A request port of a DMA, burst by burst: when its elements are there, and when it takes those that are written.

Input:   requests as runs of words of 32 bits, one behind the other.
Source:  `hw.dma.port` and its parts: `walk`, `list_walk`, `lanes`; `hw.soc.mover.Pieces`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ....hw.arch.dma import NODE_BYTES
from ....hw.arch.outer_product import WORD_BYTES
from ....hw.dma.port import WRITES
from .bus import Bus
from .turns import Process, Resume

# From the cycle in which a request is taken to its first run, and to that of the first node of a list.
WALKS, FOLLOWS = 3, 2
# Is told when an element is there, and says when it is taken.
Take = Callable[[int], int]


def always(cycle: int) -> int:
    """Takes elements as they come."""
    return cycle


class Run(NamedTuple):
    """Words of 32 bits that lie one behind the other: a byte address, and how many."""

    address: int
    words: int


class Port:
    """Does a request at a time; turns of the bus are those of its number."""

    def __init__(self, bus: Bus, number: int) -> None:
        self.bus, self.number = bus, number
        self._asked = 0                 # words, of a request that loads
        self._popped = list[int]()      # when each of them made room
        self._free = 0                  # the first cycle for the next burst
        self._last = -1                 # when an element was taken last

    def load(self, taken: int, runs: Sequence[Run], take: Take) -> Process:
        """A request that is taken in a cycle; returns the one in which it ends, with its last element."""
        self._asked, self._popped, self._last = 0, [], -1
        begins = taken + WALKS
        for run in runs:
            self._free = begins + 1
            yield from self._elements(run, take)
            begins = self._free - 1     # behind the last burst
        return self._last

    def follow(self, taken: int, first: int, nodes: Callable[[int], tuple[int, int]], take: Take) -> Process:
        """As `load`, of a list. nodes: of an address that of the next node, and how many elements that one has, some."""
        self._asked, self._popped, self._last = 0, [], -1
        node, begins = first, taken + FOLLOWS
        rest: Run | None = None         # elements of the node before, which are asked for behind the head of this one
        while node:
            self._free = begins + 1
            came = yield from self._burst(1)
            # The next run begins when the last burst of the one before has its turn; then a head is waited for.
            waits = begins + 1 if rest is None else max(begins + 1, self._free - 1) + 1
            head = max(came + 1, waits, self._last + 1)
            self._popped.append(head)
            if rest is not None:
                self._free = waits
                self._last = max(self._last, head + 1)      # they are behind the head for a cycle
                yield from self._elements(rest, take)
            begins = max(head + 1, self._free - 1)
            following, count = nodes(node)
            node, rest = following, Run(node + NODE_BYTES, count)
        assert rest is not None, "a list has a node"
        self._free = begins + 1
        yield from self._elements(rest, take)
        return self._last + 1

    def _elements(self, run: Run, take: Take) -> Process:
        """Those of a run, whose first burst may be asked for."""
        line = self.bus.dma.bus_bytes // WORD_BYTES
        left, at = run.words, run.address // WORD_BYTES % line
        for beats in bursts(self.bus, run):
            came = yield from self._burst(beats)
            for word in range(came + 1, came + 1 + beats):
                for _ in range(min(left, line - at)):
                    self._last = take(max(self._last + 1, word))
                    left -= 1
                at = 0
                self._popped.append(self._last)

    def _burst(self, beats: int) -> Process:
        """Ask for words as soon as they have room; returns when the first one comes."""
        self._asked += beats
        before = self._asked - self.bus.dma.room
        cycle = max(self._free, self._popped[before - 1] + 1) if before > 0 else self._free
        now = yield lambda resume: self.bus.reads.ask(cycle, self.number, resume)
        self._free = now + 1
        return self.bus.read(now, beats)


class Store:
    """A request that stores: elements are given to it while its bursts are asked for."""

    def __init__(self, port: Port, taken: int, runs: Sequence[Run]) -> None:
        self._bus, self._number, self._taken, self._runs = port.bus, port.number, taken, runs
        self._begins = list[int]()      # of each run, the first cycle for an element
        self._run = 0                   # of the next element, and which it is
        self._nth = 0
        self._pushed = list[int]()      # when words were complete
        self._popped = list[int]()      # when they left
        self._lane: Resume | None = None
        self._port: Resume | None = None
        self.ended: int | None = None

    def process(self) -> Process:
        """What asks for bursts; returns the cycle in which all is in memory."""
        begins, words = self._taken + WALKS, 0
        answers = list[int]()
        for run in self._runs:
            self._begins.append(begins + 2)
            self._tell_lane()
            cycle = begins + 1
            for beats in bursts(self._bus, run):
                words += beats
                while len(self._pushed) < words:
                    yield self._wait_for_lane
                cycle = max(cycle, self._pushed[words - 1] + 1)
                if len(answers) >= WRITES:
                    cycle = max(cycle, answers[-WRITES] + 1)
                now = yield from self._turn(cycle)
                found = self._bus.write(now, beats)
                self._popped += found.words
                answers.append(found.answered)
                begins, cycle = now, now + 1
                self._tell_lane()
        self.ended = answers[-1] + 1
        self._tell_lane()
        return self.ended

    def give(self, cycle: int, count: int) -> Process:
        """Give elements, one a cycle, from a cycle on as far as they are taken; returns that of the last one."""
        line, room = self._bus.dma.bus_bytes // WORD_BYTES, self._bus.dma.room
        for _ in range(count):
            while len(self._begins) <= self._run:
                yield self._wait_for_port
            run = self._runs[self._run]
            cycle = max(cycle, self._begins[self._run])
            self._nth += 1
            ends = self._nth == run.words
            if ends or (run.address // WORD_BYTES + self._nth) % line == 0:
                if (before := len(self._pushed) - room) >= 0:
                    while len(self._popped) <= before:
                        yield self._wait_for_port
                    cycle = max(cycle, self._popped[before] + 1)
                self._pushed.append(cycle)
            if ends:
                self._run, self._nth = self._run + 1, 0
            self._tell_port()
            cycle += 1
        return cycle - 1

    def over(self) -> Process:
        """Returns the cycle in which all is in memory."""
        while self.ended is None:
            yield self._wait_for_port
        return self.ended

    def _turn(self, cycle: int) -> Process:
        now = yield lambda resume: self._bus.writes.ask(cycle, self._number, resume)
        return now

    def _wait_for_port(self, resume: Resume) -> None:
        self._lane = resume

    def _wait_for_lane(self, resume: Resume) -> None:
        self._port = resume

    def _tell_lane(self) -> None:
        lane, self._lane = self._lane, None
        if lane is not None:
            lane(None)

    def _tell_port(self) -> None:
        port, self._port = self._port, None
        if port is not None:
            port(None)


def bursts(bus: Bus, run: Run) -> Iterator[int]:
    """The words of each burst of a run."""
    size, most = bus.dma.bus_bytes, bus.dma.beats
    line = run.address // size
    end = -(-(run.address + run.words * WORD_BYTES) // size)
    while line < end:
        behind = min(end, line - line % most + most)
        yield behind - line
        line = behind
