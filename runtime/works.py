"""Transactions as launches count them: what reads their words, the room that streams take, a bound of their cycles.

Needs:   transactions of a program, the place of its streams.
Gives:   `Work`.
Errors:  UserError for a stream that does not fit its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice

import numpy as np

from ..compiler.ir.program import Program
from ..compiler.ir.transfer import Transfer, check_room
from ..hw.arch.errors import UserError
from ..hw.arch.glb import LANES
from ..hw.arch.soc import NUMBER_BITS, ROOM_BITS
from .batches import LAUNCH_LIMIT, Work
from .data.load_loops import Reads, in_order
from .data.lying import Lying, LyingBlock
from .data.tile import Source, Tile
from .place import Place

# Cycles that a word of an operand may take in every combination with words of the others: a token passes in one, and a
# combination shows as a few tokens at each level.
CYCLES_PER_WORD = 16

# Words of every load stream: of an elastic program as they are, or in an operand; of a static one with the loops that read
# them, or in an image. A `Tile` says of store streams, too, where they belong.
Transaction = Mapping[str, np.ndarray | Source]

def kept(works: Iterator[Work]) -> tuple[Iterator[Work], Mapping[str, Lying]]:
    """Transactions, and by stream the operands that are to lie in the global buffer: those of the first one."""
    first = [*islice(works, 1)]
    return chain(first, works), {name: found.operand for work in first for name, found in work.reads.items()
                                 if isinstance(found, LyingBlock)}


def elastic_work(program: Program, place: Place, transaction: Transaction, most: Mapping[str, int]) -> Work:
    """A transaction of an elastic program; UserError for a stream that does not fit."""
    reads = {each.name: _block(transaction, each, place) for each in program.loads}
    room = {name: LANES if isinstance(each, LyingBlock) else each.size for name, each in reads.items()} | dict(most)
    for each in program.stores:
        if each.blocks:
            # Two launches have different numbers, however much room there is.
            room[each.name] = max(room[each.name], each.blocks * (-(-each.room // (1 << NUMBER_BITS - 1))))
            if room[each.name] // each.blocks >= 1 << ROOM_BITS:
                raise UserError(f"a block of stream {each.name} may have {room[each.name] // each.blocks:,} words, and a store "
                                f"places blocks of {(1 << ROOM_BITS) - 1:,} at most",
                                fix="use a smaller tile (--tile or tile=)")
    for each in program.transfers:
        check_room(f"a block of stream {each.name} takes {room[each.name]} words", room[each.name], each)
    return Work(reads, room, most_cycles(program, {name: each.count for name, each in reads.items()}), {})


def most_cycles(program: Program, words: Mapping[str, int]) -> int:
    """A bound of the cycles that a transaction of an elastic program may take, far above those of any correct one.

    words: of each of its load streams. What happens for an element of the iteration space is bounded by a constant, and that
    space is no larger than the product of the operands' words: every index belongs to some operand, and a dense level has as
    many values as it counts.
    """
    orders = {each.order for each in program.stores}
    loads = [each for each in program.loads if each.name not in orders]
    operands = sum(each.sections == 1 for each in loads)
    return CYCLES_PER_WORD * sum(1 + words[each.name] for each in loads) ** operands


def stays(operand: Lying, each: Transfer, place: Place) -> bool:
    """Whether an operand lies in the banks of its stream; place: of all launches (`everywhere`)."""
    return place.glb.listed and operand.fits(place.whole(each), place.glb.load_loops)


def _block(transaction: Transaction, each: Transfer, place: Place) -> Reads | LyingBlock:
    """The block of a stream: as words, or of an operand that lies in the global buffer, where that has room for it."""
    found = transaction[each.name]
    if isinstance(found, LyingBlock):
        return found if stays(found.operand, each, place) else found.apart
    assert isinstance(found, np.ndarray), "blocks are read as they are"
    return in_order(found)


def static_work(program: Program, transaction: Transaction) -> Work:
    """A transaction of a static program; UserError for a stream that does not fit."""
    reads: dict[str, Source] = {}
    for each in program.loads:
        found = transaction[each.name]
        assert not isinstance(found, np.ndarray), "a static stream comes with the loops that read it"
        assert found.count == each.count, f"stream {each.name} reads {found.count} words, the program takes {each.count}"
        check_room(f"stream {each.name} takes {found.size} words a tile", found.size, each)
        reads[each.name] = found
    for each in program.stores:
        check_room(f"stream {each.name} takes {each.count} words a tile", each.count, each)
    room = {name: each.size for name, each in reads.items()} | {each.name: each.count for each in program.stores}
    # Its loops end, and the watchdog sees when nothing comes any more.
    return Work(reads, room, LAUNCH_LIMIT, transaction.results if isinstance(transaction, Tile) else {})
