"""A private buffer whose words are rows, one word for each port of an array at once."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from ...arch.dma import WORD_BITS
from ...arch.private_buffer import Bank
from ...emit import macro
from ...memory.nest import Nest
from ...memory.sram import Sram


class WideBank(Component):
    """Holds tensors as rows, and gives a row to all ports at once.

    Behaviour: a tensor is filled in as words, its elements one behind the other without a length in front. For each operation
    rows go to the ports in the order of the request: element n of a row to port n. After as many operations as a
    tensor serves, its room is free. Of one that is `short` a tensor has as many rows as its operations have launches, and
    says so to the array.

    Example: two ports of 32 bits, rows 1, 0; filled with ``0x2_00000001 0x4_00000003`` port 0 gives 3 1, port 1 gives 4 2.

    Parameters
    ----------
    bank : Bank             With `wide`.
    module_name : str
    word_bits : int         Of a word; a row is one or more of them.

    Members
    -------
    values : In(stream)     Words.
    o0, ... : Out(stream)   Words of each port.
    torn : Out(1)           Of a tensor some words have come, and not all.
    shared : In             Operations that a tensor serves, less one; with `Bank.operations`. As `launches`, it is constant
                            from the first word of a tensor until the array has taken all of it.
    launches : In           With `Bank.short`: rows of a tensor.
    length : Out(stream)    With `Bank.short`: for each operation the launches it has.

    Timing: a row a cycle, and a word a cycle; a tensor is filled in while the one before is read, in a memory of its own, so
    that neither waits for the other; `values.ready` follows the ports within the cycle. Ports take a row each at its own time,
    within the row.
    Source: Gemmini's scratchpad (a row of it feeds the array in a cycle); Stellar III-E (`elemsPerRead`).
    """

    def __init__(self, bank: Bank, module_name: str, word_bits: int = WORD_BITS) -> None:
        assert bank.wide, "rows are what it has"
        self.bank, self.module_name, self.word_bits = bank, module_name, word_bits
        self.pieces = bank.row_bits // word_bits
        shared = {"shared": In(range(bank.operations))} if bank.operations > 1 else {}
        rows = range(bank.rows + 1)
        short = {"launches": In(rows), "length": Out(stream.Signature(rows))} if bank.short else {}
        super().__init__({"values": In(stream.Signature(word_bits)), "torn": Out(1), **shared, **short}
                         | {f"o{n}": Out(stream.Signature(bank.bits)) for n in range(bank.sinks)})

    @property
    def emit_key(self) -> tuple[Bank, int]:
        return self.bank, self.word_bits

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        bank = self.bank
        halves = [macro(Sram(bank.words // bank.sinks, self.pieces, self.word_bits)) for _ in range(2)]
        for n, half in enumerate(halves):
            m.submodules[f"half{n}"] = half
        full = Signal(2)        # of each half: all of a tensor is there
        freed = self._read(m, halves, full)
        # Last, as a word that is a tensor may come in the cycle in which its half is freed.
        self._fill(m, halves, full, freed)
        return m

    def _fill(self, m: Module, halves: list[Any], full: Signal, freed: Signal) -> None:
        bank = self.bank
        filling = Signal()
        piece = Signal(range(self.pieces))
        line = Signal(range(bank.rows))
        takes = Signal()
        last = line == (self.launches - 1 if bank.short else bank.rows - 1)
        m.d.comb += [self.values.ready.eq(~full.bit_select(filling, 1) | freed.bit_select(filling, 1)),
                     takes.eq(self.values.valid & self.values.ready),
                     self.torn.eq((piece != 0) | (line != 0))]
        for n, half in enumerate(halves):
            with m.If(takes & (filling == n)):
                m.d.comb += [half.enable.eq(1), half.address.eq(line), half.write.eq(1 << piece),
                             half.data.eq(self.values.payload.replicate(self.pieces))]
        with m.If(takes):
            m.d.sync += piece.eq(piece + 1)
            with m.If(piece == self.pieces - 1):
                m.d.sync += [piece.eq(0), line.eq(line + 1)]
                with m.If(last):
                    m.d.sync += [line.eq(0), filling.eq(~filling), full.bit_select(filling, 1).eq(1)]

    def _read(self, m: Module, halves: list[Any], full: Signal) -> Signal:
        """Give the rows; which half is freed, as the last row of its tensor leaves."""
        bank = self.bank
        step = Signal()
        number, is_first, is_last, is_valid = self._rows(m, step)
        reading = Signal()
        served = Signal(range(bank.operations))
        begins = Signal()       # an operation, with this row
        there = Signal()        # a row is at the output of a half,
        shown = Signal()        # of this one,
        closing = Signal()      # and it is the last one of the tensor
        reads = Signal()
        ends = Signal()
        leaves = Signal()
        given = Signal(bank.sinks)      # ports that have their word of it
        ready = Signal(bank.sinks)
        takers = [getattr(self, f"o{n}") for n in range(bank.sinks)]
        m.d.comb += [
            ready.eq(Cat(port.ready for port in takers)), leaves.eq(there & (given | ready).all()),
            reads.eq(is_valid & full.bit_select(reading, 1) & (~there | leaves)), step.eq(reads),
            ends.eq(is_last & (served == self.shared if bank.operations > 1 else 1))]
        if bank.short:
            # An operation's length is one more port, of its first row.
            told = Signal()
            m.d.comb += [leaves.eq(there & (given | ready).all() & (~begins | told | self.length.ready)),
                         self.length.payload.eq(self.launches), self.length.valid.eq(there & begins & ~told)]
            m.d.sync += told.eq(Mux(leaves | ~there, 0, told | (begins & self.length.ready)))
        m.d.sync += [there.eq(reads | (there & ~leaves)), given.eq(Mux(leaves | ~there, 0, given | ready))]
        # Not before: a half that is written no longer shows in the next cycle what was read.
        freed = Signal(2)
        m.d.comb += freed.bit_select(shown, 1).eq(leaves & closing)
        m.d.sync += full.eq(full & ~freed)
        with m.If(reads):
            m.d.sync += [shown.eq(reading), closing.eq(ends), begins.eq(is_first)]
            with m.If(is_last):
                m.d.sync += served.eq(Mux(ends, 0, served + 1))
            with m.If(ends):
                m.d.sync += reading.eq(~reading)
        row = Signal(bank.row_bits)
        m.d.comb += row.eq(Mux(shown, halves[1].word, halves[0].word))
        for n, half in enumerate(halves):
            with m.If(reads & (reading == n)):
                m.d.comb += [half.enable.eq(1), half.address.eq(number)]
        for n, port in enumerate(takers):
            m.d.comb += [port.payload.eq(row.word_select(n, bank.bits)), port.valid.eq(there & ~given[n])]
        return freed

    def _rows(self, m: Module, step: Signal) -> tuple[Value, Value, Value, Value]:
        """The row that comes next, whether it is the first or last one of an operation, and whether there is one."""
        bank = self.bank
        bits = max(1, (bank.rows - 1).bit_length())
        if not bank.short:
            m.submodules.request = request = Nest(
                bank.first // bank.sinks, tuple((loop.extent, loop.stride // bank.sinks) for loop in bank.loops[1:]), bits)
            m.d.comb += request.step.eq(step)
            return request.number, Const(0), request.last, request.valid
        row = Signal(bits)
        last = Signal()
        m.d.comb += last.eq(row == self.launches - 1)
        with m.If(step):
            m.d.sync += row.eq(Mux(last, 0, row + 1))
        return row, row == 0, last, Const(1)
