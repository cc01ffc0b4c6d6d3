"""A bank that deals the elements of a fiber, each to a port of its own, cycle by cycle.

Source:  `PrivateBank`, where it deals apart.
"""

from __future__ import annotations

from .bank import TimedBank
from .stage import DONE, STOP


class TimedDealt(TimedBank):
    """Ports that are left get ``N`` while the end of a fiber waits."""

    _place = 0      # elements of this fiber that have a port

    def _dealt(self) -> int | None:
        at = super()._dealt()
        return None if at is None or self._place == self._bank.dealt else at + self._place

    def _deal(self) -> bool:
        head, at = self._values.head, self._dealt()
        if head is None or not self._begun or not self._ahead:
            return False
        if head == DONE:
            return True
        if at is None:
            assert head == STOP, "a fiber has no more elements than ports"
            self._place, self._turn = 0, (self._turn + 1) % len(self._turns)
            return True
        if not self._sinks[at].offer(self._pairs[at][0]):
            return False
        self._pairs[at].popleft()
        self._left -= 1
        self._place += 1
        return head != STOP
