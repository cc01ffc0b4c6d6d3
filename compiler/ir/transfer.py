"""Transfers: the streams of a program as values, each with its place in the global buffer.

Loads take the first bank of a GLB tile and stores the last, so that the two never ask for one bank in one cycle: a static
stream could not wait for the other. Where a tile has one bank, stores take its second half.

    tile of two banks of 1024 bytes:   loads bank 0 from byte 0, 512 words;    stores bank 1 from byte 0, 512 words
    tile of one bank of 1024 bytes:    loads bank 0 from byte 0, 256 words;    stores bank 0 from byte 512, 256 words

With a ring (`Glb.ring`) the tiles of a stream are chained to those to the east of it, up to the next one that has streams or is
avoided: the one stream of a tile has all their banks, a load and a store half of them each.

    streams in tiles 0 and 3 of 4, ring 8:   chains of 3 tiles and of 1;   a load alone in tile 0: 6 banks, with a store: 3

What is kept of memories (`Glb.kept_bytes`) is at the end of each tile, and a store there has so much less. Then a chain is of
two tiles at most, and each stream has all of one but that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from ...hw.arch.cgra import Arch
from ...hw.arch.errors import UserError
from ...hw.arch.glb import Glb
from .mapped import STORE, Stream

WORD_BYTES = 2
# Launches of one run have the words of each stream in so many parts of its place in turn (`runtime/batches.py`).
PLACES = 4


class Region(NamedTuple):
    """Part of a GLB tile, or of a chain: its first bank, its first byte there, and the 16-bit words it has room for."""

    bank: int
    address: int
    room: int


def region(direction: str, glb: Glb, tiles: int = 1, alone: bool = False) -> Region:
    """Where the stream of a direction has its words, in a chain of so many tiles.

    alone: it has none of the other direction.
    """
    if tiles > 1 and glb.kept_bytes:
        last = direction == STORE and not alone
        return Region(glb.banks if last else 0, 0, glb.program_bytes // WORD_BYTES)
    if tiles > 1:
        banks = tiles * glb.banks
        mine = banks if alone else banks // 2
        return Region(banks - mine if direction == STORE else 0, 0, mine * glb.bank_bytes // WORD_BYTES)
    # A load that is alone has words in the last bank, too (`runtime/batches.py`).
    room = (glb.room_bytes if direction == STORE or alone else glb.stream_bytes) // WORD_BYTES
    if glb.banks > 1:
        return Region(glb.banks - 1 if direction == STORE else 0, 0, room)
    return Region(0, glb.stream_bytes if direction == STORE else 0, room)


@dataclass(frozen=True)
class Transfer:
    """A stream between banks of the global buffer and a column of the array.

    Parameters
    ----------
    name : str               ``B0``, ``C_vals``, ``photo``; unique in its program and direction.
    direction : str          ``load`` or ``store``, seen from the array.
    column : int
    bank, address : int      Its first bank in the GLB tile of the column, or in the chain, and its first byte in that bank.
    room : int               16-bit words that it may take from there on.
    sections : int           Of an elastic stream: sections a transaction, each a length and as many words.
    loops : tuple            Of a static stream: iterations and stride in words of every loop, innermost first, as the words
                             of a transaction follow each other. A load may be walked by other loops of as many words.
    blocks : int             Of a stream whose blocks have numbers: how many a transaction stores, of so many sections each; a
                             number stands in front of each, and they come in any order.
    order : str              The load stream that brings these numbers, the last word of a transaction the last one.
    tiles : int              GLB tiles of the chain that begins with that of the column; 1: there is none.
    """

    name: str
    direction: str
    column: int
    bank: int
    address: int
    room: int
    sections: int = 0
    loops: tuple[tuple[int, int], ...] = ()
    tiles: int = 1
    blocks: int = 0
    order: str = ""

    def __post_init__(self) -> None:
        assert bool(self.sections) != bool(self.loops), f"stream {self.name} is counted by its sections or by its loops"
        assert bool(self.blocks) == bool(self.order), f"blocks of {self.name} have numbers"

    @property
    def count(self) -> int:
        """Words of a transaction of a static stream."""
        assert self.loops, f"the words of {self.name} say how many they are"
        return math.prod(count for count, _ in self.loops)


def check_room(what: str, words: int, each: Transfer) -> None:
    """UserError if a stream has no room for so many words."""
    if words > each.room:
        place = "a bank" if each.tiles == 1 else f"its part of {each.tiles} chained tiles"
        raise UserError(f"{what} but {place} of the global buffer holds {each.room}",
                        fix="use a smaller tile (--tile or tile=)")


def held_words(each: Stream | Transfer, arch: Arch) -> int:
    """Words that a transaction of an elastic stream has at most, as its blocks come from level buffers or go there."""
    return max(1, each.blocks) * each.sections * (arch.mem.level_words + 1)


def places(streams: Sequence[tuple[str, int]], arch: Arch) -> list[tuple[int, Region]]:
    """The tiles of the chain of each stream, given by its direction and column, and where it has its words."""
    glb = arch.glb
    tiles = [column // glb.columns_per_tile for _, column in streams]
    begins = sorted({*tiles, *arch.avoid.glb, arch.glb_tiles})
    lengths = {tile: min(glb.longest_chain, after - tile) for tile, after in pairwise(begins)}
    return [(lengths[tile], region(direction, glb, lengths[tile], tiles.count(tile) == 1))
            for (direction, _), tile in zip(streams, tiles)]


def placed(transfers: Sequence[Transfer], arch: Arch) -> bool:
    """Whether transfers are where `places` has streams of their columns.

    A chain may be shorter, as a program that avoids a tile of the global buffer is run where nothing is avoided.
    """
    if any(each.column not in range(arch.columns) for each in transfers):
        return False
    longest = places([(each.direction, each.column) for each in transfers], arch)
    lengths = {each.column // arch.glb.columns_per_tile: each.tiles for each in transfers}
    tiles = [each.column // arch.glb.columns_per_tile for each in transfers]
    return all(1 <= each.tiles <= most and each.tiles == lengths[tile] and
               (each.bank, each.address, each.room) == region(each.direction, arch.glb, each.tiles, tiles.count(tile) == 1)
               for each, tile, (most, _) in zip(transfers, tiles, longest, strict=True))


def transfers(streams: Sequence[tuple[Stream, int]], arch: Arch) -> tuple[Transfer, ...]:
    """The transfers of streams whose io blocks sit in these columns."""
    found = places([(stream.direction, column) for stream, column in streams], arch)
    return tuple(Transfer(stream.name, stream.direction, column, *place, stream.sections,
                          ((stream.count, 1),) if stream.count else (), tiles, stream.blocks, stream.order)
                 for (stream, column), (tiles, place) in zip(streams, found))
