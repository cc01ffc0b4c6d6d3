"""Lines of commands as C, and what the processor notes when it does them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from .pages import Line
from .report import Mark

# A note: of which chain of commands, and which of those.
Note = tuple[int, int]


@dataclass(frozen=True)
class Noted:
    """What the processor notes in all chains: marks with their notes of time and cycles, and counts."""

    marks: list[tuple[Mark, Note, Note | None]] = field(default_factory=list)
    counts: list[Note] = field(default_factory=list)


def line(command: str, words: int = 1, notes: int = 0, remark: str = "", behind: str = "", brings: int = 0,
         takes: int = 0, leads: int = 0, shape: str = "") -> Line:
    """A command of so many words; see `Line`. remark: a comment behind it."""
    text = f"    {command}{',' * bool(words)}{f'  /* {remark} */' * bool(remark)}"
    return Line(text, words, notes, behind, brings, takes, leads, shape)


def together(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Lines, those that stand behind something together in one list."""
    for behind, group in groupby(lines, lambda each: each.behind):
        some = list(group)
        yield from [some] if behind else ([each] for each in some)
