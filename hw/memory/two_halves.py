"""A memory of two halves: one is written while the other one is read."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal
from amaranth.lib.wiring import Component, In, Out

from ..arch.token import DATA_BITS
from ..emit import macro
from .sram import Sram


class TwoHalves(Component):
    """Two single-port SRAMs, so that writes and reads of different halves never meet.

    Parameters
    ----------
    lines, lanes : int     Of a half; lanes of 16 bits.

    Members
    -------
    write : In(lanes)      Lanes to write in `write_half` at `write_address`; only while that half is not read.
    write_half : In(1), write_address : In, data : In
    read : In(1)           Read `read_half` at `read_address`; `word` has it in the next cycle, and only then.
    read_half : In(1), read_address : In
    word : Out

    Timing: a write and a read a cycle.
    Source: a design of its own.
    """

    def __init__(self, lines: int, lanes: int) -> None:
        self.lines, self.lanes = max(2, lines), lanes
        address, bits = range(self.lines), lanes * DATA_BITS
        super().__init__({"write": In(lanes), "write_half": In(1), "write_address": In(address), "data": In(bits),
                          "read": In(1), "read_half": In(1), "read_address": In(address), "word": Out(bits)})

    @property
    def module_name(self) -> str:
        return f"two_halves_{self.lines}x{self.lanes}"

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        was = Signal()
        m.d.sync += was.eq(self.read_half)
        words = []
        for half in range(2):
            m.submodules[f"half{half}"] = sram = macro(Sram(self.lines, self.lanes, DATA_BITS))
            writes = Cat(lane & (self.write_half == half) for lane in self.write)
            reads = self.read & (self.read_half == half)
            m.d.comb += [sram.write.eq(writes), sram.enable.eq(writes.any() | reads), sram.data.eq(self.data),
                         sram.address.eq(Mux(writes.any(), self.write_address, self.read_address))]
            words.append(sram.word)
        m.d.comb += self.word.eq(Mux(was, words[1], words[0]))
        return m
