"""The buffer behind a result: adds up operations, and gives its elements in one order."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.accelerator import Collected
from ...arch.dma import ELEMENT_BITS, SPAN_BITS
from ...emit import macro
from ...memory.nest import Nest
from ...stream.fifo import Fifo
from ...stream.lead import lead


class ResultBank(wiring.Component):
    """Adds the words that a port gives in several operations, each to that of the same place.

    Behaviour: of 2 words, with 3 parts, ``1 2 10 20 100 200`` becomes ``111 222``. Words are in the same order in each
    operation, so that two FIFOs hold all: sums on their way, and those that are done.

    Parameters
    ----------
    words : int         Of an operation.
    bits : int          Of a word; sums wrap.
    counted : bool      Words may be fewer.

    Members
    -------
    i : In(stream)
    o : Out(stream)
    parts : In(16)      Operations of a result, 1 or more; constant from the first word of a result to its last.
    count : In          Where they are `counted`: the words, 1 or more; constant likewise.

    Timing: a word a cycle; a result leaves while the next one is added up. `i.ready` follows `i.valid`.
    Source: Gemmini's accumulator, as Stellar VI-A has it; in place of addresses, the order.
    """

    def __init__(self, words: int, bits: int, counted: bool = False) -> None:
        self.words, self.bits, self.counted = words, bits, counted
        word = stream.Signature(bits)
        count = {"count": In(range(words + 1))} if counted else {}
        super().__init__({"i": In(word), "o": Out(word), "parts": In(SPAN_BITS), **count})

    @property
    def module_name(self) -> str:
        return f"result_bank_{self.words}x{self.bits}" + "_counted" * self.counted

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        # Where all words of an operation wait, the next one enters before one leaves.
        m.submodules.sums = sums = macro(Fifo(self.bits, self.words + 1))
        m.submodules.done = done = macro(Fifo(self.bits, self.words + 1))
        place = Signal(range(self.words))
        part = Signal(SPAN_BITS)
        first = Signal()
        last = Signal()
        there = Signal()
        m.d.comb += [first.eq(part == 0), last.eq(part == self.parts - 1), there.eq(self.i.valid & (first | sums.o.valid))]
        total = self.i.payload + Mux(first, 0, sums.o.payload)
        goes = Signal()
        m.d.comb += [
            goes.eq(there & Mux(last, done.i.ready, sums.i.ready)), self.i.ready.eq(goes), sums.o.ready.eq(goes & ~first),
            done.i.payload.eq(total), done.i.valid.eq(there & last), sums.i.payload.eq(total), sums.i.valid.eq(there & ~last)]
        lead(m, done.o, self.o)
        with m.If(goes):
            m.d.sync += place.eq(place + 1)
            with m.If(place == (self.count if self.counted else self.words) - 1):
                m.d.sync += [place.eq(0), part.eq(Mux(last, 0, part + 1))]
        return m


class ResultBuffer(wiring.Component):
    """A bank behind each port of a result, and their elements in its order.

    Parameters
    ----------
    result : Collected

    Members
    -------
    i0, ... : In(stream)     The ports.
    o : Out(stream)          Elements, sums with their sign.
    parts : In(16)           As of `ResultBank`.

    Timing: an element a cycle.
    Source: Stellar IV-C (interleaved pushes and pops of accumulators).
    """

    def __init__(self, result: Collected) -> None:
        self.result = result
        super().__init__({**{f"i{n}": In(stream.Signature(result.tensor.bits)) for n in range(len(result.ports))},
                          "o": Out(stream.Signature(ELEMENT_BITS)), "parts": In(SPAN_BITS)})

    @property
    def module_name(self) -> str:
        return f"result_{self.result.tensor.name.lower()}"

    @property
    def emit_key(self) -> Collected:
        return self.result

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        count = len(self.result.ports)
        m.submodules.turn = turn = Nest(self.result.first, tuple((loop.extent, loop.hop) for loop in self.result.loops),
                                        max(1, (count - 1).bit_length()))
        for n in range(count):
            m.submodules[f"bank{n}"] = bank = macro(ResultBank(self.result.held, self.result.tensor.bits))
            lead(m, getattr(self, f"i{n}"), bank.i)
            m.d.comb += bank.parts.eq(self.parts)
            with m.If(turn.valid & (turn.number == n)):
                m.d.comb += [self.o.payload.eq(bank.o.payload.as_signed()), self.o.valid.eq(bank.o.valid),
                             bank.o.ready.eq(self.o.ready)]
        m.d.comb += turn.step.eq(self.o.valid & self.o.ready)
        return m
