"""Writers of levels behind each other cycle by cycle, between which fibers without an element are left out.

Input:   a `ChainedWritten`; tokens, a coordinate or `STOP` or `DONE`.
Source:  `ChainWriter`, `FiberDropper`.
"""

from __future__ import annotations

from collections import deque

from ....hw.arch.written_chain import ChainedWritten, Split
from .stage import DONE, STOP
from .writer import TimedWriter

# Tokens behind what leaves fibers out, of each kind.
_HELD = 2


class TimedChainWriter:
    """As `TimedWriter`."""

    def __init__(self, written: ChainedWritten, tensors: int) -> None:
        self._droppers = [_Dropper(split) for split in written.splits]
        self._writers = [TimedWriter(level, tensors) for level in (written.last, *(each.level for each in written.splits))]

    @property
    def is_over(self) -> bool:
        """Whether all arrays have left."""
        return all(each.is_over for each in self._writers)

    @property
    def last(self) -> int:
        """The cycle in which a word left last; -1 if none did."""
        return max(each.last for each in self._writers)

    def step(self, token: int | None) -> bool:
        """Do a cycle, in which a token is there; whether it is taken."""
        for dropper in self._droppers:
            dropper.begin()
        for dropper, writer in zip(self._droppers, self._writers):
            if writer.step(dropper.held[0] if dropper.held else None):
                dropper.held.popleft()
        # The coordinates of the last one that leaves fibers out are those of the outermost level.
        crds = self._droppers[-1].crds
        if self._writers[-1].step(crds[0] if crds else None):
            crds.popleft()
        taken = False
        for nth in reversed(range(len(self._droppers))):
            before = self._droppers[nth - 1].crds if nth else None
            head = token if before is None else before[0] if before else None
            goes = head is not None and self._droppers[nth].step(head)
            if before is None:
                taken = goes
            elif goes:
                before.popleft()
        for dropper in self._droppers:
            dropper.end()
        return taken


class _Dropper:
    """Gives the coordinates that have an element in their fibers, and these fibers; both wait behind it."""

    def __init__(self, split: Split) -> None:
        self._extent, self._group, self._node = split.extent, split.group, split.level.node
        self.held, self.crds = deque[int](), deque[int]()
        self._coordinate = self._fiber = self._pending = self._place = 0
        self._told = self._pads = False
        self._gone = [False, False]         # of the token that is there: as it is, and as a coordinate
        self._room = [True, True]
        self._given: list[int | None] = [None, None]

    def begin(self) -> None:
        """FIFOs take what they have room for now."""
        self._room = [len(self.held) < _HELD, len(self.crds) < _HELD]
        self._given = [None, None]

    def step(self, token: int) -> bool:
        """Do a cycle, in which a token is there; whether it is taken."""
        if self._pads:
            return self._pad()
        last = token == STOP and self._fiber == self._group - 1
        closes = last and self._coordinate == self._extent - 1
        names, fills = token >= 0 and not self._told, token >= 0 and self._told and self._pending > 0
        out = STOP if fills else token
        crd = token if token < 0 else self._coordinate
        wants = token == DONE or self._told, token == DONE or closes or names
        for nth, (wanted, word) in enumerate(zip(wants, (out, crd))):
            if wanted and not self._gone[nth] and self._room[nth]:
                self._gone[nth], self._given[nth] = True, word
        if not all(gone or not wanted for gone, wanted in zip(self._gone, wants)):
            return False
        self._gone = [False, False]
        if names:
            self._told, self._place = True, (self._place + 1) % self._node
        elif fills:
            self._pending -= 1
        elif token == STOP:
            self._pending = 0 if last else self._pending + (not self._told)
            self._fiber = 0 if last else self._fiber + 1
            self._told = self._told and not last
            if last:
                self._coordinate = 0 if closes else self._coordinate + 1
            self._pads = closes and self._place > 0
        return not (names or fills)

    def _pad(self) -> bool:
        """A fiber of a place of a node that no coordinate has leaves, if there is room; what is there waits."""
        if self._room[0]:
            self._given[0] = STOP
            self._fiber = (self._fiber + 1) % self._group
            if not self._fiber:
                self._place = (self._place + 1) % self._node
                self._pads = self._place > 0
        return False

    def end(self) -> None:
        """The end of a cycle."""
        for queue, token in zip((self.held, self.crds), self._given):
            if token is not None:
                queue.append(token)
