"""Transfers: the streams of a program as values, each with its place in the global buffer.

Loads take the first bank of a GLB tile and stores the last, so that the two never ask for one bank in one cycle: a static
stream could not wait for the other. Where a tile has one bank, stores take its second half.

    tile of two banks of 1024 bytes:   loads bank 0 from byte 0, 512 words;    stores bank 1 from byte 0, 512 words
    tile of one bank of 1024 bytes:    loads bank 0 from byte 0, 256 words;    stores bank 0 from byte 512, 256 words
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from ...hw.arch.glb import Glb
from .mapped import STORE, Stream

WORD_BYTES = 2


class Region(NamedTuple):
    """Part of a GLB tile: its bank, its first byte in that bank, and the 16-bit words it has room for."""

    bank: int
    address: int
    room: int


def region(direction: str, glb: Glb) -> Region:
    """Where the stream of a direction has its words."""
    if glb.banks > 1:
        return Region(glb.banks - 1 if direction == STORE else 0, 0, glb.bank_bytes // WORD_BYTES)
    half = glb.bank_bytes // 2
    return Region(0, half if direction == STORE else 0, half // WORD_BYTES)


@dataclass(frozen=True)
class Transfer:
    """A stream between a bank of the global buffer and a column of the array.

    Parameters
    ----------
    name : str               ``B0``, ``C_vals``, ``photo``; unique in its program and direction.
    direction : str          ``load`` or ``store``, seen from the array.
    column : int
    bank, address : int      Its bank in the GLB tile of the column, and its first byte in that bank.
    room : int               16-bit words that it may take there.
    sections : int           Of an elastic stream: sections a transaction, each a length and as many words.
    loops : tuple            Of a static stream: iterations and stride in words of every loop, innermost first, as the words
                             of a transaction follow each other. A load may be walked by other loops of as many words.
    """

    name: str
    direction: str
    column: int
    bank: int
    address: int
    room: int
    sections: int = 0
    loops: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        assert bool(self.sections) != bool(self.loops), f"stream {self.name} is counted by its sections or by its loops"

    @property
    def count(self) -> int:
        """Words of a transaction of a static stream."""
        assert self.loops, f"the words of {self.name} say how many they are"
        return math.prod(count for count, _ in self.loops)


def transfer(stream: Stream, column: int, glb: Glb) -> Transfer:
    """The transfer of a stream whose io block sits in a column."""
    bank, address, room = region(stream.direction, glb)
    loops = ((stream.count, 1),) if stream.count else ()
    return Transfer(stream.name, stream.direction, column, bank, address, room, stream.sections, loops)
