"""A level of linked lists cycle by cycle, and fibers of nothing between its fibers.

Input:   the words that fill it; numbers of fibers as tokens (`Stage`).
Output:  places of coordinates.
Source:  `ListLevel`, `Absent`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from enum import Enum, auto

from ....hw.arch.private_buffer import NO_NODE
from ....hw.memory.list_level import FINISHED
from ....hw.spatial.buffer.absent import UNDER_WAY
from .filled import Filled
from .stage import DONE, NONE, STOP, Stage, blocks


class _State(Enum):
    FIBER, HEAD, NODES = auto(), auto(), auto()


class ListScan:
    """Follows the list of each fiber."""

    def __init__(self, size: int, words: Sequence[int]) -> None:
        """size: elements of a node."""
        self._size, self._tensors = size, blocks(words, 3)
        self._filled = Filled([sum(1 + len(array) for array in arrays) for arrays in self._tensors])
        self._finished = deque[int]()
        self._room = FINISHED
        self._reading: int | None = None
        self._state = _State.FIBER
        self._fiber = self._node = self._place = self._left = 0
        self._fetched = self._kept = False      # the link of the node is read, or was
        self._token: int | None = None
        self.head: int | None = None

    def begin(self) -> None:
        self.head = self._finished[0] if self._finished else None
        self._token = None

    def offer(self, token: int) -> bool:
        if self._state != _State.FIBER or not self._filled.is_there or not self._room:
            return False
        self._token = token
        return True

    def end(self, takes: bool) -> None:
        freed = self._token == DONE
        issued = self._step()
        if takes:
            self._finished.popleft()
        if self._reading is not None:
            self._finished.append(self._reading)
        self._reading = issued
        self._room += takes - (issued is not None)
        self._filled.end(freed)

    def _step(self) -> int | None:
        """What is issued."""
        issued, fetches = None, False
        if self._state == _State.FIBER:
            if self._token == DONE:
                issued = DONE
            elif self._token is not None:
                self._fiber, self._state = self._token, _State.HEAD
        elif self._state == _State.HEAD:
            self._node = self._tensors[self._filled.tensor][0][self._fiber]
            self._left, self._kept, fetches = 0, False, True
            self._state = _State.NODES
        else:
            gives, there = self._left != 0 and self._room != 0, self._fetched or self._kept
            enters = (not self._left or (gives and self._left == 1)) and self._node != NO_NODE and there
            if gives:
                issued = self._place
                self._place, self._left = self._place + 1, self._left - 1
            elif not self._left and self._node == NO_NODE and self._room:
                issued, self._state = STOP, _State.FIBER
            self._kept = there and not enters
            if enters:
                fetches, self._place = True, self._node * self._size
                self._node, self._left = self._tensors[self._filled.tensor][1][2 * self._node:2 * self._node + 2]
        self._fetched = fetches
        return issued


class WithNone:
    """A level that has a fiber of nothing for `NONE`, which the one inside has not."""

    def __init__(self, level: Stage) -> None:
        self._level = level
        self._under_way = deque[bool]()         # whether each is none
        self._gone = [False, False]             # of the token that is offered: to the level, to the others under way
        self._none: bool | None = None
        self.head: int | None = None

    def begin(self) -> None:
        self._level.begin()
        none = self._under_way[0] if self._under_way else None
        self.head = None if none is None else STOP if none else self._level.head
        self._none = None

    def offer(self, token: int) -> bool:
        is_none, gone = token == NONE, self._gone
        gone[0] = gone[0] or is_none or self._level.offer(token)
        if not gone[1] and len(self._under_way) < UNDER_WAY:
            gone[1], self._none = True, is_none
        taken = all(gone)
        if taken:
            self._gone = [False, False]
        return taken

    def end(self, takes: bool) -> None:
        none = takes and self._under_way[0]
        if takes and (none or (self.head is not None and self.head < 0)):
            self._under_way.popleft()
        if self._none is not None:
            self._under_way.append(self._none)
        self._level.end(takes and not none)
