"""Store DMA: takes words from the array and writes them to a GLB tile, by sections or by an affine pattern; or, static, in
the cycles that a 1-bit stream marks."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.glb import Glb
from ..arch.soc import EXTENT_BITS
from ..arch.token import TOKEN
from ..emit import macro
from ..memory.affine import AffineGenerator, loop_layout


class StoreDma(wiring.Component):
    """Writes the words that arrive from the array, one per cycle.

    Behaviour: by sections, a section is a length n and n words; all of them, lengths too, are stored one behind the
    other, and the run ends after `sections` of them (a level is two sections, a value array one). Affine, the run ends
    with the last address of the loop nest. Static, valid and ready of the words play no part: the word that `i` shows
    in a cycle in which `mark` shows 1 is stored, at the next address of the loop nest.

        static, mark ``0 1 1 0 1``, i ``5 6 7 8 9``      stored 6 7 9

    Members
    -------
    loops, first : In                 Loop nest and byte address of its first word.
    affine, is_static : In(1)         Mode; `affine` plays no part with `is_static`.
    sections, limit : In              Sections to store; 16-bit words that may be stored.
    start, stop : In(1)
    busy : Out(1)                     From start until the last word was written.
    beyond : Out(1)                   A word beyond `limit` arrived; nothing more is stored. It waits, unless static.
    lost : Out(1)                     Static: a marked word was not stored, for its write was not granted. Stays until the
                                      next start; nothing more is stored.
    words : Out                       16-bit words stored since start.
    write, address, data : Out        Write request, byte address, 16-bit word; done in a cycle with `grant`.
    grant : In(1)
    i : In(stream)                    Data tokens.
    mark : In(stream)                 Bits; taken in every cycle.

    Timing: a word is taken in the cycle in which its write is granted; static, from the cycle after start on.
    Source: Onyx JSSC V-C (store unit); sections as in the public hardware's sparse mode, `mark` as its stencil valid.
    """

    def __init__(self, glb: Glb) -> None:
        self.glb = glb
        self.address_bits = (glb.tile_bytes - 1).bit_length()
        super().__init__({
            "loops": In(loop_layout(glb.store_loops)), "first": In(self.address_bits), "affine": In(1),
            "is_static": In(1), "sections": In(EXTENT_BITS), "limit": In(EXTENT_BITS), "start": In(1), "stop": In(1),
            "busy": Out(1), "beyond": Out(1), "lost": Out(1), "words": Out(EXTENT_BITS),
            "write": Out(1), "address": Out(self.address_bits), "data": Out(16), "grant": In(1),
            "i": In(stream.Signature(TOKEN)), "mark": In(stream.Signature(1))})

    module_name = "store_dma"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.generator = generator = macro(AffineGenerator(self.glb.store_loops, self.address_bits))
        linear = Signal(self.address_bits)
        m.d.comb += [generator.loops.eq(self.loops), generator.start.eq(self.first), generator.restart.eq(self.start)]

        busy = Signal()
        done_sections = Signal(EXTENT_BITS)
        left = Signal(16)
        fits = Signal()
        there = Signal()
        taken = Signal()
        section_ends = Signal()
        m.d.comb += [
            fits.eq(self.words != self.limit),
            self.busy.eq(busy),
            there.eq(Mux(self.is_static, self.mark.valid & self.mark.payload, self.i.valid)),
            self.beyond.eq(busy & there & ~fits),
            self.write.eq(busy & there & fits & ~self.lost),
            self.address.eq(Mux(self.affine | self.is_static, generator.address, linear)),
            self.data.eq(self.i.payload.data),
            taken.eq(self.write & self.grant),
            # Outside a run words wait: what a stopped run left behind is flushed by the next start.
            self.i.ready.eq(self.is_static | (busy & fits & self.grant)),
            self.mark.ready.eq(1),
            generator.step.eq(taken),
            # Outside a section the word is a length, and an empty section ends with it.
            section_ends.eq(Mux(left == 0, self.i.payload.data == 0, left == 1)),
        ]
        with m.If(taken):
            m.d.sync += [self.words.eq(self.words + 1), linear.eq(linear + 2)]
            m.d.sync += left.eq(Mux(left == 0, self.i.payload.data, left - 1))
            with m.If(section_ends):
                m.d.sync += done_sections.eq(done_sections + 1)
            with m.If(Mux(self.affine | self.is_static, generator.last, section_ends & (done_sections + 1 == self.sections))):
                m.d.sync += busy.eq(0)
        with m.If(self.is_static & self.write & ~self.grant):
            m.d.sync += self.lost.eq(1)
        with m.If(self.stop):
            m.d.sync += busy.eq(0)
        with m.If(self.start):
            m.d.sync += [busy.eq(1), self.lost.eq(0), self.words.eq(0), done_sections.eq(0), left.eq(0), linear.eq(self.first)]
        return m
