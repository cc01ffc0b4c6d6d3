"""Blocks in a stream of words: sections, each a length and as many words."""

from __future__ import annotations

from collections.abc import Iterator

from .process import Event, Give, Queue


def move_block(words: Queue, out: Give, sections: int) -> Iterator[Event]:
    """Give the words of a block, one a cycle."""
    for _ in range(sections):
        left = 0
        for at in range(1 << 16):
            while not words:
                yield words
            word = words.popleft()
            left = word if at == 0 else left - 1
            out(word)
            yield None
            if left == 0:
                break
