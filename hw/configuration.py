"""Configuration registers of a tile, and what they are asked over.

One channel a column goes from north to south (`hw/channel.py`).
An address is {y[23:16], register[15:0]}: a tile acts on its own y, and PE and MEM tiles on writes to `EVERY_ROW`. The column is
that of the channel.

Source: Onyx JSSC IV-F (one configuration word per column and cycle); tile identity as in the public Garnet.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate, pairwise
from operator import or_

from amaranth.hdl import Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .arch.config import EVERY_ROW, MEMORY_REGISTER, STATUS_REGISTER, WORD_BITS, ConfigMap
from .arch.counters import COUNTER_REGISTER, EVENTS
from .memory.sram import SramPort

ADDRESS_BITS = 24
ID_BITS = 8

# Seen from the side that asks: a request every cycle; writes are not answered, a read by one cycle of
# `rvalid`, and `rdata` is 0 in all others. Only one read may be under way in a column, since answers of different rows
# take different times.
REQUEST = {"valid": Out(1), "write": Out(1), "addr": Out(ADDRESS_BITS), "wdata": Out(WORD_BITS)}
ANSWER = {"rvalid": In(1), "rdata": In(WORD_BITS)}
CHANNEL = wiring.Signature(REQUEST | ANSWER)


def word_bits(space: ConfigMap) -> list[int]:
    """Bits that the fields of each word take; they begin at bit 0 and leave no gap."""
    bits = [0] * space.words
    for (name, field), slot in space.slots.items():
        bits[slot.word] = slot.lsb + space.sets[name].fields[field].bits
    assert sum(bits) == space.layout.size, "fields are packed in the same order in words and in the layout"
    return bits


def packed(space: ConfigMap, words: Sequence[int]) -> int:
    """The words of a tile's configuration space as the one number that its ``cfg`` port takes."""
    number = at = 0
    for word, bits in zip(words, word_bits(space), strict=True):
        number |= (word & ((1 << bits) - 1)) << at
        at += bits
    return number


def is_row(addr: Value, tile_y: Value) -> Value:
    """Whether the address of a request is one of this tile's row."""
    return addr[16:] == tile_y


def is_every_row(addr: Value) -> Value:
    """Whether the address of a write is one of all rows."""
    return addr[16:] == EVERY_ROW


class MemoryWindow(wiring.Component):
    """Writes the SRAM of a MEM tile by configuration, and reads it: registers from `MEMORY_REGISTER` on.

    Behaviour: a write to register `MEMORY_REGISTER` + n stores bits 15:0 of the word at address 2 n and bits 31:16 at 2 n + 1,
    whatever the tile is set to, while nothing runs on it. With `readback` a read answers with these words.

    Parameters
    ----------
    lines, lanes : int         Of the SRAM, powers of two; 2 lanes or more, 32,768 words or less.
    readback : bool            Whether it can be read.

    Members
    -------
    valid, write, addr, wdata : In     Requests of the column's channel.
    tile_y : In(8)                     Row of the tile.
    sram : Out(SramPort)               Port of the SRAM.
    reads, rvalid : Out(1)             With `readback`: the request is a read of the SRAM, and the answer to the one before.
    rdata : Out(32)                    The two words; 0 without an answer.

    Timing: one write or read per cycle, in the cycle of the request; the answer comes in the next cycle.
    Source: Onyx JSSC IV-F (configuration).
    """

    def __init__(self, lines: int, lanes: int, readback: bool = False) -> None:
        self.lines, self.lanes, self.readback = lines, lanes, readback
        assert lines * lanes < 2 * (STATUS_REGISTER - MEMORY_REGISTER), "the registers end before that of the status"
        super().__init__({"valid": In(1), "write": In(1), "addr": In(ADDRESS_BITS), "wdata": In(WORD_BITS),
                          "tile_y": In(ID_BITS), "sram": Out(SramPort(lines, lanes)),
                          **({"reads": Out(1), "rvalid": Out(1), "rdata": Out(WORD_BITS)} if readback else {})})

    @property
    def emit_key(self) -> object:
        return self.lines, self.lanes, self.readback

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pairs = self.lanes // 2
        number = self.addr[:16] - MEMORY_REGISTER
        writes = (self.valid & self.write & (is_row(self.addr, self.tile_y) | is_every_row(self.addr))
                  & (number >= 0) & (number < self.lines * pairs))
        if self.readback:
            pair = Signal(range(max(2, pairs)))
            m.d.comb += [self.reads.eq(self.valid & ~self.write & is_row(self.addr, self.tile_y)
                                       & (number >= 0) & (number < self.lines * pairs)),
                         self.rdata.eq(self.sram.word.word_select(pair, WORD_BITS) & self.rvalid.replicate(WORD_BITS))]
            m.d.sync += [self.rvalid.eq(self.reads), pair.eq(self.addr[:16] % pairs)]
        m.d.comb += [
            self.sram.enable.eq(writes | self.reads if self.readback else writes),
            self.sram.address.eq(self.addr[:16] >> (pairs - 1).bit_length()), self.sram.data.eq(self.wdata.replicate(pairs)),
        ]
        with m.If(writes if self.readback else self.sram.enable):
            m.d.comb += [self.sram.write[2 * pair:2 * pair + 2].eq((self.addr[:16] % pairs == pair).replicate(2))
                         for pair in range(pairs)]
        return m


