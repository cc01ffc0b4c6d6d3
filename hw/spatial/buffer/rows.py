"""Words of several streams, side by side, become whole words of the bus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Signal

from ...arch.accelerator import Collected
from ...arch.dma import MOST_SIZE


def rows(m: Module, result: Collected, banks: Sequence[Any], size: Any, out: Any, word_bits: int) -> None:
    """Give the rows of streams, a word of each at once, whose low bytes leave one behind the other in words of some bits.

    size: logarithm of the bytes of an element there, one of `Collected.sizes` for these words.
    """
    count = len(banks)
    pieces = (count << MOST_SIZE) * 8 // word_bits
    piece = Signal(range(pieces))
    last = Signal()
    goes = Signal()
    m.d.comb += [out.valid.eq(Cat(bank.valid for bank in banks).all()), goes.eq(out.valid & out.ready),
                 *(bank.ready.eq(goes & last) for bank in banks)]
    for each in result.sizes(word_bits):
        with m.If(size == each):
            bits = 8 << each
            row = Signal(count * bits, name=f"row_of_{bits}")
            m.d.comb += [row.eq(Cat(_as(bank.payload, bits) for bank in banks)),
                         out.payload.eq(row.word_select(piece, word_bits)),
                         last.eq(piece == count * bits // word_bits - 1)]
    with m.If(goes):
        m.d.sync += piece.eq(piece + 1)
        with m.If(last):
            m.d.sync += piece.eq(0)


def _as(value: Any, bits: int) -> Any:
    """So many low bits of a sum, with its sign where it has fewer."""
    return value[:bits] if bits <= len(value) else Cat(value, value[-1].replicate(bits - len(value)))
