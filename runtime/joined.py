"""The streams of a launch, from those of its transactions: one behind the other, or as they lie together.

Needs:   transactions as `Work`, the place of each stream.
Gives:   what its loads read and its stores write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from ..compiler.ir.transfer import WORD_BYTES, Transfer
from ..hw.arch.glb import Glb
from ..hw.arch.soc import NUMBER_BITS
from .batches import Work, joint
from .commands import WriteMemory
from .data.load_loops import Reads, repeated
from .data.lying import LyingBlock, listed
from .data.result import Writes, landed
from .data.tile import Source
from .place import Place
from .registers import Numbered, outermost


def brought(address: int, reads: Reads) -> Iterator[WriteMemory]:
    """The words of a stream, from a byte address on."""
    for begin, words, box in reads.pieces:
        yield WriteMemory(address + WORD_BYTES * begin, words, box)


def alike_together(writes: Iterable[WriteMemory]) -> tuple[WriteMemory, ...]:
    """The same, boxes of one form one behind the other, where firmware asks for several at once (`row_lines.py`)."""
    forms: dict[object, list[WriteMemory]] = {}
    for number, each in enumerate(writes):
        forms.setdefault((each.box.shape, each.box.pitch, each.box.image.shape) if each.box else number, []).append(each)
    return tuple(chain.from_iterable(forms.values()))


def in_turn(streams: Sequence[Source], glb: Glb, static: bool, room: int, base: int = 0) -> Reads:
    """The words of several transactions: the box of their windows, or one behind the other; static ones are walked by one more
    loop, the outermost one. Of operands that lie, at a byte of the GLB tile, a list."""
    if blocks := [each for each in streams if isinstance(each, LyingBlock)]:
        return listed(blocks, base)
    if found := joint(streams, room):
        first, step = found
    else:
        reads = [each.apart for each in streams]
        held = np.concatenate([each.memory for each in reads])
        if not static:
            return repeated(held, len(reads) if glb.load_loops > 1 else 1)
        first, step = Reads(held, reads[0].loops), reads[0].size
    return first if len(streams) == 1 else replace(first, loops=outermost(first.loops, glb.load_loops, len(streams), step))


def numbered_slots(each: Transfer, works: Sequence[Work]) -> Numbered:
    """How a launch stores blocks that have numbers: transactions are alike, and the last word of each says its last number."""
    rooms = {work.room[each.name] // each.blocks for work in works}
    assert len(rooms) == 1, "blocks of a stream have one room"
    last = works[0].reads[each.order]
    assert isinstance(last, Reads), "numbers come as they are"
    return Numbered(rooms.pop(), (int(last.memory[-1]) - each.blocks + 1) % (1 << NUMBER_BITS))


def stored(each: Transfer, works: Sequence[Work], place: Place, sliced: bool) -> Writes:
    """How a static stream of several transactions is stored: as it lies in its image, or one behind the other."""
    parts = [work.parts[each.name] for work in works if each.name in work.parts]
    found = landed(parts, place.glb.store_loops - sliced, place.room(each)) if parts else None
    return found or Writes(each.loops, each.count)
