"""The ring of the global buffer: how a load or store reaches the banks of the tiles that are chained to its own."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arch.glb import LANES, LINE_BYTES, Glb
from ..interconnect.boxes import Members


def line_bits(room: int) -> int:
    """Bits of a line's number in so many bytes."""
    return (room // LINE_BYTES - 1).bit_length()


def reads(bits: int) -> Members:
    """What a load asks of banks."""
    return {"read": Out(1), "read_line": Out(bits)}


def writes(bits: int) -> Members:
    """What a store asks of them."""
    return {"write": Out(1), "write_line": Out(bits), "lanes": Out(LANES), "data": Out(8 * LINE_BYTES)}


def ring_link(glb: Glb) -> Members:
    """Between a tile and the one to the east: what is asked there and words on their way out, and words on their way back.

    tiles: the one to the east and those that follow it in the chain, `Glb.ring` of them at most.
    """
    bits = line_bits(glb.chain_bytes)
    return {**reads(bits), **writes(bits), "word": Out(8 * LINE_BYTES), "back": In(8 * LINE_BYTES),
            "tiles": In(glb.ring.bit_length())}


class RingSwitch(wiring.Component):
    """Which banks an access is for: those of its own tile, or those of a tile to the east in the chain.

    Behaviour: the load and the store of the first tile ask, in one cycle, for a line each. Both go from tile to tile, a cycle
    each, and are done in the tile that has the line, whose number counts from the tile that sees it. Nothing waits on the way:
    a store that means the bank of the load beside it is not granted. The word of a load goes on to the last tile and back to
    the first one, so it takes as long from whichever tile, and words come in the order in which they were asked for.

        a chain of 3 tiles, read_latency 1; in cycle 0 a line of the second one
        cycle   1  asked there    2  its word    3  at the third    4  back at the second    5  at the first

    Parameters
    ----------
    glb : Glb       With `ring` of 2 or more.

    Members
    -------
    connected : In(1)              The tile belongs to the chain of the tile to the west, which asks in place of its own units.
    east_connected : In(1)         So does the tile to the east to that of this one.
    load, store : In               What the tile's own units ask: `reads`, `writes` in a whole chain.
    load_grant, store_grant : Out(1)       It is done, here or further on; a store of a tile that is connected is dropped.
    load_word : Out(64)            For the load, the word that it asked for `Glb.read_latency` cycles before and 2 more for each
                                   tile to the east in the chain.
    here : Out                     What is asked of the tile's own banks: `reads`, `writes` in the tile. They serve it in its
                                   cycle, whoever else asks; a read and a write are for different banks.
    word : In(64)                  What they show `Glb.read_latency` cycles after a read.
    west, east : In, Out           Links with the neighbours (`ring_link`).
    hops : Out                     Tiles that follow this one in the chain, so many cycles after that was made; `Glb.ring` for
                                   all that are too many.
    busy : Out(1)                  An access is on its way to the east.
    astray : Out(1)                One is dropped, for no tile to the east is connected, or the tile's own units ask inside a
                                   chain.

    Timing: all that goes from tile to tile comes from registers, a cycle each.
    Source: Onyx JSSC II and the public hardware's streaming ring: connected by configuration, a register each way at each hop,
    a latency that the compiler knows. That words go round, so that no tile has to delay its own, is ours.
    """

    module_name = "ring_switch"

    def __init__(self, glb: Glb) -> None:
        assert glb.ring > 1, "a tile alone has no ring"
        self.glb = glb
        self.chain_bits, self.tile_bits = line_bits(glb.chain_bytes), line_bits(glb.tile_bytes)
        self.bank_bits = line_bits(glb.bank_bytes)
        link = wiring.Signature(ring_link(glb))
        super().__init__({
            "connected": In(1), "east_connected": In(1), "load": In(wiring.Signature(reads(self.chain_bits))),
            "store": In(wiring.Signature(writes(self.chain_bits))), "load_grant": Out(1), "store_grant": Out(1),
            "load_word": Out(8 * LINE_BYTES),
            "here": Out(wiring.Signature({**reads(self.tile_bits), **writes(self.tile_bits)})), "word": In(8 * LINE_BYTES),
            "hops": Out(glb.ring.bit_length()), "west": In(link), "east": Out(link), "busy": Out(1), "astray": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        meets = Signal()
        goes_on = []
        m.d.comb += [
            meets.eq(self.load.read & (self.load.read_line[self.bank_bits:] == self.store.write_line[self.bank_bits:])),
            self.load_grant.eq(~self.connected), self.store_grant.eq(self.connected | ~meets),
            self.here.lanes.eq(Mux(self.connected, self.west.lanes, self.store.lanes)),
            self.here.data.eq(Mux(self.connected, self.west.data, self.store.data)),
        ]
        for what, own in (("read", self.load.read), ("write", self.store.write & ~meets)):
            unit = self.load if what == "read" else self.store
            line = Signal(self.chain_bits, name=f"{what}_line")
            asked, beyond = Signal(name=f"{what}_asked"), Signal(name=f"{what}_beyond")
            outer, passed = getattr(self.east, what), getattr(self.east, f"{what}_line")
            m.d.comb += [
                line.eq(Mux(self.connected, getattr(self.west, f"{what}_line"), getattr(unit, f"{what}_line"))),
                asked.eq(Mux(self.connected, getattr(self.west, what), own)),
                beyond.eq(asked & (line[self.tile_bits:] != 0)),
                getattr(self.here, what).eq(asked & ~beyond), getattr(self.here, f"{what}_line").eq(line),
            ]
            m.d.sync += outer.eq(beyond & self.east_connected)
            with m.If(beyond):
                m.d.sync += passed.eq(line - (1 << self.tile_bits))
                m.d.sync += [self.east.lanes.eq(self.here.lanes), self.east.data.eq(self.here.data)] if what == "write" else []
            goes_on.append(beyond)
        # A tile that is connected while its own units run: what they ask is for nobody.
        inside = self.connected & (self.load.read | self.store.write)
        m.d.comb += [self.busy.eq(self.east.read | self.east.write),
                     self.astray.eq((goes_on[0] | goes_on[1]) & ~self.east_connected | inside)]

        m.d.comb += self.hops.eq(Mux(self.east_connected, self.east.tiles, 0))
        m.d.sync += self.west.tiles.eq(Mux(self.hops == self.glb.ring, self.glb.ring, self.hops + 1))

        # Bit 0: asked of the banks here in the cycle before.
        mine = Signal(self.glb.read_latency)
        word = Signal(8 * LINE_BYTES)
        m.d.sync += mine.eq(mine << 1 | self.here.read)
        m.d.comb += [word.eq(Mux(mine[-1], self.word, self.west.word)),
                     self.load_word.eq(Mux(self.east_connected, self.east.back, self.word))]
        m.d.sync += [self.east.word.eq(word), self.west.back.eq(Mux(self.east_connected, self.east.back, word))]
        return m
