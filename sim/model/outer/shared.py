"""What lanes share besides the bus, question by question: ports that each have several users, and the ledger of rows.

Source:  `hw.spatial.outer.port_share`, `ledger`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....hw.arch.outer_product import OuterProduct
from .bus import Bus
from .port import Port, Run, Store, Take
from .turns import Clock, Process, Turns, start


class Share:
    """A request port that is given to who asks, until the request has ended."""

    def __init__(self, clock: Clock, bus: Bus, number: int) -> None:
        self._turns, self._port = Turns(clock), Port(bus, number)

    def load(self, cycle: int, user: int, runs: Sequence[Run], take: Take) -> Process:
        """Elements from memory; returns the cycle in which the request ends."""
        taken = yield from self._asked(cycle, user)
        return self._freed((yield from self._port.load(taken, runs, take)))

    def follow(self, cycle: int, user: int, first: int, nodes: Callable[[int], tuple[int, int]], take: Take) -> Process:
        """Those of a list (`Port.follow`)."""
        taken = yield from self._asked(cycle, user)
        return self._freed((yield from self._port.follow(taken, first, nodes, take)))

    def store(self, cycle: int, user: int, runs: Sequence[Run]) -> Process:
        """Elements to memory; returns the cycle in which the request is taken, and what they are given to."""
        taken = yield from self._asked(cycle, user)
        store = Store(self._port, taken, runs)
        start(store.process(), self._freed)
        return taken, store

    def _asked(self, cycle: int, user: int) -> Process:
        taken = yield lambda resume: self._turns.ask(cycle, user, resume)
        self._turns.hold()
        return taken

    def _freed(self, ended: int) -> int:
        self._turns.free(ended + 1)
        return ended


class Node(NamedTuple):
    """What is known of the first node of a row: its address, and how many pairs runs have filled of it."""

    address: int = 0
    used: int = 0


class Ledger:
    """Numbers, free memory, and first nodes, as of a number of cycles when all rows are empty."""

    def __init__(self, clock: Clock, kind: OuterProduct, free: int) -> None:
        """free: the address of memory for nodes."""
        self._turns, self._node = Turns(clock, kind.rows + 1), kind.node
        self._node_bytes = kind.node_bytes(kind.node)
        self._number, self._unused, self._free = 0, free, kind.rows + 1
        self.first: dict[int, Node] = {}

    def begin(self, cycle: int, row: int, node: int) -> int:
        """As `exchange`, of lane 0 while nobody else asks; the cycle behind the answer."""
        self._free = max(cycle, self._free) + 2
        self._turns.had(0, self._free)
        self.first[row] = Node(node)
        return self._free

    def again(self) -> None:
        """Numbers begin with 0."""
        self._number = 0

    def next(self, cycle: int, lane: int) -> Process:
        """Each question returns the cycle behind its answer, and that."""
        now = yield from self._asked(cycle, lane)
        self._number += 1
        return now, self._number - 1

    def allocate(self, cycle: int, lane: int, size: int) -> Process:
        """Of so many bytes the address."""
        now = yield from self._asked(cycle, lane)
        self._unused += size
        return now, self._unused - size

    def exchange(self, cycle: int, lane: int, row: int, node: int) -> Process:
        """Another first node of a row; the one before, 0 if there was none."""
        now = yield from self._asked(cycle, lane)
        before, self.first[row] = self.first.get(row, Node()), Node(node)
        return now, before.address

    def read(self, cycle: int, lane: int, row: int) -> Process:
        """The first `Node` of a row."""
        now = yield from self._asked(cycle, lane)
        return now, self.first.get(row, Node())

    def append(self, cycle: int, lane: int, row: int, pairs: int) -> Process:
        """Room for pairs, or some of them; the first node before, whether there is a new one, and the first one now."""
        now = yield from self._asked(cycle, lane)
        before = self.first.get(row, Node())
        fresh = before.address == 0 or before.used == self._node
        address, used = (self._unused, 0) if fresh else before
        self.first[row] = Node(address, min(self._node, used + pairs))
        self._unused += fresh * self._node_bytes
        return now, (before, fresh, self.first[row])

    def _asked(self, cycle: int, lane: int) -> Process:
        """A question takes two cycles, the second one of which has its answer."""
        now = yield lambda resume: self._turns.ask(cycle, lane, resume)
        self._turns.free(now + 2)
        return now + 2
