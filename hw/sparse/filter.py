"""Stream filter: leads each block of a link to the copy whose number it carries."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ..arch.primitive import COPY_BITS, FILTER
from .interface import members
from .sections import last_of_block


class Filter(wiring.Component):
    """Lead the blocks of one link to three outputs, by their numbers.

    Behaviour: numbers below `first1` belong to output 0, those from `first2` on to output 2, the others to output 1. With
    `first1` 1, `first2` 2 and blocks of one section, ``2 1 70 0 2 50 60`` gives ``2 50 60`` on block0 and ``1 70`` on block2.
    An output whose bit of `keep` is set also gets the number, for a filter behind it; so filters make a tree of any size.
    With `given`, block ``1 70 2 50 60`` and number ``2 0`` give the same.

    Members
    -------
    cfg : sections, given, keep, first1, first2
    block : In                    Words: blocks of 1 to 3 sections, each a length and as many words.
    number : In                   Words below 64; not read unless given.
    block0, block1, block2 : Out

    Timing: one word per cycle, numbers included. Outputs follow `block` and `number` in the same cycle. A block whose output
    waits makes those behind it wait.
    Source: Onyx IEEE Micro, Unrolling (stream filter). There each level writer compares the number with its own and
    swallows what is not for it; here a PE parts the link, so that a MEM tile stays as it is and no net has a sink in every
    copy, all of which would have to be ready at once.
    """

    def __init__(self) -> None:
        super().__init__(members(FILTER))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        outputs = (self.block0, self.block1, self.block2)
        inside = Signal()       # of a block, behind its number
        way = Signal(2)         # the output of the block
        named = Signal(2)
        leads = Signal(2)
        keeps = Signal()
        there = Signal()
        ready = Signal()
        moves = Signal()
        given = self.cfg.given
        number = Mux(given, self.number.payload.data, self.block.payload.data)[:COPY_BITS]
        m.d.comb += [
            named.eq(Mux(number < self.cfg.first1, 0, Mux(number < self.cfg.first2, 1, 2))),
            leads.eq(Mux(inside, way, named)),
            keeps.eq(inside | self.cfg.keep.bit_select(named, 1)),
            there.eq(Mux(given & ~inside, self.number.valid, self.block.valid)),
            # A number that does not stay is taken at once.
            ready.eq(~keeps | Cat(output.ready for output in outputs).bit_select(leads, 1)),
            moves.eq(there & ready),
            self.block.ready.eq((inside | ~given) & ready),
            self.number.ready.eq(given & ~inside & ready)]
        for at, output in enumerate(outputs):
            m.d.comb += [output.valid.eq(there & keeps & (leads == at)),
                         output.payload.eq(Mux(given & ~inside, self.number.payload, self.block.payload))]
        last = last_of_block(m, self.block.payload.data, self.cfg.sections, inside & moves)
        with m.If(moves):
            m.d.sync += inside.eq(~(inside & last))
            with m.If(~inside):
                m.d.sync += way.eq(named)
        return m
