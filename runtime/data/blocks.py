"""Blocks: the words of an elastic stream, section by section, each a length and as many words."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

# By the name of the stream: `B0`, `B_vals`, `X0`.
Blocks = dict[str, np.ndarray]


class Bounded(Blocks):
    """Blocks of load streams, and a function for the most words of each store stream, which is asked where it counts only."""

    def __init__(self, blocks: Mapping[str, np.ndarray], bounds: Callable[[], Mapping[str, int]]) -> None:
        super().__init__(blocks)
        self.bounds = bounds


def split_blocks(words: np.ndarray, name: str, sections: int, count: int) -> list[np.ndarray]:
    """The blocks of `count` transactions in what a stream stored; lengths in the words say where each ends."""
    blocks, at = [], 0
    for _ in range(count):
        begin = at
        for _ in range(sections):
            at += 1 + int(words[at])
        blocks.append(words[begin:at])
    assert at == len(words), f"stream {name} stored {len(words)} words, its lengths say {at}"
    return blocks


def without_segments(block: np.ndarray) -> np.ndarray:
    """The block of a level of one fiber as it is stored: ``2 0 3 3 1 4 6`` is ``3 1 4 6``."""
    return block[3:]


def with_segments(block: np.ndarray) -> np.ndarray:
    """The block of a level of one fiber that is stored without segments."""
    return np.concatenate((np.array([2, 0, block[0]], block.dtype), block))


def by_number(words: np.ndarray, name: str, sections: int, count: int, first: int) -> np.ndarray:
    """Blocks that came in any order, each behind a section of one word, its number, in the order of their numbers.

    first: the number of the first of `count` blocks, modulo 2^16.
    """
    found = {(int(block[1]) - first) & 0xFFFF: block[2:] for block in split_blocks(words, name, 1 + sections, count)}
    assert sorted(found) == [*range(count)], f"blocks of {name} have other numbers than those of their sub-tiles"
    return np.concatenate([found[number] for number in range(count)])


def out_of_slots(words: np.ndarray, sections: int, count: int) -> np.ndarray:
    """Blocks that a store has placed in so many slots of one size, one behind the other."""
    found = []
    for slot in words.reshape(count, -1):
        end = 0
        for _ in range(sections):
            end += 1 + int(slot[end])
        found.append(slot[:end])
    return np.concatenate(found)