class ConfigRegisters(wiring.Component):
    """The configuration registers of a tile.

    Behaviour: a write to register r of row tile_y, or of every row, stores the fields of word r; a read answers with
    them, or with the status at `STATUS_REGISTER`. Registers that do not exist read as 0, as all but the status do
    without `readback`. Reset writes 0 everywhere: all off. With counters, registers from `COUNTER_REGISTER` on are read as
    these, and a write to that one clears them.

    Parameters
    ----------
    space : ConfigMap
    kind : str                 Kind of the tile; ``io`` has no part in writes to every row.
    readback : bool            Whether fields can be read.
    counter_bits : int         Bits of the tile's counters, 0 for none.

    Members
    -------
    config : In(CHANNEL)       From the column's channel.
    tile_y : In(8)             Row of the tile, a constant of the array.
    status : In(32)            What a read of the status register answers.
    cfg : Out(layout)          All fields.
    {event} : In(counter_bits) With counters: what a read of each answers, by the names of `arch.counters.EVENTS`.
    clear : Out(1)             With counters: they are to be 0 from the next cycle on.

    Timing: one write per cycle; `cfg` changes in the cycle after the request. A read is answered in the cycle of its
    request.
    Source: Onyx JSSC IV-F; a tile knows its place as in the public Garnet.
    """

    def __init__(self, space: ConfigMap, kind: str, readback: bool = True, counter_bits: int = 0) -> None:
        self.space, self.kind, self.readback, self.counter_bits = space, kind, readback, counter_bits
        counts = {"clear": Out(1), **{event: In(counter_bits) for event in EVENTS}} if counter_bits else {}
        super().__init__({"config": In(CHANNEL), "tile_y": In(ID_BITS),
                          "status": In(WORD_BITS), "cfg": Out(space.layout), **counts})

    @property
    def module_name(self) -> str:
        return f"config_registers_{self.kind}"

    @property
    def emit_key(self) -> object:
        return tuple(self.space.sets.values()), self.kind, self.readback, self.counter_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        asked = self.config
        here = Signal()
        register = asked.addr[:16]
        own = is_row(asked.addr, self.tile_y)
        every = asked.write & is_every_row(asked.addr) if self.kind != "io" else 0
        m.d.comb += here.eq(asked.valid & (own | every))
        # A reset is a write of 0 to all words: an enable and a word that is gated once, instead of a gate for every bit.
        fields = Signal(self.space.layout.size, reset_less=True)
        m.d.comb += self.cfg.eq(fields)
        ends = list(accumulate(word_bits(self.space)))
        words = [fields[start:end] for start, end in pairwise([0, *ends])]

        resets = Signal()
        value = Signal(WORD_BITS)
        m.d.comb += [resets.eq(ResetSignal()), value.eq(Mux(resets, 0, asked.wdata))]
        # The writes apart from the reads: where nothing is written, a simulation asks once for all words.
        with m.If(resets | here & asked.write):
            for n, word in enumerate(words):
                with m.If(resets | (register == n)):
                    m.d.sync += word.eq(value)
        if self.counter_bits:
            m.d.comb += self.clear.eq(here & asked.write & (register == COUNTER_REGISTER))
        index = register[:max(1, (len(words) - 1).bit_length())]
        reads = Signal()
        m.d.comb += [reads.eq(here & ~asked.write), asked.rvalid.eq(reads)]
        # ORed, as no two of them are asked for at once.
        answer = gated(self.status, reads & (register == STATUS_REGISTER))
        for n, event in enumerate(EVENTS if self.counter_bits else ()):
            answer |= gated(getattr(self, event), reads & (register == COUNTER_REGISTER + n))
        if self.readback:
            answer |= gated(selected(words, index), reads & (register[len(index):] == 0))
        m.d.comb += asked.rdata.eq(answer)
        return m


def gated(word: Value, chosen: Value) -> Value:
    """The word, or 0 if it is not chosen."""
    return Mux(chosen, word, 0)


def selected(words: Sequence[Value], index: Value) -> Value:
    """The word with a number, or 0, as an OR of words of which each is gated.

    In ASAP7 that is smaller than a tree of multiplexers by the bits of the number: a gate ANDs a bit with several others at the
    price of two.
    """
    return reduce(or_, (gated(word, index == n) for n, word in enumerate(words)))
