"""Blocks of a list: where the loops of a load begin, block by block."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.glb import LINE_BYTES, Glb

# A line of a list. The load gives its first word as any other one.
ENTRY = data.StructLayout({"length": 16, "last": 1, "unused": 15, "address": 32})
LINE_BITS = (LINE_BYTES - 1).bit_length()


class BlockList(wiring.Component):
    """Leads the address generator of a load to the lines of a list, and from each of these to its block.

    Behaviour: the first address of a listed descriptor is that of its list. The word there, a length, is asked for as any
    other one is; its line tells where the block is, through which the loops go. At their end the next line follows, until
    behind one that is the last.

        list at 0x40, loops 3 of 2 bytes       0x40  0x100 0x102 0x104  0x48  0x20a 0x20c 0x20e

    Members
    -------
    listed : In(1)         Of the descriptor that begins; else its first address is that of its loops.
    begins, first : In     A descriptor begins; byte address.
    stop : In(1)
    moves, ended : In(1)   The word at hand is asked for; it is the last one of the loops.
    comes, line : In       A line of the list is at hand.
    entry : Out(1)         What is at hand is the address of a line of the list.
    waits : Out(1)         Such a line is on its way, and there is no address at hand.
    goes, address : Out    The loops begin anew, at this byte.
    ends : Out(1)          The word at hand is the last one of the descriptor.

    Timing: `entry` and `waits` come from registers, `goes` and `address` follow their inputs. Between a length and the first
    word of its block are as many cycles without a word as a read takes.
    Source: ours; Onyx JSSC IV-C has sub-tiles copied by the host.
    """

    def __init__(self, glb: Glb) -> None:
        self.address_bits = (glb.chain_bytes - 1).bit_length()
        super().__init__({
            "listed": In(1), "begins": In(1), "first": In(self.address_bits), "stop": In(1), "moves": In(1), "ended": In(1),
            "comes": In(1), "line": In(ENTRY), "entry": Out(1), "waits": Out(1), "goes": Out(1),
            "address": Out(self.address_bits), "ends": Out(1)})

    module_name = "block_list"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        following = Signal(self.address_bits - LINE_BITS, reset_less=True)     # line of the list
        last = Signal()
        turns = Signal()
        m.d.comb += [
            turns.eq(self.moves & self.ended & ~self.entry & ~last), self.goes.eq(self.comes | turns),
            self.address.eq(Mux(self.comes, self.line.address, following << LINE_BITS)),
            self.ends.eq(self.ended & ~self.entry & last),
        ]
        with m.If(self.moves & self.entry):
            m.d.sync += [self.entry.eq(0), self.waits.eq(1)]
        with m.If(self.comes):
            m.d.sync += [self.waits.eq(0), last.eq(self.line.last)]
        with m.If(turns):
            m.d.sync += [self.entry.eq(1), following.eq(following + 1)]
        with m.If(self.stop):
            m.d.sync += [self.entry.eq(0), self.waits.eq(0)]
        with m.If(self.begins):
            m.d.sync += [self.entry.eq(self.listed), self.waits.eq(0), last.eq(~self.listed),
                         following.eq(self.first[LINE_BITS:] + 1)]
        return m
