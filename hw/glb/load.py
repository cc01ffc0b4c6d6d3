"""Load DMA: reads 16-bit words of a GLB tile by an affine pattern and streams them into the array."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.glb import LINE_BYTES, Glb
from ..arch.token import TOKEN
from ..emit import macro
from ..memory.affine import AffineGenerator, loop_layout

LANES = LINE_BYTES // 2


class LoadDma(wiring.Component):
    """Streams memory words into the array, one 16-bit word per cycle.

    Behaviour: after `start`, the word at every address of the loop nest leaves on `o`, in order, as a data token; a
    64-bit word read once serves the 16-bit words that follow in it.

    Members
    -------
    loops, first : In         Loop nest and byte address of its first word (even).
    start, stop : In(1)       Begin; give up.
    busy : Out(1)             From start until the last word was taken.
    read, line : Out          Read request: 64-bit word address in the tile; granted in a cycle with `grant`.
    grant : In(1)
    word : In(64)             What the memory shows in the cycle after a granted request.
    o : Out(stream)           Data tokens.

    Timing: the first word leaves 2 cycles after start; then one per cycle as long as reads are granted.
    Source: Onyx JSSC V-C (load unit); 8 loops as in the public hardware.
    """

    def __init__(self, glb: Glb) -> None:
        self.glb = glb
        self.address_bits = (glb.tile_bytes - 1).bit_length()
        super().__init__({
            "loops": In(loop_layout(glb.load_loops)), "first": In(self.address_bits), "start": In(1), "stop": In(1),
            "busy": Out(1), "read": Out(1), "line": Out(self.address_bits - 3), "grant": In(1), "word": In(64),
            "o": Out(stream.Signature(TOKEN))})

    module_name = "load_dma"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.generator = generator = macro(AffineGenerator(self.glb.load_loops, self.address_bits))
        address = generator.address
        m.d.comb += [generator.loops.eq(self.loops), generator.start.eq(self.first), generator.restart.eq(self.start)]

        # First stage: the address. It moves on when its line is at hand or its read is granted.
        pending = Signal()
        held_line = Signal(self.address_bits - 3)
        holds = Signal()
        hit = Signal()
        next_free = Signal()
        move = Signal()
        m.d.comb += [
            hit.eq(holds & (held_line == address[3:])),
            self.line.eq(address[3:]),
            self.read.eq(pending & ~hit & next_free),
            move.eq(pending & next_free & (hit | self.grant)),
            generator.step.eq(move),
        ]
        with m.If(move):
            m.d.sync += [holds.eq(1), held_line.eq(address[3:])]
            with m.If(generator.last):
                m.d.sync += pending.eq(0)

        # Second stage: the word. The memory shows a line for one cycle only, so it is kept.
        full = Signal()
        fresh = Signal()
        lane = Signal(range(LANES))
        kept = Signal(64)
        shown = Signal(64)
        m.d.comb += [
            shown.eq(Mux(fresh, self.word, kept)),
            self.o.valid.eq(full),
            self.o.payload.data.eq(shown.word_select(lane, 16)),
            next_free.eq(~full | self.o.ready),
            self.busy.eq(pending | full),
        ]
        m.d.sync += fresh.eq(0)
        with m.If(fresh):
            m.d.sync += kept.eq(self.word)
        with m.If(move):
            m.d.sync += [full.eq(1), lane.eq(address[1:3]), fresh.eq(~hit)]
        with m.Elif(self.o.ready):
            m.d.sync += full.eq(0)

        with m.If(self.stop):
            m.d.sync += [pending.eq(0), full.eq(0)]
        with m.If(self.start):
            m.d.sync += [pending.eq(1), holds.eq(0), full.eq(0)]
        return m
