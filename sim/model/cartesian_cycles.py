"""When an array of Cartesian products takes and gives words, cycle by cycle, where nothing outside ever waits.

Values play no part: how long vectors take is decided by the places of their elements. Cycles are those of the Verilog.

Input:   Cartesian, the words of its input streams.
Output:  the cycles from reset to the last sum.
Cost:    20 us a cycle for 16 PEs.
Source:  SCNN IV; `hw.spatial.convolve` says when each part does what.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...hw.arch.cartesian import LEFT, RIGHT, Cartesian


class Vector(NamedTuple):
    """The places of the elements of a vector, None for one that is not there; whether it is the last one of its fiber, and of
    all."""

    places: tuple[int | None, ...]
    last: bool
    end: bool


class _Held:
    """`hw.spatial.convolve.replay`: groups of vectors, of which one is given."""

    def __init__(self, vectors: Sequence[Vector], count: int) -> None:
        self._coming = deque(vectors)
        self._groups: list[list[Vector]] = [[] for _ in range(count)]
        self._full = [False] * count
        self._filling = self._giving = self._at = 0
        self.there: Vector | None = None

    def step(self, taken: bool, free: bool) -> None:
        """A cycle: whether the vector that is there is taken, and its group let go with its last one."""
        full, ends = (*self._full,), self.there is not None and self.there.last
        lets = taken and ends and free
        half, place = (self._giving + lets) % len(full), 0 if ends else self._at
        reads = full[half] and (self.there is None or taken)
        if self._coming and not full[self._filling]:
            self._groups[self._filling].append(vector := self._coming.popleft())
            if vector.last:
                self._full[self._filling] = True
                self._filling = (self._filling + 1) % len(full)
        if reads:
            self.there, self._at = self._groups[half][place], place + 1
        elif taken:
            self.there, self._at = None, 0 if ends else self._at
        if lets:
            self._full[self._giving] = False
            self._groups[self._giving].clear()
            self._giving = (self._giving + 1) % len(full)


class _Queues:
    """The FIFOs of products in front of the banks, and whose turn it is."""

    def __init__(self, kind: Cartesian) -> None:
        self._kind, self._count = kind, kind.left * kind.right
        self._queues = [[deque[int]() for _ in range(kind.lanes)] for _ in range(self._count)]
        self._behind = 0

    @property
    def empty(self) -> bool:
        return not any(queue for each in self._queues for queue in each)

    def room(self, banks: Sequence[int | None]) -> bool:
        """For a product of each PE, or none, by its bank."""
        return all(bank is None or len(queues[bank % self._kind.lanes]) < self._kind.depth
                   for queues, bank in zip(self._queues, banks))

    def step(self, banks: Sequence[int | None]) -> None:
        """A cycle: each bank takes a product of the PEs that have one for it, and those of `banks` come."""
        asks: dict[int, list[int]] = {}
        for n, queues in enumerate(self._queues):
            for queue in queues:
                if queue:
                    asks.setdefault(queue[0], []).append(n)
        for bank, found in asks.items():
            first = next((n for n in found if n >= self._behind - 1), found[0])
            self._queues[first][bank % self._kind.lanes].popleft()
        for queues, to in zip(self._queues, banks):
            if to is not None:
                queues[to % self._kind.lanes].append(to)
        # Whose turn it is first: of none, of all, then of those behind the first one, the second one, ...
        self._behind = (self._behind + 1) % (self._count + 1)


def cycles(kind: Cartesian, inputs: Mapping[str, Sequence[int]]) -> int:
    """From the first cycle behind reset to that of the last sum, both included."""
    lefts = deque(_vectors(kind, inputs, LEFT, kind.left, kind.left_bits))
    held = _Held(_vectors(kind, inputs, RIGHT, kind.right, kind.right_bits), kind.fibers)
    queues = _Queues(kind)
    busy_until = kind.words         # banks are set to 0, and then leave
    cycle, pending, closing, waited = -1, list[int | None](), False, False
    # Cycles without a step: vectors are held, products leave their FIFOs, and the sums before leave theirs.
    patience = 8 + 2 * kind.words + sum(map(len, inputs.values())) + kind.left * kind.right * kind.lanes * kind.depth
    stepped = 0
    while lefts or pending or closing:
        cycle += 1
        assert cycle - stepped < patience, "each fiber on the left has one on the right, whose last vector ends it"
        moves = bool(pending) and queues.room(pending)
        left = lefts[0] if lefts else None
        steps = (left is not None and held.there is not None and not closing and cycle > kind.words and (not pending or moves))
        quiet = closing and not pending and queues.empty
        flip = quiet and waited and cycle >= busy_until
        queues.step(pending if moves else ())
        if moves:
            pending = []
        free = left is not None and left.last
        right = held.there
        held.step(steps, free)
        if steps and left is not None and right is not None:
            stepped = cycle
            pending = [None if a is None or b is None else (a + b) % kind.banks for a in left.places for b in right.places]
            if right.last:
                lefts.popleft()
                closing = left.last and left.end
        waited = quiet and not flip
        if flip:
            closing = False
            busy_until = cycle + kind.words + 2
    return busy_until


def _vectors(kind: Cartesian, inputs: Mapping[str, Sequence[int]], side: str, size: int, bits: int) -> list[Vector]:
    marks = bits + kind.place_bits
    return [Vector(tuple(word >> bits & kind.places - 1 if word >> marks & 1 else None for word in words),
                   bool(words[0] >> marks + 2 & 1), bool(words[0] >> marks + 1 & 1))
            for words in zip(*(inputs[f"{side}{n}"] for n in range(size)), strict=True)]
