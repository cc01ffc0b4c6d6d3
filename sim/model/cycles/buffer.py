"""Buffer: what a MEM tile's dense controllers do, cycle by cycle, and whether a configuration is legal.

The meaning is that of `hw/memory/buffer.py` without its pipelines: a word is stored in the cycle of its write, and a read
gives, `read_latency` cycles later, the word that was stored last. The checks make that true of the hardware, too: reads and
writes of a word keep their distance, every word read was written, and the port of the SRAM does what is asked of it in time.

    run(MEM, {"wr0_on": 1, "wr0_extent0": 9, "wr0_delta0": 1, "rd0_on": 1, ...}, {"wr0": words}, cycles=40).words["rd0"]

Errors:  ScheduleError naming port, cycle and address.
Cost:    10 us a cycle.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ....hw.arch.buffer import READS, VALID, WRITES, MemSizes, buffer_config

NOTHING = -1


class ScheduleError(Exception):
    """A configuration that the hardware cannot follow."""


@dataclass(frozen=True)
class Result:
    """What a buffer gives.

    Parameters
    ----------
    words : dict           Per read port int32[cycles]: the word that leaves in each cycle; `NOTHING` where none is due.
    valid : array          uint8[cycles]: the flag.
    accesses : int         Accesses to the SRAM.
    """

    words: dict[str, np.ndarray]
    valid: np.ndarray
    accesses: int


@dataclass(frozen=True)
class Event:
    """A word of a port."""

    cycle: int
    address: int


def schedule(sizes: MemSizes, config: Mapping[str, int], port: str, cycles: int) -> list[Event]:
    """The words of a port whose cycles are below a limit, from its fields as numbers, by recurrence."""
    return list(_walk(sizes, buffer_config(sizes).numbers(config), port, cycles))


def _walk(sizes: MemSizes, config: Mapping[str, int], port: str, cycles: int) -> Iterator[Event]:
    owner = f"rd{port[-1]}" if config.get(f"{port}_replay") else port
    loops = range(sizes.loops(owner))
    extents, gaps, deltas = ([config.get(f"{owner}_{name}{loop}", 0) for loop in loops] for name in ("extent", "gap", "delta"))
    counts = [0 for _ in loops]
    cycle, address = config[f"{port}_cycle"], config.get(f"{port}_address", 0)
    more = bool(config[f"{port}_on"])
    while more and cycle < cycles:
        yield Event(cycle, address)
        level = next((loop for loop in loops if counts[loop] < extents[loop]), None)
        more = level is not None
        if level is not None:
            counts[:level] = [0] * level
            counts[level] += 1
            cycle += gaps[level] + 1
            address = (address + deltas[level]) % sizes.buffer_words


def run(sizes: MemSizes, config: Mapping[str, int], inputs: Mapping[str, Sequence[int]], cycles: int,
        contents: Mapping[int, int] | None = None) -> Result:
    """Follow a configuration.

    Parameters
    ----------
    sizes : MemSizes       Of the tile, e.g. ``arch.mem``.
    config : mapping       Fields of `buffer_config` as numbers; absent ones are 0.
    inputs : mapping       Per write port a word in each cycle from 0 on; absent ports get zeros.
    cycles : int           How far to go; reads whose words leave later are checked, too.
    contents : mapping     Words by address that stand in the SRAM before; none.
    """
    numbers = buffer_config(sizes).numbers(config)
    words = {port: [int(word) for word in inputs.get(port, ())] + [0] * cycles for port in WRITES}
    writes = {port: schedule(sizes, numbers, port, cycles) for port in WRITES}
    reads = {port: schedule(sizes, numbers, port, cycles) for port in READS}
    if numbers["rom"]:
        reads[READS[0]] = [Event(cycle, words[WRITES[0]][cycle] % sizes.buffer_words) for cycle in range(cycles)]
    history = _History(sizes, {port: [(event, words[port][event.cycle]) for event in each] for port, each in writes.items()},
                       contents or {})
    found = {port: np.full(cycles, NOTHING, np.int32) for port in READS}
    for port, each in reads.items():
        for event in each:
            word = history.word(port, event, is_rom=port == READS[0] and bool(numbers["rom"]))
            if event.cycle + sizes.read_latency < cycles:
                found[port][event.cycle + sizes.read_latency] = word
    valid = np.zeros(cycles, np.uint8)
    valid[[event.cycle for event in schedule(sizes, numbers, VALID, cycles)]] = 1
    return Result(found, valid, accesses(sizes, writes, reads, cycles))


class _History:
    """Every word that was ever stored, by address."""

    def __init__(self, sizes: MemSizes, writes: Mapping[str, Sequence[tuple[Event, int]]], contents: Mapping[int, int]) -> None:
        self._distance = sizes.write_to_read
        self._contents = contents
        self._stored: dict[int, list[tuple[int, str, int]]] = defaultdict(list)
        for port, each in writes.items():
            for event, word in each:
                self._stored[event.address].append((event.cycle, port, word))
        for address, stored in self._stored.items():
            stored.sort()
            for (cycle, port, _), (later, other, _) in pairwise(stored):
                if port != other and later - cycle < self._distance:
                    raise ScheduleError(f"word {address} is written by {port} in cycle {cycle} and by {other} in cycle "
                                        f"{later}, less than {self._distance} apart")

    def word(self, port: str, read: Event, is_rom: bool) -> int:
        """The word that a read gives. A ROM reads something in every cycle, wanted or not: it may be nothing."""
        found = self._contents.get(read.address, NOTHING)
        for cycle, writer, word in self._stored[read.address]:
            if abs(cycle - read.cycle) < self._distance:
                if is_rom:
                    return NOTHING
                raise ScheduleError(f"{port} reads word {read.address} in cycle {read.cycle}, {writer} writes it in cycle "
                                    f"{cycle}, less than {self._distance} apart")
            if cycle < read.cycle:
                found = word
        if found == NOTHING and not is_rom:
            raise ScheduleError(f"{port} reads word {read.address} in cycle {read.cycle}, which was never written")
        return found


def accesses(sizes: MemSizes, writes: Mapping[str, Sequence[Event]], reads: Mapping[str, Sequence[Event]], cycles: int) -> int:
    """Accesses to the SRAM until a cycle, each in time; ScheduleError for the first one that is not."""
    ports: list[_Writer | _Reader] = [*(_Writer(sizes, port, each) for port, each in writes.items()),
                                      *(_Reader(sizes, port, each) for port, each in reads.items())]
    count = 0
    for cycle in range(cycles):
        slacks = [(slack, n) for n, port in enumerate(ports) if (slack := port.slack(cycle)) is not None]
        granted = min(slacks)[1] if slacks else None
        written = ports[granted].line if granted is not None and granted < len(writes) else None
        for slack, n in slacks:
            if slack == 0 and n != granted:
                assert granted is not None
                raise ScheduleError(f"the port of the SRAM is overrun in cycle {cycle}: {ports[n].name} needs line "
                                    f"{ports[n].line}, {ports[granted].name} line {ports[granted].line}")
        for n, port in enumerate(ports):
            port.step(cycle, n == granted, written)
        count += granted is not None
    return count


@dataclass
class _Line:
    """Words on their way into the SRAM: their line, the cycle of the first, their lanes."""

    line: int
    first: int
    lanes: set[int]


class _Writer:
    """A write port: lines, the last of which is being collected. Rules as of `hw/memory/sipo.py`."""

    def __init__(self, sizes: MemSizes, name: str, events: Sequence[Event]) -> None:
        self.name, self._lanes, self._depth = name, sizes.sram_lanes, sizes.sipo_lines
        self._events = deque(events)
        self._waiting: deque[_Line] = deque()
        self._held: _Line | None = None
        self._new: _Line | None = None      # starts in this cycle, for the one held leaves
        self._complete = False

    @property
    def line(self) -> int:
        """The line that is asked for."""
        oldest = self._waiting[0] if self._waiting else self._held
        assert oldest is not None, "asked for only after a request"
        return oldest.line

    def slack(self, cycle: int) -> int | None:
        """Cycles until a line must be written; None: none can be yet. Called once a cycle."""
        fires = bool(self._events) and self._events[0].cycle == cycle
        self._new = None
        if fires:
            line, lane = divmod(self._events.popleft().address, self._lanes)
            if self._held is None:
                self._held = _Line(line, cycle, set())
            if self._held.line == line:
                self._held.lanes.add(lane)
            else:
                self._new = _Line(line, cycle, {lane})
        self._complete = False
        after = left = self._lanes
        if self._held is not None:
            left = self._held.first + self._lanes - cycle
            soon = self._events[0] if self._events and self._events[0].cycle - cycle < left and not fires else None
            joins = soon is not None and soon.address // self._lanes == self._held.line
            self._complete = (self._new is not None or len(self._held.lanes) == self._lanes or left <= 1
                              or not (fires or joins))
            after = min(left, 1) if fires else soon.cycle - cycle if soon and not joins else left
        if self._waiting:
            return 0 if self._new else self._waiting[0].first + self._lanes - cycle
        if not self._complete:
            return None
        return left if self._depth > 1 else 0 if self._new else after

    def step(self, cycle: int, granted: bool, written: int | None) -> None:
        """The end of a cycle."""
        assert self._held is not None or not self._complete
        if granted and self._waiting:
            self._waiting.popleft()
            granted = False
        if self._complete and self._held is not None and (granted or len(self._waiting) < self._depth - 1):
            if not granted:
                self._waiting.append(self._held)
            self._held = None
        if self._new is not None:
            assert self._held is None, "a line that leaves has gone"
            self._held = self._new


class _Reader:
    """A read port: lines that are asked for. Rules as of `hw/memory/piso.py`."""

    def __init__(self, sizes: MemSizes, name: str, events: Sequence[Event]) -> None:
        self.name, self._lanes = name, sizes.sram_lanes
        self._events = deque(events)
        self._wants: deque[tuple[int, int]] = deque()       # cycle of the read, line
        self._last: int | None = None
        self._before = self._asked = -self._lanes           # cycles of the reads of the line granted last, and asked for last

    @property
    def line(self) -> int:
        """The line that is asked for."""
        return self._wants[0][1]

    def slack(self, cycle: int) -> int | None:
        """Cycles until a line must be read; None: none is wanted, or there is no place for it."""
        if not self._wants or cycle - self._before < self._lanes:
            return None
        return self._wants[0][0] + self._lanes - cycle

    def step(self, cycle: int, granted: bool, written: int | None) -> None:
        """The end of a cycle."""
        late = bool(self._wants)
        if granted:
            self._before, _ = self._wants.popleft()
        asks = False
        if self._events and self._events[0].cycle == cycle:
            line = self._events.popleft().address // self._lanes
            asks = line != self._last
            if asks:
                self._wants.append((cycle, line))
                self._last = line
        if written is not None and written == self._last and not asks and not late:
            self._last = None
