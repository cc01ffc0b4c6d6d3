"""Fibers that a level above leaves out as empty ones in their place, cycle by cycle.

Source:  `Expander`.
"""

from __future__ import annotations

from .stage import DONE, NONE, STOP


class TimedExpander:
    """show() says what it gives in a cycle, end() does the cycle."""

    def __init__(self, extent: int, zeros: int) -> None:
        """extent: of the level above. zeros: elements of a fiber that there is not."""
        self._extent, self._zeros = extent, zeros
        self._expected = self._at = 0
        self._missing = self._ends = False
        self.head: int | None = None

    def show(self, above: int | None, inside: int | None) -> None:
        """What it gives of the first coordinate above, and of the first token of the fiber that there is."""
        self.head = None
        if above is None:
            return
        self._missing = self._expected != self._extent and (above == STOP or above > self._expected)
        if self._missing:
            self._ends = self._at == self._zeros
            self.head = STOP if self._ends else NONE
        elif inside is not None and above != STOP:
            self._ends = inside < 0
            self.head = DONE if above == DONE else STOP if self._ends else inside

    def end(self, above: int | None, takes: bool) -> tuple[bool, bool]:
        """Do the cycle. takes: `head` is taken. Whether it takes what is above, and what is inside."""
        if above == STOP and self._expected == self._extent:
            self._expected = 0
            return True, False
        taken = takes and not self._missing
        if takes and above != DONE:
            self._at = 0 if self._ends or taken else self._at + 1
            self._expected += self._ends
        return taken and self._ends, taken
