"""A level that is behind or in front of another one cycle by cycle: its tokens as coordinates and as references.

Input:   a `Link` and the words that fill it; references of the level in front.
Source:  `CountedLevel`; `ChainBank`, where references are led from level to level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....hw.arch.chain import Link
from ....hw.arch.private_buffer import BITVECTOR, COMPRESSED, DENSE, LANES, STREAMS
from ....hw.arch.token import DATA_BITS
from .bits import BitRows
from .lists import ListScan
from .stage import DONE, STOP, Stage, blocks
from .stored_level import StoredLevel


class ChainedLevel:
    """In a cycle begin() comes first, then what it is offered, or ask() of the one in front, then end()."""

    def __init__(self, link: Link, fills: Mapping[str, Sequence[int]]) -> None:
        self._kind, self._extent = link.kind, link.extent
        words = [] if link.kind == DENSE else fills[STREAMS[link.kind] + link.suffix]
        self._stage = _stage(link, words)
        self._coordinates, self._tensor = coordinates(link, words), 0
        self._gone = [False, False]         # of the token that it gives: as a coordinate, and as a reference
        self._behind = False                # the reference before was a number
        # Of a dense level: the number of the fiber that the level in front shows, and where in it this is.
        self._shown: int | None = None
        self._at = 0
        self.accepts = False                # the reference that it is offered, in this cycle
        self.head: int | None = None

    def begin(self, before: ChainedLevel | None) -> None:
        """What is decided from registers, and of a dense level from those of the level in front."""
        self.accepts = False
        if self._stage is not None:
            self._stage.begin()
            self.head = self._stage.head
            return
        assert before is not None, "the first level of a chain is not dense"
        self._shown = self.head = before.reference(self)
        if self._shown is not None and self._shown >= 0:
            self.head = STOP if self._at == self._extent else self._shown * self._extent + self._at

    def reference(self, following: ChainedLevel) -> int | None:
        """What it offers to the next one, which takes no stops but those behind a number where these close fibers."""
        if self.head is None or self._gone[1] or (self.head == STOP and not (following.is_closed and self._behind)):
            return None
        return self.head

    @property
    def is_closed(self) -> bool:
        """Whether fibers are closed by the token behind them."""
        return self._kind == COMPRESSED

    def offer(self, token: int) -> bool:
        """Whether it takes a reference."""
        assert self._stage is not None, "a dense level takes what the one in front shows"
        return self._stage.offer(token)

    def ask(self, following: ChainedLevel) -> None:
        """Offer a reference to the next one, if that is stored."""
        token = self.reference(following)
        if following._stage is not None:
            following.accepts = token is not None and following.offer(token)

    def end(self, has_room: bool, accepts: bool, following: ChainedLevel | None) -> int | None:
        """Do the cycle. has_room: for a coordinate; accepts: the reference is taken. The coordinate that goes."""
        head, crd = self.head, None
        moves = False
        if head is not None:
            drops = following is not None and not self._gone[1] and self.reference(following) is None
            if has_room and not self._gone[0]:
                self._gone[0], crd = True, self._coordinate(head)
            if not self._gone[1] and (accepts or drops):
                self._gone[1], self._behind = True, head >= 0
            moves = all(self._gone)
        if moves:
            self._gone = [False, False]
            self._tensor += head == DONE
        if self._stage is not None:
            self._stage.end(moves)
        elif moves:
            self.accepts = head is not None and head < 0
            self._at = 0 if self.accepts else self._at + 1
        return crd

    def _coordinate(self, head: int) -> int:
        if head < 0:
            return head
        return self._at if self._kind == DENSE else self._coordinates[self._tensor][head]


def _stage(link: Link, words: Sequence[int]) -> Stage | None:
    if link.kind == DENSE:
        return None
    if link.kind == COMPRESSED:
        return StoredLevel(4 * link.words // LANES, LANES, words, False)
    return BitRows(link.across, words) if link.kind == BITVECTOR else ListScan(link.node, words)


def coordinates(link: Link, words: Sequence[int]) -> list[Sequence[int]]:
    """Those of each tensor, by their places."""
    if link.kind == DENSE:
        return []
    if link.kind != BITVECTOR:
        return [arrays[-1] for arrays in blocks(words, 2 if link.kind == COMPRESSED else 3)]
    return [[DATA_BITS * (nth % link.across) + bit for nth, word in enumerate(array) for bit in range(DATA_BITS)
             if word >> bit & 1] for array, in blocks(words, 1)]
