"""A stored level cycle by cycle: segments and coordinates, or values, in one SRAM that is written and read in turns.

What `hw/memory/level.py` does of the blocks of a private buffer, its writer, buffer, and scanner with two stages ahead of each
other. Words are known, and have no place here: of fibers where they begin and end, of values which lines they are in.

Input:   the words that fill it, all there from the first cycle on; tokens, a place or `STOP`, `DONE`, `NONE`.
Output:  tokens, the first of which stands in `finished`: places of coordinates, or for each value that is looked up a token.
Cost:    3 us a cycle.
Source:  `Level`, `LevelBuffer`, `LineCombiner`, `SegmentStage`, `CoordinateStage`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from ....hw.memory.level_scanner import AHEAD, FINISHED
from .stage import DONE, NONE, STOP

# Cycles from the move of a request to where it is known whether it has entries.
_LOOKS = 2


class _Word(NamedTuple):
    """What a word that is written does: which half it ends a line of, and whether it ends the tensor."""

    pushes: tuple[bool, bool]
    closes: bool


class _Entries(NamedTuple):
    """What the coordinate stage is to give: a stop first, then a token as it is, or places from start to end."""

    stop: bool
    literal: int | None
    last: bool
    start: int = 0
    end: int = 0


class StoredLevel:
    """Values, or a compressed level.

    A `Stage`.
    """

    def __init__(self, lines: int, lanes: int, words: Sequence[int], values: bool) -> None:
        self._lines, self._lanes, self._values = lines // 2, lanes, values
        self._words, self._segments = _parsed(words, lanes, values)
        self._writes = len(self._words)
        self._written = 0           # words so far
        # The buffer: of each half a line that waits, the lines that were filled, and where tensors began; of slots their use.
        self._line = [False, False]
        self._line_slot = [0, 0]
        self._fill, self._first = [0, 0], [0, 0]
        self._slot_first = [[0, 0], [0, 0]]
        self._held, self._unread = [False, False], [False, False]
        self._filling = self._offered = self._oldest = 0
        self._write_next = False
        # The segment stage.
        self._asking: tuple[int, bool] | None = None        # a token, and whether a fiber is open in front of it
        self._open = False
        self._tensor = 0            # whose fibers are asked for
        self._segment_room = AHEAD
        self._kept = self._before = -1
        self._looking = deque[_Entries | None]([None] * _LOOKS)
        self._found = deque[_Entries]()
        # The coordinate stage.
        self._entries: _Entries | None = None
        self._stops, self._place = False, 0
        self._hit = False
        self._room = FINISHED
        self._kept_line = -1
        self._reading: int | None = None
        self.finished = deque[int]()
        # Of this cycle.
        self.head: int | None = None
        self._ready = False
        self._token: int | None = None      # that is taken
        self._moves = self._asks = self._segment_moves = self._segment_asks = self._ends = False

    def begin(self) -> None:
        """What is decided from registers alone."""
        self.head = self.finished[0] if self.finished else None
        entries, is_free = self._entries, not self._write_next
        self._moves = self._asks = self._ends = False
        if entries is not None and self._room:
            self._asks = not (self._stops or entries.literal is not None or self._hit)
            self._moves = is_free or not self._asks
            if self._moves:
                self._ends = ((entries.literal is None and entries.start == entries.end) if self._stops else
                              entries.literal is not None or self._place + 1 == entries.end)
        self._segment_moves = self._segment_asks = False
        if self._asking is not None and self._segment_room:
            token, _ = self._asking
            is_hit, straddles, has_first = True, False, False
            if token >= 0 and not self._values:
                line = token // self._lanes
                straddles, has_first = token % self._lanes == self._lanes - 1, self._kept == line
                is_hit = self._before == line if straddles else has_first
            self._segment_asks = not is_hit
            self._segment_moves = is_hit or (is_free and not self._asks and (not straddles or has_first))
        waits = self._offered != self._filling and any(
            line and slot != self._filling for line, slot in zip(self._line, self._line_slot))
        self._token = None
        self._ready = (self._unread[self._offered] and not waits) and (self._asking is None or self._segment_moves)

    def offer(self, token: int) -> bool:
        """Whether it takes a token in this cycle."""
        if self._ready:
            self._token = token
        return self._ready

    def end(self, takes: bool) -> None:
        """Do the cycle. takes: `head` is taken."""
        is_free, asks, segment_asks = not self._write_next, self._asks, self._segment_asks
        frees = self._ends and self._entries is not None and self._entries.last
        writes = self._line[0] or self._line[1]
        write = self._write_next or (writes and not (asks or segment_asks))
        self._fill_in(write)
        self._write_next = writes and not write
        looked = self._looking.popleft()
        if looked is not None:
            if looked.stop or looked.literal is not None or looked.start != looked.end:
                self._found.append(looked)
            else:
                self._segment_room += 1
        self._scan(is_free and asks, frees, takes)
        self._look_up(is_free and segment_asks and not asks)
        if frees:
            self._held[self._oldest] = False
            self._oldest ^= 1

    def _fill_in(self, write: bool) -> None:
        """A word more, if there is one and it finds room."""
        line, slots = self._line, self._line_slot
        drained = [write, write and not line[0]]
        commits, pushes = False, (False, False)
        filling = self._filling
        if self._written < self._writes:
            pushes, closes = self._words[self._written]
            commits = not (closes and self._held[filling])
            if commits and (closes or pushes[0] or pushes[1]):
                for half in range(2):
                    tail = self._slot_first[self._oldest][half] if self._held[self._oldest] else self._first[half]
                    if (pushes[half] and (self._fill[half] - tail == self._lines or (line[half] and not drained[half]))) or (
                            closes and line[half] and slots[half] != filling):
                        commits = False
        for half in range(2):
            if drained[half]:
                line[half] = False
        if not commits:
            return
        self._written += 1
        firsts = self._first[0], self._first[1]
        for half in range(2):
            if pushes[half]:
                line[half], slots[half] = True, filling
                self._fill[half] += 1
        if closes:
            self._first[:] = self._fill
            self._slot_first[filling] = [*firsts]
            self._held[filling] = self._unread[filling] = True
            self._filling ^= 1

    def _scan(self, granted: bool, frees: bool, takes: bool) -> None:
        """The coordinate stage: from what was found to tokens."""
        entries = self._entries
        if takes:
            self.finished.popleft()
        if self._reading is not None:
            self.finished.append(self._reading)
        self._reading = None
        stored = entries is not None and not self._stops and entries.literal is None
        line = self._place // self._lanes
        if self._moves:
            assert entries is not None, "a token moves"
            self._reading = STOP if self._stops else self._place if entries.literal is None else entries.literal
        following = None
        if entries is None or self._ends:
            if self._found:
                following = self._found.popleft()
                self._segment_room += 1
                after = line if stored else self._kept_line
                self._hit = ((self._kept_line >= 0 or granted) and not frees and after == following.start // self._lanes)
                self._stops, self._place = following.stop, following.start
            self._entries = following
        elif self._moves:
            if not self._stops:
                self._place += 1
                self._hit = self._place % self._lanes != 0
            self._stops = False
        if granted:
            self._kept_line = line
        if frees:
            self._kept_line = -1
        self._room += takes - self._moves

    def _look_up(self, granted: bool) -> None:
        """The segment stage: from tokens to where their entries begin and end."""
        found = None
        asking = self._asking
        if granted:
            assert asking is not None, "a token asks"
            wanted, straddles = asking[0] // self._lanes, asking[0] % self._lanes == self._lanes - 1
            line = wanted + 1 if straddles and self._kept == wanted else wanted
            self._before = line - 1 if self._kept >= 0 and line == self._kept + 1 else -1
            self._kept = line
        if self._segment_moves:
            assert asking is not None, "a token moves"
            place, is_open = asking
            last = place == DONE
            if self._values:
                found = _Entries(False, None, False, place, place + 1) if place >= 0 else _Entries(
                    False, place, last)
            elif place >= 0:
                segments = self._segments[self._tensor]
                found = _Entries(is_open, None, False, segments[place], segments[place + 1])
            else:
                found = _Entries(is_open and place != STOP, None if place == NONE else place, last)
            if last:
                self._kept = self._before = -1
                self._tensor += 1
            self._segment_room -= 1
        self._looking.append(found)
        if self._asking is None or self._segment_moves:
            self._asking = None
            if self._token is not None:
                self._asking = self._token, self._open
                self._open = self._token not in (STOP, DONE)
                if self._token == DONE:
                    self._unread[self._offered] = False
                    self._offered ^= 1


def _parsed(words: Sequence[int], lanes: int, values: bool) -> tuple[list[_Word], list[list[int]]]:
    """What each word does when it is written, and the segments of each tensor."""
    found, segments = list[_Word](), list[list[int]]()
    at = half = 0
    while at < len(words):
        counts = [0, 0]
        for array in range(1 if values else 2):
            place = half if values else array
            length, final = words[at], values or array == 1
            if not final:
                segments.append([*words[at + 1:at + 1 + length]])
            found.append(_Word(_pushed(counts, None, lanes, final and not length), final and not length))
            for nth in range(length):
                closes = final and nth == length - 1
                found.append(_Word(_pushed(counts, place, lanes, closes), closes))
            at += length + 1
        half ^= 1
    return found, segments


def _pushed(counts: list[int], place: int | None, lanes: int, closes: bool) -> tuple[bool, bool]:
    """In which halves a word, in one of them or none, ends a line."""
    found = [False, False]
    for half in range(2):
        lane = counts[half] % lanes
        found[half] = lane == lanes - 1 or closes if half == place else closes and lane != 0
    if place is not None:
        counts[place] += 1
    return found[0], found[1]
