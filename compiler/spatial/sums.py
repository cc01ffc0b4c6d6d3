"""Buffers of words in an order that values say: sums that words find by their places, and fibers that are held.

Source: SCNN IV-B (accumulator banks behind a crossbar), III-B (weights stay while activations pass).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ...hw.arch.cartesian import MOST_BANKS, MOST_DEPTH, MOST_FIBERS, MOST_STORED, MOST_WORDS
from ...hw.arch.check import PowerOfTwo, Whole, check


@dataclass(frozen=True)
class Sums:
    """The buffer of a result to which points add, in any order: sums leave while the next ones grow.

    Parameters
    ----------
    banks, words : int    Place p is in bank p modulo `banks`, each of so many sums, and adds one word a cycle.
    lanes, depth : int    FIFOs of each word's way to the banks, one for each rest of the bank, and their entries.
    """

    banks: Annotated[int, PowerOfTwo(2, MOST_BANKS)] = 32
    words: Annotated[int, PowerOfTwo(2, MOST_WORDS)] = 64
    lanes: Annotated[int, PowerOfTwo(1, MOST_BANKS)] = 2
    depth: Annotated[int, Whole(1, MOST_DEPTH)] = 4

    def __post_init__(self) -> None:
        check(self, "sums")


@dataclass(frozen=True)
class Held:
    """The buffer of an operand whose fiber is read again for each vector of the other one; the next fiber enters meanwhile.

    vectors : int         Of a fiber, at most, a power of two.
    fibers : int          That are held at once, so that one that is short, or is read once, does not wait for what comes.
    """

    vectors: Annotated[int, PowerOfTwo(2, MOST_STORED)] = 64
    fibers: Annotated[int, Whole(2, MOST_FIBERS)] = 2

    def __post_init__(self) -> None:
        check(self, "held")


def times(count: int) -> str:
    """How often something is there, in words."""
    return "twice" if count == 2 else f"{count} times"
