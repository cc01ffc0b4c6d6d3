"""What a pass made of the way from a buffer to the ports of an array, or why it left that as it was."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """name: of the pass.  applies: whether hardware is smaller by it.  said: what there is instead, or the reason."""

    name: str
    applies: bool
    said: str

    def __str__(self) -> str:
        return f"{'' if self.applies else 'no '}{self.name}: {self.said}"


def asked(name: str) -> Verdict:
    """Of a pass over an order, where elements are asked for."""
    return Verdict(name, False, "values say which element is next")


def many(count: int, what: str) -> str:
    """1 port, 2 ports."""
    return f"{count:,} {what}{'s' if count != 1 else ''}"
