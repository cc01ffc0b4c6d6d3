"""A bank that gives elements by coordinate, cycle by cycle: of a dense tensor, or of one that is searched.

Source:  `GatherBank`, `AssociativeBank`, `Matcher`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import chain

from ....hw.arch.private_buffer import LANES, Bank
from ....hw.arch.token import is_control
from ....hw.spatial.buffer.gather_bank import LOOKED_UP
from ..private_buffer import walked
from ..queue import Pair, Queue
from .bank import TimedBank
from .stage import DONE, STOP, Sink, Stage
from .stored_level import StoredLevel


class TimedGather:
    """Ports ask for elements, round robin among those that have room for what they ask for."""

    def __init__(self, bank: Bank, fills: Mapping[str, Sequence[int]], sinks: Sequence[Sink], pairs: Sequence[Sequence[Pair]],
                 asks: Sequence[Queue], rows: Sequence[Queue] = ()) -> None:
        self._bank, self._sinks, self._pairs, self._queues = bank, sinks, [deque(each) for each in pairs], asks
        self._rows = rows
        self._left = sum(map(len, self._pairs))
        self._values: Stage = _Search(bank, fills) if bank.matched else StoredLevel(bank.lines, LANES, fills["values"], True)
        self._refs, self._under_way = deque[int](), deque[int]()
        # In front of each port, and in front of which there is anything; room is counted before it is asked for.
        self._given = [deque[Pair]() for _ in sinks]
        self._giving: dict[int, None] = {}
        self._room = [bank.depth for _ in sinks]
        self._served = [0 for _ in sinks]
        self._finished = 0      # ports that have had their fibers of this tensor
        self._last = -1         # that had its turn

    @property
    def is_over(self) -> bool:
        """Whether all that it has for ports has gone there."""
        return not self._left and not self._giving

    def begin(self) -> None:
        """What is decided from registers alone."""
        self._values.begin()

    def shows(self, at: int) -> Pair | None:
        """The pair that it offers to a sink in this cycle."""
        return self._given[at][0] if self._given[at] else None

    def step(self) -> None:
        """Do a cycle, in which sinks are offered what is for them."""
        values, refs, under_way = self._values, self._refs, self._under_way
        taken = [at for at in self._giving if self._sinks[at].offer(self._given[at][0])]
        takes = values.head == DONE or (values.head is not None and bool(under_way))
        has_room, may_look = len(refs) < 2, len(under_way) < LOOKED_UP
        if takes and values.head != DONE:
            at = under_way.popleft()
            self._giving[at] = None
            self._given[at].append(self._pairs[at].popleft())
            self._left -= 1
        if refs and values.offer(refs[0]):
            refs.popleft()
        if self._finished == len(self._served):
            if has_room:
                refs.append(DONE)
                self._served, self._finished = [0 for _ in self._served], 0
        elif has_room and may_look and (turn := self._turn()) is not None:
            self._ask(turn)
        for at in taken:
            self._given[at].popleft()
            self._room[at] += 1
            if not self._given[at]:
                del self._giving[at]
        values.end(takes)

    def _turn(self) -> int | None:
        """The port that asks."""
        for at in chain(range(self._last + 1, len(self._queues)), range(self._last + 1)):
            if self._queues[at].head is not None and self._room[at] and self._served[at] < self._bank.operations \
                    and (not self._rows or self._rows[at].head is not None):
                return at
        return None

    def _ask(self, at: int) -> None:
        queue, bank = self._queues[at], self._bank
        assert queue.head is not None, "a port asks that has a coordinate"
        crd, queue.takes = queue.head.crd, True
        self._refs.append(STOP if is_control(crd) else self._base(at) + crd * (bank.asked.stride if bank.loops else 1))
        self._under_way.append(at)
        if is_control(crd):
            if self._rows:
                self._rows[at].takes = True
            self._served[at] += 1
            self._finished += self._served[at] == bank.operations
        self._room[at] -= 1
        self._last = at

    def _base(self, at: int) -> int:
        """Where the row begins in which a port asks."""
        base, row = self._bank.bases[at], self._rows[at].head if self._rows else None
        return base if row is None or is_control(row.crd) else base + row.crd * self._bank.chosen[0].stride


class _Search:
    """All elements of a tensor, which a bank walks as it is stored, beside what they are compared with."""

    def __init__(self, bank: Bank, fills: Mapping[str, Sequence[int]]) -> None:
        self._entries = _Entries(bank.fibers)
        self._walk = TimedBank(bank.walked, fills, [self._entries], [[Pair(*pair) for pair in walked(bank, fills)]])
        self._found = deque[int]()
        self._token: int | None = None
        self.head: int | None = None

    def begin(self) -> None:
        self._walk.begin()
        self._token = None
        self.head = self._found[0] if self._found else None

    def offer(self, token: int) -> bool:
        if not self._entries.tensors or len(self._found) == 2:
            return False
        self._token = token
        return True

    def end(self, takes: bool) -> None:
        self._walk.step()
        if takes:
            self._found.popleft()
        if self._token is not None:
            self._found.append(self._token)
        self._entries.end(self._token == DONE)


class _Entries:
    """Takes the elements of two tensors."""

    def __init__(self, fibers: int) -> None:
        self._fibers, self._fiber = fibers, 0
        self.tensors = 0        # that are complete
        self._ends = False

    def offer(self, pair: Pair) -> bool:
        self._ends = self.tensors < 2 and is_control(pair.crd)
        return self.tensors < 2

    def end(self, freed: bool) -> None:
        self._fiber += self._ends
        complete = self._fiber == self._fibers
        self._fiber = 0 if complete else self._fiber
        self._ends = False
        self.tensors += complete - freed
