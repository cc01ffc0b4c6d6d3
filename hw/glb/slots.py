"""Output addresses: where a store puts blocks that come in any order, by the numbers in front of them."""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arch.glb import Glb
from ..arch.soc import EXTENT_BITS, NUMBER_BITS, ROOM_BITS

LENGTH, NUMBER, CHOOSE, PLACE, BLOCK = range(5)
# Behind a number, without a queue and with one.
BEHIND = (PLACE, CHOOSE)


class Chosen(NamedTuple):
    """Of the block at hand: whether it is of what runs, whether its number is known, and where the blocks of its descriptor
    begin, and how many words each may have."""

    mine: Value
    known: Value
    first: Value
    room: Value


class Slots(wiring.Component):
    """Finds the place of each block of a store.

    Behaviour: in front of each block stands a section of one word, its number; after 65535 comes 0. A descriptor has `blocks`
    of them, from `number` on, and block `number` + n goes to `first` + n * `room` words, whichever came before it. With `first`
    100, `room` 8 and `number` 6:

        1 8 2 50 60  1 6 1 70       2 50 60 from byte 132 on, 1 70 from byte 100 on

    What comes ahead for the descriptor that is queued goes to the place that it has there, and counts for it. A block of
    another number, a section in front of a block that is not of one word, and a block longer than `room` wait, and are told.

    Members
    -------
    on : In(1)                        What runs has numbers.
    anew : In(1)                      A run begins.
    first, room, blocks, number : In  Of what runs: byte address, 16-bit words a block, how many, and the number of the first.
    queued, queued_first, queued_room, queued_blocks, queued_number : In     With `Glb.queue`: of what has numbers and is taken
                                      next.
    there, word : In                  A word is offered.
    stores, ends : In(1)              It is stored; it is the last of its block.
    takes : Out(1)                    It stands in front of a block, and is taken.
    fits : Out(1)                   It is of a block, and has room.
    places, address : Out             The block that comes begins at this byte.
    whole : Out(1)                    All blocks of what runs have come.
    astray : Out(1)                   The word waits, as it belongs nowhere.

    Timing: between a number and its block is a cycle without a word, with `Glb.queue` two; all blocks have come in the cycle
    behind the last word. All but `takes`, `fits` and `astray` come from registers.
    Source: Onyx IEEE Micro, Unrolling (output address generator: fixed-size blocks, so that tiles that end in any order lie in
    order). There the level scanner multiplies and sends addresses; here it is the store, which knows how long the results of
    this launch can be, so that a program is not compiled for it.
    """

    def __init__(self, glb: Glb) -> None:
        self.glb = glb
        self.address_bits = (glb.chain_bytes - 1).bit_length()
        members = {"first": In(self.address_bits), "room": In(EXTENT_BITS), "blocks": In(NUMBER_BITS),
                   "number": In(NUMBER_BITS)}
        ahead = {"queued": In(1), **{f"queued_{name}": member for name, member in members.items()}} if glb.queue else {}
        super().__init__({
            **members, **ahead, "on": In(1), "anew": In(1), "there": In(1), "word": In(16), "stores": In(1),
            "ends": In(1), "takes": Out(1), "fits": Out(1), "places": Out(1), "address": Out(self.address_bits),
            "whole": Out(1), "astray": Out(1)})

    module_name = "store_slots"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        phase = Signal(3)
        slot = Signal(NUMBER_BITS)      # the number of the block at hand, from that of the first block of its descriptor on
        came = Signal(NUMBER_BITS)      # blocks of what runs
        filled = Signal(ROOM_BITS)      # words of the block at hand
        ahead = Signal(NUMBER_BITS)     # blocks of what is queued
        chosen = self._chosen(m, phase, slot) if self.glb.queue else \
            Chosen(Const(1), slot < self.blocks, self.first, self.room[:ROOM_BITS])
        offered = Signal()
        behind = BEHIND[self.glb.queue]
        m.d.comb += [
            offered.eq(self.on & self.there),
            self.whole.eq(self.on & (phase == LENGTH) & (came == self.blocks)),
            self.takes.eq(offered & Mux(phase == LENGTH, ~self.whole & (self.word == 1), phase == NUMBER)),
            self.places.eq((phase == PLACE) & chosen.known),
            self.address.eq(chosen.first + ((slot * chosen.room) << 1)),
            self.fits.eq((phase == BLOCK) & (filled != chosen.room)),
            self.astray.eq(offered & (((phase == LENGTH) & ~self.whole & (self.word != 1)) |
                                      ((phase == behind) & ~chosen.known) |
                                      ((phase == BLOCK) & (filled == chosen.room)))),
        ]
        with m.If(self.takes):
            m.d.sync += [phase.eq(Mux(phase == LENGTH, NUMBER, behind)), slot.eq(self.word - self.number)]
        with m.If(self.places):
            m.d.sync += [phase.eq(BLOCK), filled.eq(0)]
        with m.If(self.stores):
            m.d.sync += filled.eq(filled + 1)
            with m.If(self.ends):
                m.d.sync += [phase.eq(LENGTH), came.eq(came + chosen.mine)]
                m.d.sync += [ahead.eq(ahead + ~chosen.mine)] if self.glb.queue else []
        with m.If(self.whole):
            m.d.sync += [came.eq(ahead), ahead.eq(0)]
        with m.If(self.anew):
            m.d.sync += [phase.eq(LENGTH), came.eq(0), ahead.eq(0)]
        return m

    def _chosen(self, m: Module, phase: Signal, slot: Signal) -> Chosen:
        """The descriptor of the block at hand: what runs, or what is queued."""
        mine = Signal()
        first = Signal(self.address_bits)
        room = Signal(ROOM_BITS)
        beyond = Signal(NUMBER_BITS)
        here = Signal()
        known = Signal()
        m.d.comb += [here.eq(slot < self.blocks), beyond.eq(slot - (self.queued_number - self.number)[:NUMBER_BITS]),
                     known.eq((phase != CHOOSE) | here | (self.queued & (beyond < self.queued_blocks)))]
        with m.If((phase == CHOOSE) & known):
            m.d.sync += [phase.eq(PLACE), mine.eq(here), slot.eq(Mux(here, slot, beyond)),
                         first.eq(Mux(here, self.first, self.queued_first)),
                         room.eq(Mux(here, self.room[:ROOM_BITS], self.queued_room[:ROOM_BITS]))]
        return Chosen(mine, known, first, room)
