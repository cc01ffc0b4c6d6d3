"""Configuration DMA: reads configuration words of a GLB tile one behind the other, and the switch that passes them on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arch.glb import Glb
from ..arch.soc import EXTENT_BITS
from .config_word import CONFIG_WORD

# A word on its way from tile to tile.
LINK = {"valid": Out(1), "word": Out(CONFIG_WORD)}


class ConfigDma(wiring.Component):
    """Gives configuration words, one per cycle.

    Behaviour: after `start`, the 64-bit words from `first` on leave on `o`, `count` of them. Nothing waits behind it.

    Members
    -------
    first, count : In         64-bit word address in the tile, and number of words.
    start, stop : In(1)       Begin; give up.
    busy : Out(1)             From start until the last word left.
    read, line : Out          Read request, granted in a cycle with `grant`.
    grant : In(1)
    word : In(64)             What the memory shows `Glb.read_latency` cycles after a granted request.
    o_valid, o : Out          A word.

    Timing: the first word leaves `Glb.read_latency` + 1 cycles after start; then one per cycle as long as reads are granted.
    Source: Onyx JSSC IV-F (a 64-bit word a cycle, of address and data, in parallel from all GLB tiles); Amber JSSC IV-B.
    """

    def __init__(self, glb: Glb) -> None:
        self.glb = glb
        self.line_bits = (glb.tile_bytes // 8 - 1).bit_length()
        super().__init__({
            "first": In(self.line_bits), "count": In(EXTENT_BITS), "start": In(1), "stop": In(1), "busy": Out(1),
            "read": Out(1), "line": Out(self.line_bits), "grant": In(1), "word": In(64), "o_valid": Out(1),
            "o": Out(CONFIG_WORD), **self.more})

    module_name = "config_dma"
    more: ClassVar[Mapping[str, wiring.Member]] = {}
    """What has more members has these."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left = Signal(EXTENT_BITS)
        under_way = Signal(self.glb.read_latency)   # bit 0: asked for in the cycle before
        asks = Signal()
        self.give(m, left, under_way, asks)
        with m.If(asks):
            m.d.sync += [left.eq(left - 1), self.line.eq(self.line + 1)]
        m.d.sync += under_way.eq(Mux(self.stop | self.start, 0, under_way << 1 | asks))
        with m.If(self.stop):
            m.d.sync += left.eq(0)
        with m.If(self.start):
            m.d.sync += [left.eq(self.count), self.line.eq(self.first)]
        return m

    def give(self, m: Module, left: Signal, under_way: Signal, asks: Signal) -> None:
        """When it reads, and what leaves of the words that come; left: to be asked for."""
        m.d.comb += [self.read.eq(left != 0), asks.eq(self.read & self.grant), self.busy.eq(self.read | under_way.any()),
                     self.o_valid.eq(under_way[-1]), self.o.eq(Mux(under_way[-1], self.word, 0))]


class ConfigSwitch(wiring.Component):
    """Which words a tile takes, and what it passes on to the tile to the east.

    Behaviour: the words are those of the tile's own DMA or, chained, those of the tile to the west. One whose column is among
    the tile's goes to that column; another one to the east, with its column counted from there.

    Parameters
    ----------
    columns : int             Columns of the tile.

    Members
    -------
    chained : In(1)           By configuration.
    own_valid, own : In       From the tile's own DMA.
    west, east : In, Out      Words between tiles.
    east_chained : In(1)      Whether the tile to the east takes them.
    takes : Out(columns)      `word` is for this column.
    word : Out
    busy : Out(1)             A word is on its way to the east.
    astray : Out(1)           A word was dropped, for no tile to the east takes it.

    Timing: to the tile's columns in the same cycle, to the east a cycle later.
    Source: Amber JSSC IV-B (chained GLB tiles configure more columns than their own).
    """

    def __init__(self, columns: int) -> None:
        self.columns = columns
        super().__init__({
            "chained": In(1), "own_valid": In(1), "own": In(CONFIG_WORD), "west": In(wiring.Signature(LINK)),
            "east": Out(wiring.Signature(LINK)), "east_chained": In(1), "takes": Out(columns), "word": Out(CONFIG_WORD),
            "busy": Out(1), "astray": Out(1)})

    module_name = "config_switch"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        valid = Signal()
        on = Signal()
        m.d.comb += [valid.eq(Mux(self.chained, self.west.valid, self.own_valid)),
                     self.word.eq(Mux(self.chained, self.west.word, self.own)),
                     on.eq(valid & (self.word.column >= self.columns)),
                     self.takes.eq(Mux(valid & ~on, 1 << self.word.column[:(self.columns - 1).bit_length()], 0)),
                     self.busy.eq(self.east.valid), self.astray.eq(self.east.valid & ~self.east_chained)]
        m.d.sync += self.east.valid.eq(on)
        with m.If(on):
            m.d.sync += [self.east.word.eq(self.word), self.east.word.column.eq(self.word.column - self.columns)]
        return m
