"""A bank of a private buffer cycle by cycle: its request, its level, its values, and the ports that get what it gives.

What it gives is known; here is when. Each stage is one of `hw/spatial/buffer/private_buffer.py`, with as much room.

Input:   a `Bank`, the words that fill it, and for each port a `Sink` and the pairs that go there.
Cost:    6 us a cycle, 10 with a level.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from ....hw.arch.chain import ChainedBank
from ....hw.arch.private_buffer import BITVECTOR, COMPRESSED, FIBER, LANES, Bank
from ....hw.arch.requested import requested
from ....hw.spatial.buffer.private_buffer import AHEAD
from ..queue import Pair, Queue, turn
from .bits import BitScan
from .chain import TimedChain
from .lists import ListScan
from .stage import DONE, STOP, Sink, Stage, blocks
from .stored_level import StoredLevel


class TimedBank:
    """A bank that walks its request."""

    def __init__(self, bank: Bank, fills: Mapping[str, Sequence[int]], sinks: Sequence[Sink],
                 pairs: Sequence[Sequence[Pair]]) -> None:
        self._bank, self._sinks, self._pairs = bank, sinks, [deque(each) for each in pairs]
        self._left = sum(map(len, self._pairs))
        self._values = StoredLevel(bank.lines, LANES, fills["values"], True)
        self._level = self._scanned(fills) if bank.is_scanned else None
        # Of fibers whose zeros are left out as they are read, the values of each tensor.
        is_sifted = isinstance(bank, ChainedBank) and bank.sifted
        self._sifted = [array for array, in blocks(fills["values"], 1)] if is_sifted else []
        self._tensor = 0
        # Coordinates in front of the ports, references in front of the values.
        self._ahead, self._refs = deque[int](), deque[int]()
        self._given = [False, False]        # of the token of a level: to whom
        self._skews = [Queue(bank.depth) for _ in sinks] if bank.depth > 2 and not bank.dealt else []
        self._fibers = bank.form == FIBER
        self._turns = self._order()
        self._turn = 0
        self._begun = False

    @property
    def is_over(self) -> bool:
        """Whether all that it has for ports has gone there."""
        return not self._left and not any(each.pairs for each in self._skews)

    def begin(self) -> None:
        """What is decided from registers alone."""
        self._values.begin()
        if self._level is not None:
            self._level.begin()

    def shows(self, at: int) -> Pair | None:
        """The pair that it offers to a sink in this cycle."""
        if self._skews:
            return self._skews[at].head
        return self._pairs[at][0] if at == self._dealt() else None

    def step(self) -> None:
        """Do a cycle, in which sinks are offered what is for them."""
        values, level, refs = self._values, self._level, self._refs
        for skew, sink in zip(self._skews, self._sinks):
            skew.takes = skew.head is not None and sink.offer(skew.head)
        takes = self._drops() or self._deal()
        self._tensor += takes and values.head == DONE
        has_room = len(refs) < 2
        if refs and values.offer(refs[0]):
            refs.popleft()
        asks = self._asks() if self._begun else None
        if level is not None:
            is_ahead = len(self._ahead) < AHEAD
            if takes:
                self._ahead.popleft()
            asked = asks is not None and level.offer(asks)
            level.end(self._scan(level.head, has_room, is_ahead))
        else:
            asked = asks is not None and has_room
            if asks is not None and has_room:
                refs.append(asks)
        values.end(takes)
        self._advance(asked)
        turn(self._skews)
        self._begun = True

    def _scanned(self, fills: Mapping[str, Sequence[int]]) -> Stage:
        """The level."""
        bank = self._bank
        if isinstance(bank, ChainedBank):
            return TimedChain(bank, fills)
        words = fills[bank.streams[0]]
        if bank.kind == COMPRESSED:
            return StoredLevel(2 * bank.lines, LANES, words, False)     # half of it for segments, half for coordinates
        return BitScan(bank.lines, bank.fibers, words) if bank.kind == BITVECTOR else ListScan(bank.node, words)

    def _order(self) -> list[int]:
        """The ports whose turn it is in an operation; and what is asked for in all those that a tensor serves."""
        bank = self._bank
        steps = list(requested(bank))
        loop = bank.loops[0] if bank.is_along else None
        one = [token for place, _ in steps for token in (
            (*(place + n * loop.stride for n in range(loop.extent)), STOP) if loop else (place,))]
        if isinstance(bank, ChainedBank):
            one = [*range(bank.links[0].fibers)]
        self._request, self._asked = [*one * bank.operations, DONE], 0
        return [sink for _, sink in steps]

    def _asks(self) -> int | None:
        """What is asked for in this cycle."""
        return self._request[self._asked]

    def _advance(self, asked: bool) -> None:
        """The end of a cycle. asked: what is asked for was taken."""
        self._asked = (self._asked + asked) % len(self._request)

    def _scan(self, head: int | None, has_room: bool, is_ahead: bool) -> bool:
        """Give what a level gives as a coordinate and as a reference; whether both are taken."""
        if head is None:
            return False
        for nth, (queue, room) in enumerate(((self._ahead, is_ahead), (self._refs, has_room))):
            if room and not self._given[nth]:
                queue.append(head)
                self._given[nth] = True
        ends = all(self._given)
        if ends:
            self._given = [False, False]
        return ends

    def _dealt(self) -> int | None:
        """To which port the value that is there goes, if one is."""
        head = self._values.head
        if head is None or head == DONE or not self._begun or (self._level is not None and not self._ahead) or self._drops():
            return None
        return self._turns[self._turn]

    def _drops(self) -> bool:
        """Whether the value that is there is a zero that no port gets."""
        head = self._values.head
        if not self._sifted or head is None or head < 0 or not self._begun or not self._ahead:
            return False
        return not self._sifted[self._tensor][head] % (1 << self._bank.bits)

    def _deal(self) -> bool:
        """Give the value that is there to the port whose turn it is; whether it goes."""
        head, at = self._values.head, self._dealt()
        if at is None:
            return head == DONE and self._begun and (self._level is None or bool(self._ahead))
        sink: Sink = self._skews[at] if self._skews else self._sinks[at]
        if not sink.offer(self._pairs[at][0]):
            return False
        self._pairs[at].popleft()
        self._left -= 1
        if head == STOP or not self._fibers:
            self._turn = (self._turn + 1) % len(self._turns)
        return True
