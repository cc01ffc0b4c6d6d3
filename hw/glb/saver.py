"""Reads what the memories of a GLB tile's columns hold into its banks, as words of configuration that write the same again."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arch.glb import Glb
from ..arch.soc import EXTENT_BITS, SAVE_PATIENCE
from .config_word import CONFIG_WORD


class Saver(wiring.Component):
    """Asks for the words of consecutive configuration addresses, and gives each with its address to the banks.

    Behaviour: after `start`, addresses from `address` on are read, `count` of them, and word n of the answers is written to
    line `first` + n as {address + n, word}: what `ConfigDma` streams to have it in its place again. The address counts within
    the 16 bits of its register, so all of it is of one tile.

    Members
    -------
    first, count : In         64-bit word address in the tile, and number of words.
    address : In(CONFIG_WORD) Of the first word; its data does not count.
    start, stop : In(1)       Begin; give up.
    busy : Out(1)             From start until the last word is in its bank.
    asks, asked : Out         A read of the column of `asked`, which counts from the tile's first one.
    other : In(1)             Another read goes down a column of the tile; not while this one is busy.
    answered, answer : In     A word of a read in a column of the tile, in the order of the reads.
    flies : Out(1)            A read is under way, also of those that `stop` left behind.
    write, line, word : Out   Write request, which is always granted.
    missed : Out(1)           In the last cycle of `busy`: some reads were not answered, as there are no such words.

    Timing: a read per cycle, from the cycle after start on, or as soon as no read of before is under way; an answer is written
    in the cycle in which it comes. It ends with the last answer, or SAVE_PATIENCE cycles after the last read, more than the
    longest column takes.
    Source: Amber JSSC IV-B (data in memory tiles are saved to the global buffer). All answers of a tile take as long, so reads
    follow each other without a pause.
    """

    def __init__(self, glb: Glb) -> None:
        self.line_bits = (glb.tile_bytes // 8 - 1).bit_length()
        super().__init__({
            "first": In(self.line_bits), "count": In(EXTENT_BITS), "address": In(CONFIG_WORD), "start": In(1), "stop": In(1),
            "busy": Out(1), "asks": Out(1), "asked": Out(CONFIG_WORD), "other": In(1), "answered": In(1), "answer": In(32),
            "flies": Out(1), "write": Out(1), "line": Out(self.line_bits), "word": Out(CONFIG_WORD), "missed": Out(1)})

    module_name = "saver"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left = Signal(EXTENT_BITS)      # to be asked for
        due = Signal(EXTENT_BITS)       # to be answered
        ahead = Signal(16)              # registers of the next read, and of the next answer
        behind = Signal(16)
        flying = Signal(range(2 * SAVE_PATIENCE))
        waits = Signal()                # for what flew before the start
        patience = Signal(range(SAVE_PATIENCE + 1))
        reads = Signal()
        m.d.comb += [
            self.flies.eq(flying != 0), self.busy.eq(due != 0), self.asks.eq((left != 0) & ~waits),
            reads.eq(self.asks | self.other), self.missed.eq(self.busy & (left == 0) & ~self.flies),
            self.write.eq(self.busy & ~waits & self.answered),
            *(word.column.eq(self.address.column) for word in (self.asked, self.word)),
            self.asked.address.eq(self.address.address[16:] << 16 | ahead),
            self.word.address.eq(self.address.address[16:] << 16 | behind), self.word.data.eq(self.answer)]
        m.d.sync += [patience.eq(Mux(reads, SAVE_PATIENCE, patience - self.flies)), waits.eq(waits & self.flies)]
        with m.If(self.flies & (patience == 0)):
            # What has not come when the last read was so long ago never comes.
            m.d.sync += flying.eq(reads)
        with m.Elif(~flying.all()):
            # More than are under way at any time are not answered: how many does not matter.
            m.d.sync += flying.eq(flying + reads - (self.answered & self.flies))
        with m.If(self.asks):
            m.d.sync += [left.eq(left - 1), ahead.eq(ahead + 1)]
        with m.If(self.write):
            m.d.sync += [due.eq(due - 1), behind.eq(behind + 1), self.line.eq(self.line + 1)]
        with m.If(self.stop | self.missed):
            m.d.sync += [left.eq(0), due.eq(0)]
        with m.If(self.start):
            m.d.sync += [left.eq(self.count), due.eq(self.count), self.line.eq(self.first), waits.eq(self.flies),
                         *(register.eq(self.address.address[:16]) for register in (ahead, behind))]
        return m
