"""Where a bank gives fibers to several ports one after the other, each has a buffer in which one fiber has room.

A PE may wait for the last fiber while the first is under way, so that FIFOs of two would stand still. Applies where fibers of a
bank go to several ports; it saves the room for whole tensors. Words of launches never wait for later ones.

Words of an operation that is under way stand before those of the next one, of which a launch may need one: where words are
taken in more launches than operations are apart, ports have room for what waits meanwhile.

Errors:  UserError for fibers that are longer than such a buffer.
Source:  Stellar IV-D (triangular skew buffers).
"""

from __future__ import annotations

from ....hw.arch.errors import many
from ....hw.arch.private_buffer import FIBER, MOST_DEPTH
from ....hw.arch.token import TOKEN_BITS
from ..buffer import Stored
from ..taken import Taken
from .verdict import Verdict

NAME = "skew buffers"


def tried(stored: Stored, taken: Taken, ports: int, extent: int) -> tuple[int, Verdict]:
    """How many pairs wait in front of each of the ports of a bank, whose fibers have an extent."""
    if taken.form != FIBER and taken.waiting > 2 and not stored.buffer.wide:
        bits = taken.waiting * stored.tensor.bits
        return taken.waiting, Verdict(NAME, True, f"{ports} of {taken.waiting} words, {bits:,} bits each, "
                                                  "as operations overlap")
    if taken.form != FIBER:
        return 2, Verdict(NAME, False, "no word waits for a later one, so that FIFOs of 2 are enough")
    if ports == 1:
        return 2, Verdict(NAME, False, "each bank feeds one port, so that FIFOs of 2 are enough")
    depth = extent + 1
    if depth > MOST_DEPTH:
        raise stored.mistake(f"fibers of {extent:,} pairs wait in front of {ports} ports",
                             f"give {len(taken.sinks)} banks, one for each port")
    bits = depth * (TOKEN_BITS + stored.tensor.bits)
    return depth, Verdict(NAME, True, f"{ports} of {many(depth, 'pair')}, {bits:,} bits each, "
                                      f"in place of {many(ports * extent, 'element')} that are searched")
