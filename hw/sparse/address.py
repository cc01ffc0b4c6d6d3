"""Output address: puts its number in front of each block that a copy gives, so that a store knows where it goes."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ..arch.primitive import ADDRESS
from ..arch.token import DATA_BITS
from .interface import members
from .sections import last_of_block

FETCH, CHOOSE, LENGTH, NUMBER, BLOCK = range(5)


class Address(wiring.Component):
    """Put a number in front of the blocks of up to three streams, which are those of a sub-tile.

    Behaviour: a section of one word of `number` goes in front of the next block of each stream of `used`; then the next one is
    taken. One block leaves at a time. With `used` 3, `values` 2, number ``1 5``, block0 ``0 1 7`` and block1 ``1 9``, block0_o
    is ``1 5 0 1 7`` and block1_o ``1 5 1 9``.

    Members
    -------
    cfg : used, values
    number : In                            Words: a section of one word for each sub-tile.
    block0, block1, block2 : In            Words: blocks of two sections, or of one where `values` has their bit.
    block0_o, block1_o, block2_o : Out

    Timing: one word per cycle, numbers included, and a cycle in front of each block, in which it is chosen; two more between
    two sub-tiles. Outputs follow their input in the same cycle; which one has its turn comes from a register.
    Source: Onyx IEEE Micro, Unrolling (output address generator). There a level scanner counts, so that copies have their
    sub-tiles in turn; here a number comes with each sub-tile, so that any copy may have any. Where a number lies in memory is
    for the store to say (`hw/glb/slots.py`).
    """

    def __init__(self) -> None:
        super().__init__(members(ADDRESS))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inputs = (self.block0, self.block1, self.block2)
        outputs = (self.block0_o, self.block1_o, self.block2_o)
        phase = Signal(3)
        turn = Signal(2)
        done = Signal(3)        # streams that have given their block of this number
        waits = Signal(3)       # those that have one which has not left
        moves = Signal()
        there = Signal()
        word = Signal(DATA_BITS)
        mine = Array(each.valid for each in inputs)[turn]
        here = Array(each.payload.data for each in inputs)[turn]
        over = Signal()
        m.d.comb += [
            waits.eq(Cat(each.valid for each in inputs) & self.cfg.used & ~done),
            over.eq((phase == CHOOSE) & (done == self.cfg.used)),
            # The number stands there until all streams have had it.
            self.number.ready.eq((phase == FETCH) | over),
            there.eq((phase == LENGTH) | ((phase == NUMBER) & self.number.valid) | ((phase == BLOCK) & mine)),
            word.eq(Mux(phase == LENGTH, 1, Mux(phase == NUMBER, self.number.payload.data, here))),
            moves.eq(there & Array(each.ready for each in outputs)[turn]),
        ]
        for at, (block, out) in enumerate(zip(inputs, outputs, strict=True)):
            m.d.comb += [out.valid.eq(there & (turn == at)), out.payload.data.eq(word),
                         block.ready.eq((phase == BLOCK) & (turn == at) & out.ready)]
        sections = Mux(self.cfg.values.bit_select(turn, 1), 1, 2)
        last = last_of_block(m, here, sections, moves & (phase == BLOCK))
        with m.Switch(phase):
            with m.Case(FETCH):
                with m.If(self.number.valid):
                    m.d.sync += [phase.eq(CHOOSE), done.eq(0)]
            with m.Case(CHOOSE):
                with m.If(over):
                    with m.If(self.number.valid):
                        m.d.sync += phase.eq(FETCH)
                with m.Elif(waits.any()):
                    m.d.sync += [turn.eq(Mux(waits[0], 0, Mux(waits[1], 1, 2))), phase.eq(LENGTH)]
            with m.Case(LENGTH, NUMBER):
                with m.If(moves):
                    m.d.sync += phase.eq(phase + 1)
            with m.Case(BLOCK):
                with m.If(moves & last):
                    m.d.sync += [phase.eq(CHOOSE), done.eq(done | (1 << turn))]
        return m
