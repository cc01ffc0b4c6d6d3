"""Whether a tensor has room in a bank of its buffer, as far as that is known without its values.

Errors:  UserError with how many words would do.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...hw.arch.private_buffer import BITVECTOR, COMPRESSED, DENSE, LINKED, MOST_MATCHED, MOST_WORDS
from ...hw.arch.token import DATA_BITS
from .buffer import Stored


def check_room(stored: Stored, shape: Sequence[int], asked: bool) -> None:
    """shape: what of the tensor is in the bank.  asked: its elements are asked for by coordinate."""
    kind, words = stored.kind, stored.buffer.words
    values, fibers = prod(shape), prod(shape[:-1])
    bits = fibers * -(-shape[-1] // DATA_BITS)
    if kind == DENSE and values > words:
        raise stored.mistake(f"a tensor has {values:,} values in a bank, which has {words:,} words",
                             f"give {1 << (values - 1).bit_length():,} words or more, up to {MOST_WORDS:,}, or more banks")
    if kind == COMPRESSED and fibers >= words:
        raise stored.mistake(f"a tensor has {fibers:,} fibers in a bank, whose level has room for {words - 1:,}",
                             f"give {1 << fibers.bit_length():,} words or more, up to {MOST_WORDS:,}, or more banks")
    if kind == LINKED and fibers > MOST_WORDS:
        raise stored.mistake(f"a tensor has {fibers:,} fibers in a bank", f"use {MOST_WORDS:,} or fewer, or more banks")
    if kind == BITVECTOR and bits > words:
        raise stored.mistake(f"the bits of a tensor are {bits:,} words in a bank, whose level has room for {words:,}",
                             f"give {1 << (bits - 1).bit_length():,} or more, up to {MOST_WORDS:,}, or more banks")
    if asked and kind != DENSE and words > MOST_MATCHED:
        raise stored.mistake(f"its last level is {kind}, whose elements are found by comparing, {MOST_MATCHED} in a bank, "
                             f"which has {words:,} words", f"give {MOST_MATCHED} words or fewer, or make it dense")
    if asked and values > 1 << DATA_BITS:
        raise stored.mistake(f"a tensor has {values:,} places in a bank", f"use {1 << DATA_BITS:,} or fewer, or more banks")
