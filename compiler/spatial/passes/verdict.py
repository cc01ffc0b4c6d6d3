"""What a pass made of the way from a buffer to the ports of an array, or why it left that as it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


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


def of_banks(said: Sequence[Sequence[Verdict]]) -> tuple[Verdict, ...]:
    """For each pass what it says of banks, one after the other; where that is not the same of all, with the banks."""
    lines = []
    for verdicts in zip(*said, strict=True):
        for each in dict.fromkeys(verdicts):
            whose = [str(bank) for bank, verdict in enumerate(verdicts) if verdict == each]
            named = f" (bank{'s' if len(whose) > 1 else ''} {', '.join(whose)})"
            lines.append(each if len(whose) == len(said) else replace(each, said=each.said + named))
    return tuple(lines)
