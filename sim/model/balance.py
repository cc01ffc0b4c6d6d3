"""The balance of an elastic array step by step: which row takes which item, and whose words PEs give."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Protocol

from ...hw.arch.elastic import AGE_BITS, AHEAD, IN_FLIGHT, Balance
from ...hw.arch.logic import OPERATIONS, wrapped
from ...hw.arch.token import is_control

# Whether an item stays, ``f``, or may move, ``m``, and its row.
Item = tuple[str, int]


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
        self._rows, self._lanes = range(len(kind.takers)), range(len(kind.lanes))
        self._begun: dict[Item, int] = {(side, row): 0 for side in "fm" for row in self._rows}
        self._turn: list[Item | None] = [None for _ in self._rows]
        self._over: list[set[int]] = [set() for _ in self._rows]
        ends = [(row, nth) for row in self._rows for nth in range(kind.results)]
        self._turns: dict[tuple[int, int], deque[Item]] = {end: deque() for end in ends}
        self._order: dict[tuple[int, int], deque[int]] = {end: deque() for end in ends}
        self._words: dict[tuple[str, int, int], deque[int]] = {(side, *end): deque() for side in "fm" for end in ends}

    def step(self) -> None:
        room = {row: all(len(self._turns[row, nth]) < IN_FLIGHT for nth in range(self._kind.results)) for row in self._rows}
        there = {item: self._is_there(item) for item in self._begun}
        # Of this step's beginning, as registers show it.
        shown = {end: queue[0] if queue else None for end, queue in self._turns.items()}
        next_of = {end: queue[0] if queue else None for end, queue in self._order.items()}
        fits = {end: len(queue) < IN_FLIGHT for end, queue in self._words.items()}
        sums = [end for end in self._turns if all(self._words[side, end[0], end[1]] for side in "fm")]
        free = self._pass()
        self.chose = False
        wants = {row: item for row in self._rows if free[row] and room[row] and (item := self._oldest(row, there)) is not None}
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

    def _is_there(self, item: Item) -> bool:
        side, row = item
        other = self._begun["m" if side == "f" else "f", row]
        orders = side == "f" or all(len(self._order[row, nth]) < IN_FLIGHT for nth in range(self._kind.results))
        return (self._ins[f"{side}{row}_0"].head is not None and item not in self._turn and orders
                and self._begun[item] - other != AHEAD)

    def _pass(self) -> list[bool]:
        """Lead fibers on; which rows are free after that."""
        for row in self._rows:
            turn = self._turn[row]
            if turn is None:
                continue
            for lane in self._lanes:
                source, sink = self._ins[f"{turn[0]}{turn[1]}_{lane}"], self._outs[f"o{row}_{lane}"]
                if lane not in self._over[row] and source.head is not None and sink.room:
                    sink.given, source.takes = source.head, True
                    if is_control(source.head.crd):
                        self._over[row].add(lane)
            if len(self._over[row]) == len(self._lanes):
                self._turn[row] = None
                self._over[row].clear()
        return [turn is None for turn in self._turn]

    def _oldest(self, row: int, there: Mapping[Item, bool]) -> Item | None:
        """What a row takes."""
        best = None
        for item in self._kind.choices(row):
            apart = 0 if best is None else (self._begun[item] - self._begun[best]) % (1 << AGE_BITS)
            if there[item] and (best is None or apart >> AGE_BITS - 1):
                best = item
        return best
