"""The buffer behind a result whose ports give rows: adds up operations, and gives whole words for memory."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.accelerator import Collected
from ...arch.dma import SPAN_BITS, WORD_BITS
from ...emit import macro
from ...stream.lead import lead
from .result_buffer import ResultBank
from .rows import rows


class WideResult(wiring.Component):
    """A bank behind each port, of which the next words are a row.

    Behaviour: the low bytes of the sums of a row leave one behind the other, as many as elements in memory have, in words: of
    eight ports bytes are one word of 64 bits, elements of 4 bytes are four of these.

    Parameters
    ----------
    result : Collected       With `wide`.
    counted : bool           As of `ResultBank`.
    word_bits : int          Of a word.

    Members
    -------
    i0, ... : In(stream)     The ports.
    o : Out(stream)          Words.
    parts : In(16), count : In     As of `ResultBank`.
    size : In(2)             Logarithm of the bytes of an element in memory, one of `Collected.sizes`; stays while a request
                             takes rows.

    Timing: a word a cycle, and a row goes with its last word.
    Source: Gemmini's accumulator, of which a row is read in a cycle.
    """

    def __init__(self, result: Collected, counted: bool, word_bits: int = WORD_BITS) -> None:
        assert result.wide, "rows are what it gives"
        self.result, self.counted, self.word_bits = result, counted, word_bits
        count = {"count": In(range(result.held + 1))} if counted else {}
        super().__init__({**{f"i{n}": In(stream.Signature(result.tensor.bits)) for n in range(len(result.ports))},
                          "o": Out(stream.Signature(word_bits)), "parts": In(SPAN_BITS), "size": In(2), **count})

    @property
    def module_name(self) -> str:
        return f"wide_result_{self.result.tensor.name.lower()}"

    @property
    def emit_key(self) -> tuple[Collected, bool, int]:
        return self.result, self.counted, self.word_bits

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        count = len(self.result.ports)
        banks = []
        for n in range(count):
            m.submodules[f"bank{n}"] = bank = macro(ResultBank(self.result.held, self.result.tensor.bits, self.counted))
            lead(m, getattr(self, f"i{n}"), bank.i)
            m.d.comb += bank.parts.eq(self.parts)
            if self.counted:
                m.d.comb += bank.count.eq(self.count)
            banks.append(bank)
        rows(m, self.result, [bank.o for bank in banks], self.size, self.o, self.word_bits)
        return m
