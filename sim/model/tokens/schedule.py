"""Schedules: how processes take turns, untimed or by the clock.

Both leave every process blocked on a queue, or finished. `process.py` says what processes yield.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import islice

from .process import Either, Give, ProtocolError, Queue, Steps

# What a process waits for before its first step, and after its last.
_START: Queue = deque((0,))
_NEVER: Queue = deque()


class Output:
    """An output port: the queues that its tokens go to, all at once."""

    def __init__(self) -> None:
        self.queues: list[Queue | list[int]] = []
        self.readers: list[tuple[Process, str] | None] = []     # None: collected outside
        self.room: list[int | None] = []
        self.bounded = False
        self.staged: Queue = deque()                            # by the clock: given, not delivered
        self.count = 0
        self.trace: list[int] = []

    def lead_to(self, queue: Queue | list[int], reader: tuple[Process, str] | None, room: int | None = None) -> None:
        """Add a queue, and the most tokens in it."""
        self.queues.append(queue)
        self.readers.append(reader)
        self.room.append(room)
        self.bounded |= room is not None

    def give(self, clocked: bool) -> Give:
        """The function that takes a token from the process."""
        if clocked:
            return self.staged.append
        if len(self.queues) == 1:
            return self.queues[0].append
        appends = [queue.append for queue in self.queues]

        def to_all(token: int) -> None:
            for append in appends:
                append(token)

        return to_all

    def full(self) -> Iterator[tuple[Process, str]]:
        """The readers, and their ports, that have no room."""
        for queue, reader, room in zip(self.queues, self.readers, self.room, strict=True):
            if room is not None and len(queue) >= room and reader is not None:
                yield reader


class Process:
    """A meaning in progress."""

    def __init__(self, node: Hashable, primitive: str) -> None:
        self.node, self.primitive = node, primitive
        self.ins: dict[str, Queue] = {}
        self.outs: dict[str, Output] = {}
        self.steps: Steps = iter(())
        self.waiting: Queue | Either | None = _START
        self.idle = False
        self.worked = 0     # Cycles that it ended, untimed: those that it takes where it never waits.
        self.spare: tuple[str, ...] = ()    # inputs on which tokens may be left

    @property
    def stuck(self) -> bool:
        """Whether it is in the middle of a transaction, or tokens are there for another."""
        left = any(queue for port, queue in self.ins.items() if port not in self.spare)
        return not self.idle or left or any(out.staged for out in self.outs.values())

    def advance(self) -> bool:
        """Run to the end of the cycle, or until it waits; whether it was the former."""
        try:
            for event in self.steps:
                if event is None:
                    self.waiting = None
                    return True
                self.idle = isinstance(event, tuple)
                queue = event[0] if isinstance(event, tuple) else event
                if not queue:
                    self.waiting = queue
                    return False
        except ProtocolError as error:
            error.node = str(self.node)
            raise
        self.idle, self.waiting = True, _NEVER
        return False


def untimed(processes: Sequence[Process], keep: bool) -> int:
    """Run each process until it is blocked, until all are; `keep` the tokens of each output."""
    moved = True
    while moved:
        moved = False
        for process in processes:
            if process.waiting:
                moved = True
                _exhaust(process, keep)
    return 0


def _exhaust(process: Process, keep: bool) -> None:
    outs = [(out, out.queues[0]) for out in process.outs.values()]
    before = [len(queue) for _, queue in outs]
    event, worked = None, 0
    try:
        for event in process.steps:
            if event is None:
                worked += 1
                continue
            queue = event[0] if isinstance(event, tuple) else event
            if not queue:
                break
        else:
            event, queue = (_NEVER,), _NEVER
    except ProtocolError as error:
        error.node = str(process.node)
        raise
    process.idle, process.waiting = isinstance(event, tuple), queue
    process.worked += worked
    for (out, tokens), count in zip(outs, before, strict=True):
        out.count += len(tokens) - count
        if keep:
            out.trace += islice(tokens, count, None)


def by_the_clock(processes: Sequence[Process], keep: bool, look: Callable[[], None] = lambda: None) -> int:
    """Run cycle by cycle; the number of cycles up to the last token that is collected. look: called at the end of each."""
    active, stalled = [process for process in processes if process.waiting], list[Process]()
    waits: list[Output] = []
    cycle = cycles = 0
    while active:
        moving = [process for process in active if process.advance()]
        for process in active:
            for out in process.outs.values():
                if out.staged:
                    assert len(out.staged) == 1, f"{process.primitive} gave two tokens in a cycle"
                    assert process.waiting is None, f"{process.primitive} gave a token and did not end the cycle"
                    waits.append(out)
        cycle += 1
        active = []
        undelivered = []
        for out in waits:
            if out.bounded and any(out.full()):
                undelivered.append(out)
                continue
            token = out.staged.popleft()
            out.count += 1
            if keep:
                out.trace.append(token)
            for queue, reader in zip(out.queues, out.readers):
                queue.append(token)
                if reader is None:
                    cycles = cycle
                elif reader[0].waiting is queue or reader[0].waiting.__class__ is Either:
                    reader[0].waiting = None
                    active.append(reader[0])
        waits = undelivered
        look()
        moving += stalled
        stalled = [process for process in moving if any(out.staged for out in process.outs.values())]
        active += [process for process in moving if process not in stalled] if stalled else moving
    return cycles
