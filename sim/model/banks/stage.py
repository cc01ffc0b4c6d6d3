"""What the stages of a bank have in common, cycle by cycle: tokens in, tokens out, of which the time alone is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..queue import Pair

# Tokens: a place, or one of these.
STOP, DONE, NONE = -1, -2, -3


class Sink(Protocol):
    """Where pairs go."""

    def offer(self, pair: Pair) -> bool:
        """Whether it takes a pair in this cycle."""


class Stage(Protocol):
    """A level, or values.

    In each cycle begin() comes first, which leaves what it gives in `head`; then what it is offered, once at most; then end().
    """

    head: int | None

    def begin(self) -> None:
        """What is decided from registers alone."""

    def offer(self, token: int) -> bool:
        """Whether it takes a token in this cycle."""

    def end(self, takes: bool) -> None:
        """Do the cycle. takes: `head` is taken."""


def blocks(words: Sequence[int], arrays: int) -> list[list[Sequence[int]]]:
    """The arrays of each tensor, of which each has as many behind their lengths."""
    found, at = list[list[Sequence[int]]](), 0
    while at < len(words):
        found.append([])
        for _ in range(arrays):
            found[-1].append(words[at + 1:at + 1 + words[at]])
            at += 1 + words[at]
    return found
