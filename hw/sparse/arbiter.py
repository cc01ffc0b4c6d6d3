"""Stream arbiter: leads the blocks of several copies to one link, whole and in turn."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ..arch.primitive import ARBITER
from ..arch.token import DATA_BITS
from .interface import members
from .sections import last_of_block, next_in_turn

LENGTH, NUMBER, BLOCK = range(3)


class Arbiter(wiring.Component):
    """Lead the blocks of four inputs to one output, one after the other.

    Behaviour: a block leaves whole, and those of an input keep their order; among inputs that have one the turn goes round.
    In front of a block of an input whose bit of `numbers` is set leaves a section of one word, `first` plus the number of the
    input: with `first` 4 and blocks of one section, ``2 50 60`` on block1 leaves as ``1 5 2 50 60``. So the link says whose
    each block is. Other inputs bring such blocks, from an arbiter in front: arbiters make a tree of any size.

    Members
    -------
    cfg : sections, numbers, first
    block0, block1, block2, block3 : In     Words: blocks of `sections` sections, 1 or 2, and one more where they have a number.
    block : Out

    Timing: one word per cycle. A block whose input has waited follows the one before in the next cycle, another one two
    cycles after its first word has come; a number is two words. `block` follows its input in the same cycle, but which one
    that is comes from a register.
    Source: Onyx IEEE Micro, Unrolling (arbiter: round robin, four inputs, shared FIFOs of a PE). The numbers take the place of
    the addresses that its output address generator puts in front of blocks: no room is reserved, and blocks may be of any
    length.
    """

    def __init__(self) -> None:
        super().__init__(members(ARBITER))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inputs = (self.block0, self.block1, self.block2, self.block3)
        out = self.block
        busy = Signal()
        turn = Signal(2, init=3)
        phase = Signal(2)
        ends = Signal()
        moves = Signal()
        valid = Cat(each.valid for each in inputs)
        here = Array(each.payload.as_value() for each in inputs)[turn]
        # Of the input whose block ends the next word is not to be seen yet.
        requests = Signal(4)
        m.d.comb += requests.eq(valid & ~Mux(busy, 1 << turn, 0))
        chosen = next_in_turn(m, requests, turn)
        m.d.comb += [out.valid.eq(busy & ((phase != BLOCK) | valid.bit_select(turn, 1))), moves.eq(out.valid & out.ready)]
        with m.Switch(phase):
            with m.Case(LENGTH):
                m.d.comb += out.payload.data.eq(1)
            with m.Case(NUMBER):
                m.d.comb += out.payload.data.eq(self.cfg.first + turn)
            with m.Case(BLOCK):
                m.d.comb += out.payload.eq(here)
        for at, each in enumerate(inputs):
            m.d.comb += each.ready.eq(busy & (phase == BLOCK) & (turn == at) & out.ready)
        sections = self.cfg.sections + ~self.cfg.numbers.bit_select(turn, 1)
        last = last_of_block(m, here[:DATA_BITS], sections, moves & (phase == BLOCK))
        m.d.comb += ends.eq(moves & (phase == BLOCK) & last)
        with m.If(~busy | ends):
            m.d.sync += [busy.eq(requests.any()), phase.eq(Mux(self.cfg.numbers.bit_select(chosen, 1), LENGTH, BLOCK))]
            with m.If(requests.any()):
                m.d.sync += turn.eq(chosen)
        with m.Elif(moves & (phase != BLOCK)):
            m.d.sync += phase.eq(phase + 1)
        return m
