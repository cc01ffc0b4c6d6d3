"""The transactions of an unrolled program, which are rounds of sub-tiles, and the sub-tiles' results in order again.

Every link brings the blocks of its group's copies, and stores theirs. Results come in the order in which a copy was given
sub-tiles; they are held until those of all sub-tiles before have come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice

import numpy as np

from ...compiler.sparse.pairing import ABSENT
from ...compiler.sparse.unroll import Copies
from .blocks import Blocks
from .dispatch import FILL, deal
from .sub_tiles import Work


class Rounds:
    """The rounds of an unrolled program, and what they give.

    Parameters
    ----------
    work : Work         All sub-tiles.
    copies : Copies
    how : str           How they are dealt, see `dispatch`.
    take : function     Called with what every sub-tile stored, in the order of sub-tiles.
    """

    unit = "rounds of sub-tiles"

    def __init__(self, work: Work, copies: Copies, how: str, take: Callable[[Blocks], None]) -> None:
        self.work, self.groups, self.how, self.deal = work, copies, how, deal(work.tiling, copies, how)
        self.words: dict[str, int] = {}
        self._take = take
        # Streams of the result, the values last.
        self._names = [*work.bounds()]
        # Of each copy: sub-tiles whose results are to come, and blocks of each stream of the result.
        self._expects: list[deque[int]] = [deque() for _ in range(copies.count)]
        self._came: list[dict[str, deque[np.ndarray]]] = [{name: deque() for name in self._names} for _ in self._expects]
        self._taken, self._next, self._ahead = 0, 0, dict[int, Blocks]()

    def __len__(self) -> int:
        return self.deal.rounds

    def transactions(self, most: int = 1) -> Iterator[Blocks]:
        """The words of every link, round by round; `words` counts them."""
        tiling = self.work.tiling
        # An empty sub-tile is the last row, which -1 names.
        picks = np.concatenate((tiling.picks, np.full((1, tiling.picks.shape[1]), ABSENT, tiling.picks.dtype)))
        turns = np.concatenate(self.deal.items, axis=1).reshape(-1)
        blocks = Work(replace(tiling, picks=picks[turns])).transactions()
        for _ in range(len(self)):
            found: Blocks = {}
            for group, members in enumerate(self.groups.groups):
                own = list(islice(blocks, len(members)))
                for name in own[0]:
                    words = np.concatenate([each[name] for each in own])
                    link = self.groups.link(name, group)
                    found[link] = words
                    self.words[link] = self.words.get(link, 0) + len(words)
            yield found

    def bounds(self) -> dict[str, int]:
        """As of `Work.bounds`, for links."""
        return {self.groups.link(name, group): len(members) * words for name, words in self.work.bounds().items()
                for group, members in enumerate(self.groups.groups)}

    def cycles(self) -> int:
        """How many cycles all rounds should take, roughly."""
        return round(float(self.deal.loads.max()))

    def take(self, stored: Blocks) -> None:
        """Take what the next round stored; hand on the sub-tiles that are complete and next."""
        for group, (items, copies) in enumerate(zip(self.deal.items, self.deal.copies, strict=True)):
            for item, copy in zip(items[self._taken].tolist(), copies[self._taken].tolist(), strict=True):
                self._expects[copy].append(item)
                for name in self._names:
                    self._came[copy][name].append(stored[self.groups.link(name, group)])
        self._taken += 1
        for expects, came in zip(self._expects, self._came, strict=True):
            while expects and all(came.values()):
                item, blocks = expects.popleft(), {name: each.popleft() for name, each in came.items()}
                if item != FILL:
                    self._ahead[item] = blocks
        while self._next in self._ahead:
            self._take(self._ahead.pop(self._next))
            self._next += 1

    def facts(self) -> Mapping[str, object]:
        """For the report."""
        return {"dispatch": self.how, "rounds": len(self), "balance": round(self.deal.balance, 3)}

    def bottleneck(self, cycles: int) -> str:
        """What keeps so many cycles from being fewer, in words."""
        link = max(self.words, key=lambda name: self.words[name])
        share = self.words[link] / max(1, cycles)
        if share > BUSY:
            return f"links: {link} brings {share:.2f} words a cycle"
        if self.deal.balance < EVEN:
            return f"imbalance: the busiest copy has {1 / self.deal.balance:.2f} times as much to do as others on average"
        return f"copies: all have about as much to do, and links are idle for {1 - share:.0%} of the time"


# A link that brings more words a cycle is what a program waits for, and copies that are more even are not.
BUSY, EVEN = 0.8, 0.9
