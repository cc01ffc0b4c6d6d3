"""Store DMA: takes words from the array and writes them to a GLB tile, by sections or by an affine pattern; or, static, in
the cycles that a 1-bit stream marks."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.glb import LANES, LINE_BYTES, Glb
from ..arch.soc import EXTENT_BITS, NUMBER_BITS
from ..arch.token import TOKEN
from ..emit import Macro, macro
from ..memory.affine import AffineGenerator, loop_layout
from .descriptor import descriptors, queue_members
from .deserialiser import Deserialiser
from .slots import Slots

# What a descriptor has more with `Glb.numbered`.
NUMBERED = ("numbered", "blocks", "number")


class StoreDma(wiring.Component):
    """Writes the words that arrive from the array, one per cycle.

    Behaviour: by sections, a section is a length n and n words; all of them, lengths too, are stored one behind the
    other, and the run ends after `sections` of them (a level is two sections, a value array one). Affine, the run ends
    with the last address of the loop nest. Static, valid and ready of the words play no part: the word that `i` shows
    in a cycle in which `mark` shows 1 is stored, at the next address of the loop nest. With a loop nest that is sliced, the run
    ends with an iteration of the outermost loop, and a start with `again` goes on with the next one.

        static, mark ``0 1 1 0 1``, i ``5 6 7 8 9``      stored 6 7 9

    Members
    -------
    loops, first : In                 Loop nest and byte address of its first word.
    affine, is_static : In(1)         Mode; `affine` plays no part with `is_static`.
    sections, limit : In              Sections to store; 16-bit words that may be stored.
    start, stop : In(1)
    sliced, again : In(1)             Of the descriptor; with `start`: one that is sliced and has not ended goes on.
    busy : Out(1)                     From start until the last word was taken.
    holds : Out(1)                    Words that were taken are not in their bank yet.
    moves : Out(1)                    A word was taken.
    beyond : Out(1)                   A word beyond `limit` arrived; nothing more is stored. It waits, unless static.
    lost : Out(1)                     Static: a marked word was not stored, for its bank had not taken the line before. Stays
                                      until the next start; nothing more is stored.
    words : Out                       16-bit words taken since start, or since the descriptor or its repetition began.
                                      The last of them may be on their way.
    write, line, lanes, data : Out    Write request: 64-bit word address in the tile, which 16-bit words of it, and the word;
                                      done in a cycle with `grant`.
    grant : In(1)
    i : In(stream)                    Data tokens.
    mark : In(stream)                 Bits; taken in every cycle.
    next_column, repeats, queued : In, taken, ended : Out      With `Glb.queue`, as in `Descriptors`. One ends when its last
                                      word is written.
    ends : Out(1)                     With `Glb.queue`: the last word of a descriptor's last repetition was taken, as many
                                      cycles ago as a write takes to the last tile of a chain.
    column : Out                      With `Glb.queue`: where words come from.
    numbered, blocks, number : In     With `Glb.numbered`: words are blocks, and where each goes says `Slots`.
    words_before : Out                With `Glb.queue`: `words` of the descriptor before when it ended; 0 after a start.

    Timing: a word is taken every cycle as long as lines are written in time (`Deserialiser`); static, from the cycle after
    start on. The first word of a descriptor may come right behind the last of the one before.
    Source: Onyx JSSC V-C (store unit); sections as in the public hardware's sparse mode, `mark` as its stencil valid.
    """

    def __init__(self, glb: Glb) -> None:
        self.glb = glb
        self.address_bits = (glb.chain_bytes - 1).bit_length()
        super().__init__({
            "loops": In(loop_layout(glb.store_loops)), "first": In(self.address_bits), "affine": In(1),
            "is_static": In(1), "sections": In(EXTENT_BITS), "limit": In(EXTENT_BITS), "start": In(1), "stop": In(1),
            "sliced": In(1), "again": In(1), "busy": Out(1), "beyond": Out(1), "lost": Out(1), "words": Out(EXTENT_BITS),
            "write": Out(1), "line": Out(self.address_bits - 3), "lanes": Out(LANES), "data": Out(8 * LINE_BYTES),
            "grant": In(1), "moves": Out(1), "holds": Out(1),
            "i": In(stream.Signature(TOKEN)), "mark": In(stream.Signature(1)), **queue_members(glb),
            **({"words_before": Out(EXTENT_BITS)} if glb.queue else {}),
            **({"numbered": In(1), "blocks": In(NUMBER_BITS), "number": In(NUMBER_BITS)} if glb.numbered else {})})

    module_name = "store_dma"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.generator = generator = macro(AffineGenerator(self.glb.store_loops, self.address_bits))
        m.submodules.lines = lines = macro(Deserialiser(self.address_bits))
        linear = Signal(self.address_bits)
        # In a sliced descriptor that has not ended.
        within = Signal()
        goes_on, anew = self.start & self.again & within, self.start & ~(self.again & within)
        runs = descriptors(m, "store", self, anew, "first", "loops", "sliced", "affine", "is_static", "sections",
                           "limit", *NUMBERED * self.glb.numbered) if self.glb.queue else None
        now, restart = (self, anew) if runs is None else (runs.running, runs.begins)
        m.d.comb += [generator.loops.eq(now.loops), generator.start.eq(now.first), generator.restart.eq(restart)]

        holds: Value = lines.holds
        # In a chain a write is done as many cycles after its grant as its tile is away; descriptors wait for the longest way,
        # behind the two cycles in which a line leaves.
        counting = Signal(self.glb.ring + 1)
        if self.glb.ring > 1:
            holds = holds | (self._on_its_way(m) != 0) | counting.any()
        busy = Signal()
        done_sections = Signal(EXTENT_BITS)
        left = Signal(16)
        fits = Signal()
        there = Signal()
        comes = Signal()
        taken = Signal()
        section_ends = Signal()
        loops = now.affine | now.is_static
        block_ends = section_ends & (done_sections + 1 == now.sections)
        slots = self._slots(m, runs, busy, taken, block_ends, anew) if self.glb.numbered else None
        m.d.comb += [
            fits.eq(self.words != now.limit if slots is None else Mux(now.numbered, slots.fits, self.words != now.limit)),
            self.busy.eq(busy if runs is None else busy | runs.waits), self.holds.eq(holds),
            there.eq(Mux(now.is_static, self.mark.valid & self.mark.payload, self.i.valid)),
            self.beyond.eq(busy & there & ~fits if slots is None else
                           Mux(now.numbered, slots.astray, busy & there & ~fits)),
            comes.eq(busy & there & fits & ~self.lost), lines.write.eq(comes),
            lines.address.eq(Mux(now.affine | now.is_static, generator.address, linear)), lines.data.eq(self.i.payload.data),
            self.write.eq(lines.request), self.line.eq(lines.line), self.lanes.eq(lines.lanes), self.data.eq(lines.words),
            lines.grant.eq(self.grant), taken.eq(lines.taken), self.moves.eq(taken if slots is None else taken | slots.takes),
            # Outside a run words wait: what a stopped run left behind is flushed by the next start.
            self.i.ready.eq(now.is_static | taken if slots is None else now.is_static | taken | slots.takes),
            self.mark.ready.eq(1),
            generator.step.eq(taken),
            # Outside a section the word is a length, and an empty section ends with it.
            section_ends.eq(Mux(left == 0, self.i.payload.data == 0, left == 1)),
        ]
        last = Mux(loops, generator.last, block_ends if slots is None else block_ends & ~now.numbered)
        ended = taken & last if slots is None else (taken & last) | slots.whole
        with m.If(taken):
            m.d.sync += [self.words.eq(self.words + 1), linear.eq(linear + 2)]
            m.d.sync += left.eq(Mux(left == 0, self.i.payload.data, left - 1))
            with m.If(section_ends):
                m.d.sync += done_sections.eq(done_sections + 1)
            with m.If(last | loops & within & generator.slice_ends):
                m.d.sync += busy.eq(0)
            with m.If(last):
                m.d.sync += within.eq(0)
        if slots is not None:
            with m.If(taken & block_ends & now.numbered):
                m.d.sync += done_sections.eq(0)
            with m.If(slots.places):
                m.d.sync += linear.eq(slots.address)
            with m.If(slots.whole):
                m.d.sync += busy.eq(0)
        with m.If(now.is_static & comes & ~taken):
            m.d.sync += self.lost.eq(1)
        with m.If(self.stop):
            m.d.sync += [busy.eq(0), within.eq(0)]
        with m.If(goes_on):
            m.d.sync += busy.eq(1)
        with m.If(restart):
            # A slice takes a start.
            m.d.sync += [busy.eq(anew | ~now.sliced), within.eq(now.sliced), self.lost.eq(0), self.words.eq(0),
                         done_sections.eq(0), left.eq(0), linear.eq(now.first)]
        if runs is not None:
            m.d.comb += [runs.idle.eq(~busy & ~within), runs.steps.eq(taken if slots is None else taken | slots.whole),
                         runs.ends.eq(last if slots is None else Mux(now.numbered, slots.whole, last)),
                         self.column.eq(now.column),
                         runs.counts.eq(ended & runs.last if self.glb.ring == 1 else counting[-1])]
            if self.glb.ring > 1:
                m.d.sync += counting.eq(Mux(self.start, 0, Cat(ended & runs.last, counting)))
            with m.If(self.taken):
                m.d.sync += self.words_before.eq(Mux(anew, 0, self.words + taken))
        return m

    def _slots(self, m: Module, runs: Any, busy: Value, taken: Value, block_ends: Value, anew: Value) -> Macro:
        """What finds the places of blocks that have numbers."""
        m.submodules.slots = slots = macro(Slots(self.glb))
        now = self if runs is None else runs.running
        m.d.comb += [slots.on.eq(busy & now.numbered), slots.anew.eq(anew),
                     slots.first.eq(now.first), slots.room.eq(now.limit),
                     slots.blocks.eq(now.blocks), slots.number.eq(now.number), slots.there.eq(self.i.valid),
                     slots.word.eq(self.i.payload.data), slots.stores.eq(taken & now.numbered), slots.ends.eq(block_ends)]
        if runs is not None:
            m.d.comb += [slots.queued.eq(self.queued & self.numbered & runs.last), slots.queued_first.eq(self.first),
                         slots.queued_room.eq(self.limit), slots.queued_blocks.eq(self.blocks),
                         slots.queued_number.eq(self.number)]
        return slots

    def _on_its_way(self, m: Module) -> Signal:
        """Cycles until what was granted is in its bank."""
        tile = self.line[(self.glb.tile_bytes // LINE_BYTES - 1).bit_length():]
        left = Signal(range(self.glb.ring))
        with m.If(self.write & self.grant & (tile >= left)):
            m.d.sync += left.eq(tile)
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        return left
