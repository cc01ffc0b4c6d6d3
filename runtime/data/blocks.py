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
