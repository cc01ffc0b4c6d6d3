"""A bank that gives whole fibers as ports ask for them, behind levels without zeros, cycle by cycle.

Each level is a stage, and of each of its fibers but those of the last one a coordinate is picked, whose position is the
reference of the next level; between them are two of these.

Source:  `ChosenBank`, `Picker`, `Closing`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from ....hw.arch.chain import ChainedBank, Link
from ....hw.arch.private_buffer import BITVECTOR, COMPRESSED, DENSE, LANES, STREAMS
from ....hw.arch.token import is_control
from ....hw.spatial.buffer.private_buffer import AHEAD
from ..queue import Pair, Queue
from .bits import BitRows
from .chained_level import coordinates
from .lists import ListScan, WithNone
from .rows import TimedRows
from .stage import DONE, NONE, STOP, Sink, Stage
from .stored_level import StoredLevel

# Positions between levels.
_FOUND = 2


class TimedChosen(TimedRows):
    """As `TimedRows`; what it asks of its levels are coordinates."""

    _bank: ChainedBank

    def __init__(self, bank: ChainedBank, fills: Mapping[str, Sequence[int]], sinks: Sequence[Sink],
                 pairs: Sequence[Sequence[Pair]], asks: Sequence[Queue]) -> None:
        super().__init__(bank, fills, sinks, pairs, asks)

    def _scanned(self, fills: Mapping[str, Sequence[int]]) -> Stage:
        return TimedSearch(self._bank, fills)

    def _place(self, crd: int) -> int:
        return NONE if is_control(crd) else crd

    def _closes(self) -> bool:
        return False


class TimedSearch:
    """The levels. A `Stage`, whose tokens are coordinates, of ports in turn."""

    def __init__(self, bank: ChainedBank, fills: Mapping[str, Sequence[int]]) -> None:
        self._bank, links = bank, bank.links
        self._levels = [_stage(link, link.is_last and bank.complete, fills) for link in links]
        self._picks = [_Pick(link, fills) for link in links[:-1]]
        self._outers = [bank.outer(base) for base in bank.bases]
        self._port = 0
        self._gone = [False for _ in links]     # of the token that is offered: to the first level, to the coordinates of each
        self._wants = list[tuple[_Pick, int]]()
        self.head: int | None = None

    def begin(self) -> None:
        for nth, level in enumerate(self._levels):
            # What a level counts is known of the reference in front of it.
            if isinstance(level, _Counted):
                level.shown = self._picks[nth - 1].first
            level.begin()
        for pick, level in zip(self._picks, self._levels):
            pick.begin(level.head)
        for level, pick in zip(self._levels[1:], self._picks):
            pick.taken = pick.first is not None and level.offer(pick.first)
        self.head = self._levels[-1].head
        self._wants = []

    def offer(self, token: int) -> bool:
        bank, port, gone = self._bank, self._port, self._gone
        outer = [*self._outers[port]]
        if token >= 0:
            outer[bank.searched] = token
        if not gone[0]:
            number = 0
            for level, crd in zip(bank.levels[:bank.links[0].nth], outer):
                number = number * level.extent + crd
            gone[0] = self._levels[0].offer(number if token >= 0 else token)
        for nth, (link, pick) in enumerate(zip(bank.links, self._picks), 1):
            if not gone[nth] and token == DONE:
                gone[nth] = True
            elif not gone[nth] and len(pick.wants) < AHEAD:
                gone[nth] = True
                self._wants.append((pick, outer[link.nth] if token >= 0 else NONE))
        taken = all(gone)
        if taken:
            self._gone = [False for _ in gone]
            self._port = port if token == DONE else (port + 1) % bank.sinks
        return taken

    def end(self, takes: bool) -> None:
        for level, pick in zip(self._levels, self._picks):
            level.end(pick.takes)
        self._levels[-1].end(takes)
        # The reference that a level takes leaves behind what it counts.
        for level, pick in zip(self._levels[1:], self._picks):
            pick.end(level.ends if isinstance(level, _Counted) else pick.taken)
        for pick, crd in self._wants:
            pick.wants.append(crd)


class _Pick:
    """Of each fiber of a level the position of one coordinate."""

    def __init__(self, link: Link, fills: Mapping[str, Sequence[int]]) -> None:
        self._extent = link.extent if link.kind == DENSE else 0
        self._coordinates = [] if self._extent else coordinates(link, fills[STREAMS[link.kind] + link.suffix])
        self._tensor = 0
        self._found, self._given = NONE, deque[int]()
        self._head: int | None = None
        self.wants = deque[int]()
        self.takes = self.taken = False     # the token of the level; of the next level, the reference in front

    @property
    def first(self) -> int | None:
        """The reference in front."""
        return self._given[0] if self._given else None

    def begin(self, head: int | None) -> None:
        """head: what the level gives."""
        self._head = head
        self.takes = head is not None and (head == DONE or bool(self.wants)) and (head >= 0 or len(self._given) < _FOUND)

    def end(self, taken: bool) -> None:
        """taken: the next level takes the reference in front."""
        head = self._head
        if taken:
            self._given.popleft()
        if not self.takes or head is None:
            return
        if head >= 0:
            crd = head % self._extent if self._extent else self._coordinates[self._tensor][head]
            self._found = head if crd == self.wants[0] else self._found
            return
        self._given.append(DONE if head == DONE else self._found)
        self._found = NONE
        if head == DONE:
            self._tensor += 1
        else:
            self.wants.popleft()


class _Closing:
    """A level that closes a fiber with the token behind it."""

    def __init__(self, level: StoredLevel) -> None:
        self._level = level
        self._closes = self._taken = self._behind = False
        self.head: int | None = None

    def begin(self) -> None:
        self._level.begin()
        self.head = self._level.head
        self._taken = self._closes and self._level.offer(STOP)
        self._behind = False

    def offer(self, token: int) -> bool:
        taken = not self._closes and self._level.offer(token)
        self._behind = taken and token != DONE
        return taken

    def end(self, takes: bool) -> None:
        self._level.end(takes)
        self._closes = self._behind or (self._closes and not self._taken)


class _Counted:
    """A dense level, which gives its tokens in the cycle of their reference; `shown` is that, and `ends` if it is taken."""

    def __init__(self, extent: int, zeros: bool) -> None:
        self._extent, self._zeros, self._at = extent, zeros, 0
        self.shown: int | None = None
        self.ends = False
        self.head: int | None = None

    def begin(self) -> None:
        ref = self.head = self.shown
        if ref is not None and ref != DONE:
            over = self._at == self._extent or (ref == NONE and not self._zeros)
            self.head = STOP if over else NONE if ref == NONE else ref * self._extent + self._at

    def offer(self, token: int) -> bool:
        return False

    def end(self, takes: bool) -> None:
        self.ends = takes and self.head in (STOP, DONE)
        self._at = 0 if self.ends else self._at + takes


def _stage(link: Link, zeros: bool, fills: Mapping[str, Sequence[int]]) -> Stage:
    if link.kind == DENSE:
        return _Counted(link.extent, zeros)
    words = fills[STREAMS[link.kind] + link.suffix]
    if link.kind == COMPRESSED:
        return _Closing(StoredLevel(4 * link.words // LANES, LANES, words, False))
    return BitRows(link.across, words) if link.kind == BITVECTOR else WithNone(ListScan(link.node, words))
