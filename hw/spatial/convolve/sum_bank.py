"""A bank of sums: adds values to what is at an address, one a cycle, while the sums before leave."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.lib import stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out


class SumBank(Component):
    """Holds sums twice: those that grow, and those that leave.

    Behaviour: with 2 words, ``(0, 5) (1, 2) (0, 4)`` and a flip: ``9 2`` leave.

    Parameters
    ----------
    words, bits : int     Sums wrap.

    Members
    -------
    valid : In(1), address : In, value : In     What is added, always taken.
    flip : In(1)          Sums that have grown leave from now on; only without `busy`, and with nothing added in the cycle
                          before.
    o : Out(stream)       All sums in the order of addresses.
    busy : Out(1)         Sums are leaving, or are set to 0 after reset.

    Timing: a value a cycle, also to one address, and a sum a cycle.
    Source: SCNN IV-B (accumulator banks, double-buffered).
    """

    def __init__(self, words: int, bits: int) -> None:
        self.words, self.bits = words, bits
        super().__init__({"valid": In(1), "address": In(range(words)), "value": In(bits), "flip": In(1),
                          "o": Out(stream.Signature(bits)), "busy": Out(1)})

    @property
    def module_name(self) -> str:
        return f"sum_bank_{self.words}x{self.bits}"

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        grows = Signal()            # which half
        adds = Signal()             # a value whose sum is read now
        at = Signal(range(self.words))
        value = Signal(self.bits)
        m.d.sync += [adds.eq(self.valid), at.eq(self.address), value.eq(self.value)]
        clears = Signal(init=1)     # both halves, after reset
        leaves = Signal()           # the other half
        line = Signal(range(self.words))
        there = Signal()            # a sum is at the output,
        shown = Signal(range(self.words))   # that of this address
        last = Signal()
        reads = Signal()
        gone = Signal()
        m.d.comb += [self.busy.eq(clears | leaves), gone.eq(there & self.o.ready), self.o.valid.eq(there),
                     reads.eq(leaves & ~last & (~there | gone))]
        m.d.sync += there.eq(reads | (there & ~gone))
        with m.If(clears | reads):
            m.d.sync += [line.eq(line + 1), shown.eq(line)]
        with m.If(reads & (line == self.words - 1)):
            m.d.sync += last.eq(1)
        with m.If(clears & (line == self.words - 1)):
            m.d.sync += clears.eq(0)
        with m.If(gone & last):
            m.d.sync += leaves.eq(0)
        with m.If(self.flip):
            m.d.sync += [grows.eq(~grows), leaves.eq(1), last.eq(0), line.eq(0)]
        for half in range(2):
            m.submodules[f"half{half}"] = memory = Memory(shape=self.bits, depth=self.words, init=[])
            write = memory.write_port()
            read = memory.read_port(transparent_for=(write,))
            with m.If(clears):
                m.d.comb += [write.addr.eq(line), write.en.eq(1)]
            with m.Elif(grows == half):
                m.d.comb += [read.addr.eq(self.address), read.en.eq(self.valid), write.addr.eq(at),
                             write.data.eq(read.data + value), write.en.eq(adds)]
            with m.Else():
                m.d.comb += [read.addr.eq(line), read.en.eq(reads), write.addr.eq(shown), write.en.eq(gone),
                             self.o.payload.eq(read.data)]
        return m
