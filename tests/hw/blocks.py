"""Blocks as lists of sections, and the words that stand for them: plain Python, for the primitives that lead them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fibers import words
from hypothesis import strategies as st

Block = list[list[int]]


def blocks(sections: int) -> st.SearchStrategy[Block]:
    """Blocks of so many sections, empty ones among them."""
    return st.lists(st.lists(words, max_size=4), min_size=sections, max_size=sections)


def written(block: Block) -> list[int]:
    """The words of a block."""
    return [word for section in block for word in (len(section), *section)]


def read(found: Sequence[int], sections: int) -> list[Block]:
    """The blocks that words are."""
    given, rest = [], iter(found)
    for length in rest:
        block = [[next(rest) for _ in range(length)]]
        block += [[next(rest) for _ in range(next(rest))] for _ in range(sections - 1)]
        given.append(block)
    return given


def joined(parts: Iterable[Iterable[int]]) -> list[int]:
    """All words, one part behind the other."""
    return [word for part in parts for word in part]
