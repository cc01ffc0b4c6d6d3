"""The balance of an elastic array step by step: which row takes which item, and whose words or fibers PEs give."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ...hw.arch.elastic import AGE_BITS, AHEAD, IN_FLIGHT, Balance
from ...hw.arch.logic import OPERATIONS, wrapped
from ...hw.arch.token import is_control

# Whether an item stays, ``f``, or may move, ``m``, and its row.
Item = tuple[str, int]
# A row, and which of its results.
End = tuple[int, int]


class Queue(Protocol):
    """A FIFO in a step."""

    head: Any
    room: bool
    given: Any
    takes: bool


class Balanced:
    """A `Balance`; `pair` makes what queues hold. `chose`: in its last step rows took items, which no queue shows."""

    def __init__(self, kind: Balance, ins: Mapping[str, Queue], outs: Mapping[str, Queue], pair: Any) -> None:
        self._kind, self._ins, self._outs, self._pair = kind, ins, outs, pair
        self._meaning = OPERATIONS[kind.reduction].meaning
        self.chose = False
        self._rows, self._lanes = range(len(kind.takers)), len(kind.lanes)
        self._begun: dict[Item, int] = {(side, row): 0 for side in "fm" for row in self._rows}
        self._turn: list[Item | None] = [None for _ in self._rows]
        self._over: list[set[str]] = [set() for _ in self._rows]
        # Of each row's words the sides that have them.
        self._went: dict[str, set[str]] = {f"w{row}_{n}": set() for row in self._rows for n in range(len(kind.words))}
        # Of fibers: operations of which all items are begun.
        self._over_with = 0
        ends = [(row, nth) for row in self._rows for nth in range(kind.results)]
        self._turns: dict[End, deque[Item]] = {end: deque() for end in ends}
        self._order: dict[End, deque[int]] = {end: deque() for end in ends}
        self._words: dict[tuple[str, int, int], deque[int]] = {(side, *end): deque() for side in "fm" for end in ends}

    def step(self) -> None:
        room = {row: all(len(self._turns[row, nth]) < IN_FLIGHT for nth in range(self._kind.results)) for row in self._rows}
        all_begun = self._kind.fibers and all(count > self._over_with for count in self._begun.values())
        there = {item: self._is_there(item, all_begun) for item in self._begun}
        # Of this step's beginning, as registers show it.
        shown = {end: queue[0] if queue else None for end, queue in self._turns.items()}
        next_of = {end: queue[0] if queue else None for end, queue in self._order.items()}
        fits = {end: len(queue) < IN_FLIGHT for end, queue in self._words.items()}
        sums = [end for end in self._turns if all(self._words[side, end[0], end[1]] for side in "fm")]
        doing = [*self._turn]
        free = self._pass()
        self.chose = False
        # A row whose item that stays is over in this step waits for the next one, if that is of the operation to be begun.
        waits = {row for row in self._rows if self._kind.fibers and doing[row] == ("f", row)
                 and self._is_early(("f", row), all_begun)}
        wants = {row: item for row in self._rows if free[row] and room[row] and row not in waits
                 and (item := self._oldest(row, there)) is not None}
        for row, item in wants.items():
            side, of = item
            takers = self._kind.takers[of]
            if side == "m" and any(wants.get(by) == item for by in takers[:takers.index(row)]):
                continue
            self._turn[row], self.chose = item, True
            self._begun[item] += 1
            for nth in range(self._kind.results):
                self._turns[row, nth].append(item)
                if side == "m":
                    self._order[of, nth].append(row)
        self._over_with += all_begun
        if self._kind.fibers:
            self._lead(shown, next_of)
        else:
            self._add(shown, next_of, fits, sums)

    def _lead(self, shown: Mapping[End, Item | None], next_of: Mapping[End, int | None]) -> None:
        """Lead fibers that PEs give to the port of their row and side."""
        for (row, nth), turn in shown.items():
            result = self._ins[f"p{row}_{nth}"]
            if result.head is None or turn is None or (turn[0] == "m" and next_of[turn[1], nth] != row):
                continue
            out = self._outs[f"{'c' if turn[0] == 'f' else 'd'}{turn[1]}_{nth}"]
            if not out.room:
                continue
            out.given, result.takes = result.head, True
            if is_control(result.head.crd):
                self._turns[row, nth].popleft()
                if turn[0] == "m":
                    self._order[turn[1], nth].popleft()

    def _add(self, shown: Mapping[End, Item | None], next_of: Mapping[End, int | None],
             fits: Mapping[tuple[str, int, int], bool], sums: Sequence[End]) -> None:
        """Lead words that PEs give to their row, and make one of two."""
        for (row, nth), queue in ((end, self._outs[f"c{end[0]}_{end[1]}"]) for end in sums):
            if queue.room:
                total = self._meaning(self._words["f", row, nth].popleft(), self._words["m", row, nth].popleft())
                queue.given = self._pair(0, wrapped(total, self._kind.bits))
        for (row, nth), turn in shown.items():
            result = self._ins[f"p{row}_{nth}"]
            if result.head is None or turn is None or not fits[turn[0], turn[1], nth]:
                continue
            side, of = turn
            if side == "m":
                if next_of[of, nth] != row:
                    continue
                self._order[of, nth].popleft()
            self._words[side, of, nth].append(result.head.value)
            self._turns[row, nth].popleft()
            result.takes = True

    def _is_there(self, item: Item, all_begun: bool) -> bool:
        side, row = item
        orders = side == "f" or all(len(self._order[row, nth]) < IN_FLIGHT for nth in range(self._kind.results))
        words = all(self._ins[name].head is not None and side not in self._went[name] for name in self._words_of(row))
        return (self._ins[f"{side}{row}_0"].head is not None and item not in self._turn and orders and words
                and self._is_early(item, all_begun))

    def _is_early(self, item: Item, all_begun: bool) -> bool:
        """Whether an item is of no operation too far from those of others."""
        side, row = item
        if self._kind.fibers:
            return all_begun or self._begun[item] == self._over_with
        return self._begun[item] - self._begun["m" if side == "f" else "f", row] != AHEAD

    def _words_of(self, row: int) -> list[str]:
        return [f"w{row}_{n}" for n in range(len(self._kind.words))]

    def _pass(self) -> list[bool]:
        """Lead fibers and words on; which rows are free after that."""
        for row in self._rows:
            turn = self._turn[row]
            if turn is None:
                continue
            side, of = turn
            sources = [*(f"{side}{of}_{lane}" for lane in range(self._lanes)), *self._words_of(of)]
            for lane, name in enumerate(sources):
                source, sink = self._ins[name], self._outs[f"o{row}_{lane}"]
                if name in self._over[row] or source.head is None or not sink.room or side in self._went.get(name, ()):
                    continue
                sink.given = source.head
                if name in self._went:
                    self._went[name].add(side)
                else:
                    source.takes = True
                if name in self._went or is_control(source.head.crd):
                    self._over[row].add(name)
            if len(self._over[row]) == len(sources):
                self._turn[row] = None
                self._over[row].clear()
        for name, sides in self._went.items():
            if len(sides) == 2:
                self._ins[name].takes = True
                sides.clear()
        return [turn is None for turn in self._turn]

    def _oldest(self, row: int, there: Mapping[Item, bool]) -> Item | None:
        """What a row takes."""
        best = None
        for item in self._kind.choices(row):
            apart = 0 if best is None else (self._begun[item] - self._begun[best]) % (1 << AGE_BITS)
            if there[item] and (best is None or apart >> AGE_BITS - 1):
                best = item
        return best
