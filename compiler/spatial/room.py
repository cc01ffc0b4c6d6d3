"""Whether a tensor has room in a bank of its buffer, as far as that is known without its values.

Errors:  UserError with how many words would do.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...hw.arch.chain import chain, unfit
from ...hw.arch.private_buffer import BITVECTOR, COMPRESSED, DENSE, LINKED, MOST_MATCHED, MOST_WORDS, Level
from ...hw.arch.token import DATA_BITS
from .buffer import Stored


def check_room(stored: Stored, shape: Sequence[int], asked: bool) -> None:
    """shape: what of the tensor is in the bank.  asked: its elements are asked for by coordinate."""
    words, values = stored.buffer.words, prod(shape)
    (_check_chain if stored.is_chain else _check_last)(stored, shape)
    sparse = next((kind for kind in reversed(stored.buffer.levels) if kind != DENSE), None)
    if asked and sparse and words > MOST_MATCHED:
        level = "its last level" if sparse == stored.kind else "a level"
        raise stored.mistake(f"{level} is {sparse}, whose elements are found by comparing, {MOST_MATCHED} in a bank, "
                             f"which has {words:,} words", f"give {MOST_MATCHED} words or fewer, or make it dense")
    if asked and values > 1 << DATA_BITS:
        raise stored.mistake(f"a tensor has {values:,} places in a bank", f"use {1 << DATA_BITS:,} or fewer, or more banks")


def _check_last(stored: Stored, shape: Sequence[int]) -> None:
    """Of levels of which all but the last one are dense."""
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


def _check_chain(stored: Stored, shape: Sequence[int]) -> None:
    """Of levels behind one without zeros: whether dense ones have room, and positions their bits."""
    levels, words = [Level(*each) for each in zip(stored.buffer.levels, shape, strict=True)], stored.buffer.words
    inside = 1
    for level in reversed(levels):
        if level.kind != DENSE:
            break
        inside *= level.extent
    if inside > words:
        raise stored.mistake(f"dense levels behind one that is not have {inside:,} values in a bank, which has {words:,} words",
                             f"give {1 << (inside - 1).bit_length():,} words or more, up to {MOST_WORDS:,}, or more banks")
    for link in chain(levels, words, stored.buffer.node):
        if said := unfit(link):
            raise stored.mistake(f"level {link.nth}, which is {link.kind}, has {said} in a bank at most",
                                 "give fewer words, more banks, or another order of levels")
