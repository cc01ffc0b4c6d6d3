"""The transactions of an unrolled program, which are rounds of sub-tiles, and the sub-tiles' results in order again.

Every link brings the blocks of its group's copies, and stores theirs. Where copies share it, a word in front of each block that
is loaded is the number of its copy. Results that output addresses place lie in the order of the group's sub-tiles, whichever
ended first: a further link brings the number of each sub-tile. Else a section of one word in front of each block that is stored
is the number of its copy, and those of one copy come in the order in which it was given sub-tiles, those of different ones in
any. Results are held until those of all sub-tiles before have come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from ...compiler.sparse.copies import NUMBERS, ORDER, Copies
from ...compiler.sparse.pairing import ABSENT
from ...hw.arch.glb import LANES
from .blocks import Blocks, split_blocks
from .dispatch import FILL, balance, deal
from .lying import LyingBlock, in_words
from .sub_tiles import Work


class Rounds:
    """The rounds of an unrolled program, and what they give.

    Parameters
    ----------
    work : Work         All sub-tiles.
    copies : Copies
    how : str           How they are dealt, see `dispatch`.
    take : function     Called with what every sub-tile stored, in the order of sub-tiles.
    listed : bool       The machine takes blocks of operands that lie.
    """

    unit = "rounds of sub-tiles"

    def __init__(self, work: Work, copies: Copies, how: str, take: Callable[[Blocks], None],
                 listed: bool = False) -> None:
        self.listed = listed
        self.work, self.groups, self.how, self.deal = work, copies, how, deal(work.tiling, copies, how)
        self.words: dict[str, int] = {}     # Of each link that loads, and of each that stores.
        self.stored: dict[str, int] = {}
        # Expected cycles of what each copy has done.
        self.loads = np.zeros(copies.count)
        self._take = take
        # Streams of the result, the values last.
        self._names = [*work.bounds()]
        self._sections = {name: 1 if name in work.arrays else 2 for name in self._names}
        # Of each copy: sub-tiles whose results are to come, and blocks of each stream of the result.
        self._expects: list[deque[int]] = [deque() for _ in range(copies.count)]
        self._came: list[dict[str, deque[np.ndarray]]] = [{name: deque() for name in self._names} for _ in self._expects]
        self._taken, self._next, self._ahead = 0, 0, dict[int, Blocks]()

    def __len__(self) -> int:
        return self.deal.rounds

    def transactions(self, most: int = 1) -> Iterator[Mapping[str, np.ndarray | LyingBlock]]:
        """The words of every link, round by round; `words` counts them. Dense operands lie as of `Work.listed`, if `listed`,
        where a copy has a link to itself."""
        tiling = self.work.tiling
        # An empty sub-tile is the last row, which -1 names.
        picks = np.concatenate((tiling.picks, np.full((1, tiling.picks.shape[1]), ABSENT, tiling.picks.dtype)))
        turns = np.concatenate(self.deal.items, axis=1).reshape(-1)
        work = Work(replace(tiling, picks=picks[turns]))
        blocks = work.listed(len(self.groups.groups)) if self.listed else work.transactions()
        for turn in range(len(self)):
            found: dict[str, np.ndarray | LyingBlock] = {}
            for group, members in enumerate(self.groups.groups):
                own = list(islice(blocks, len(members)))
                numbered = self.groups.shares(group) and not self.groups.dynamic
                for name in own[0]:
                    found[self.groups.link(name, group)] = own[0][name] if len(own) == 1 else np.concatenate([
                        part for each, copy in zip(own, self.deal.copies[group][turn], strict=True)
                        for part in (np.full(int(numbered), copy, np.uint16), in_words(each[name]))])
                if self._placed(group):
                    own_copies = self.deal.copies[group][turn] if numbered else ()
                    found[self.groups.link(ORDER, group)] = _order(turn * len(members), len(members), own_copies)
            for link, block in found.items():
                self.words[link] = self.words.get(link, 0) + (block.count if isinstance(block, LyingBlock) else len(block))
            yield found

    def _placed(self, group: int) -> bool:
        """Whether the results of a group lie in the order of its sub-tiles."""
        return self.groups.placed and self.groups.shares(group)

    def bounds(self) -> dict[str, int]:
        """As of `Work.bounds`, for links."""
        found: dict[str, int] = {}
        for group, members in enumerate(self.groups.groups):
            shares = self.groups.shares(group)
            for name, words in self.work.bounds().items():
                # Each block that is placed begins a line; others have a number in front of them.
                room = -(-words // LANES) * LANES if self._placed(group) else words + 2 * shares
                found[self.groups.link(name, group)] = len(members) * room
            if shares and self.groups.dynamic:
                found[self.groups.link(NUMBERS, group)] = 2 * len(members)
        return found

    def cycles(self) -> int:
        """How many cycles all rounds should take, roughly."""
        return round(float(self.deal.loads.mean() if self.groups.dynamic else self.deal.loads.max()))

    def take(self, stored: Blocks) -> None:
        """Take what the next round stored; hand on the sub-tiles that are complete and next."""
        for group, (items, copies) in enumerate(zip(self.deal.items, self.deal.copies, strict=True)):
            given = copies[self._taken].tolist()
            if self.groups.dynamic and self.groups.shares(group):
                # Each number is a section of one word.
                given = stored[self.groups.link(NUMBERS, group)][1::2].tolist()
            for item, copy in zip(items[self._taken].tolist(), given, strict=True):
                if not self._placed(group):
                    self._expects[copy].append(item)
                self.loads[copy] += self.deal.cycles[item] if item != FILL else 0
            for name in self._names:
                link = self.groups.link(name, group)
                self.stored[link] = self.stored.get(link, 0) + len(stored[link])
            if self._placed(group):
                self._ahead |= self._in_order(group, items[self._taken].tolist(), stored)
                continue
            for name in self._names:
                self._came_in(group, name, stored[self.groups.link(name, group)])
        self._taken += 1
        for expects, came in zip(self._expects, self._came, strict=True):
            while expects and all(came.values()):
                item, blocks = expects.popleft(), {name: each.popleft() for name, each in came.items()}
                if item != FILL:
                    self._ahead[item] = blocks
        while self._next in self._ahead:
            self._take(self._ahead.pop(self._next))
            self._next += 1

    def _in_order(self, group: int, items: Sequence[int], stored: Blocks) -> dict[int, Blocks]:
        """The results of a round's sub-tiles, which lie in their order."""
        split = {name: split_blocks(stored[self.groups.link(name, group)], name, self._sections[name], len(items))
                 for name in self._names}
        return {item: {name: split[name][at] for name in self._names} for at, item in enumerate(items) if item != FILL}

    def _came_in(self, group: int, name: str, words: np.ndarray) -> None:
        """Sort the blocks of a stream of the result by copies."""
        members = self.groups.groups[group]
        if not self.groups.shares(group):
            self._came[members[0]][name].append(words)
            return
        for block in split_blocks(words, name, 1 + self._sections[name], len(members)):
            assert block[0] == 1 and block[1] in members, f"a block of {name} says that it is of copy {block[1]}"
            self._came[int(block[1])][name].append(block[2:])

    def facts(self) -> Mapping[str, object]:
        """For the report."""
        groups = " + ".join(str(len(each)) for each in self.groups.groups)
        shares = any(map(self.groups.shares, range(len(self.groups.groups))))
        order = {"results": "placed by output addresses" if self.groups.placed else "ordered by the host"} if shares else {}
        return {"dispatch": self.how, "link_groups": groups, "rounds": len(self), **order,
                "balance": round(balance(self.loads), 3)}

    def bottleneck(self, cycles: int) -> str:
        """What keeps so many cycles from being fewer, in words: a link, or that copies are not even; else nothing, as it is in
        the copies then."""
        words = {**self.words, **self.stored}
        link = max(words, key=lambda name: words[name])
        share = words[link] / max(1, cycles)
        if share > BUSY:
            return f"links: {link} {'takes' if link in self.stored else 'brings'} {share:.2f} words a cycle"
        if (even := balance(self.loads)) < EVEN:
            return f"imbalance: the busiest copy has {1 / even:.2f} times as much to do as others on average"
        return ""


def _order(first: int, count: int, copies: Sequence[int]) -> np.ndarray:
    """The words of a round that bring the numbers of sub-tiles, from one on: a section of one word each, behind the number of a
    copy unless the array chooses."""
    numbers = np.arange(first, first + count) & 0xFFFF
    columns = [np.ones(count), numbers] if not len(copies) else [np.asarray(copies), np.ones(count), numbers]
    return np.column_stack(columns).astype(np.uint16).reshape(-1)


# A link that brings more words a cycle is what a program waits for, and copies that are more even are not.
BUSY, EVEN = 0.8, 0.9
