"""Load DMA: reads 16-bit words of a GLB tile by an affine pattern and streams them into the array."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.glb import LANES, Glb
from ..arch.soc import HOPS_BITS
from ..arch.token import TOKEN
from ..emit import macro
from ..memory.affine import AffineGenerator, loop_layout
from ..stream.fifo import Fifo
from .descriptor import descriptors, queue_members
from .listed import BlockList


class LoadDma(wiring.Component):
    """Streams memory words into the array, one 16-bit word per cycle.

    Behaviour: after `start`, the word at every address of the loop nest leaves on `o`, in order, as a data token; a
    64-bit word read once serves the 16-bit words that follow in it. Sliced, it ends with an iteration of the outermost loop,
    and a start with `again` goes on with the next one. What begins behind a last word reads its first one anew, for the memory
    may have been written.

    Members
    -------
    loops, first : In         Loop nest and byte address of its first word (even); listed, that of its list (a multiple of 8).
    start, stop : In(1)       Begin; give up.
    sliced, again : In(1)     Of the descriptor; with `start`: one that is sliced and has not ended goes on.
    listed : In(1)            With `Glb.listed`, of the descriptor: it is a list of blocks, and is not sliced.
    busy : Out(1)             From start until the last word was taken.
    read, line : Out          Read request: 64-bit word address in the tile; granted in a cycle with `grant`.
    grant : In(1)
    word : In(64)             What the memory shows `Glb.read_latency` cycles after a granted request. With `Glb.ring` of 2 or
                              more it comes a cycle later, and 2 more for each of `hops`.
    hops : In(3)              With `Glb.ring` of 2 or more: tiles to the east in the chain, less than `Glb.ring`.
    o : Out(stream)           Data tokens.
    next_column, repeats, queued : In, taken, ended : Out      With `Glb.queue`, as in `Descriptors`. One ends when the array
                              takes its last word.
    ends : Out(1)             With `Glb.queue`: the array takes the last word of a descriptor's last repetition.
    column : Out              With `Glb.queue`: where the word on `o` goes.

    Timing: the first word leaves `Glb.load_latency` + 1 cycles after start, in a chain that is shorter than others, too; then
    one per cycle as long as reads are granted, the first of a descriptor right behind the last of the one before. Of a list
    that is the length of its first block; behind each length pass `Glb.load_latency` cycles without a word.
    Source: Onyx JSSC V-C (load unit); 8 loops as in the public hardware.
    """

    def __init__(self, glb: Glb) -> None:
        self.glb = glb
        self.address_bits = (glb.chain_bytes - 1).bit_length()
        super().__init__({
            "loops": In(loop_layout(glb.load_loops)), "first": In(self.address_bits), "start": In(1), "stop": In(1),
            "sliced": In(1), "again": In(1), "busy": Out(1), "read": Out(1), "line": Out(self.address_bits - 3),
            "grant": In(1), "word": In(64), "o": Out(stream.Signature(TOKEN)), **queue_members(glb),
            **({"hops": In(HOPS_BITS)} if glb.ring > 1 else {}), **({"listed": In(1)} if glb.listed else {})})

    module_name = "load_dma"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.generator = generator = macro(AffineGenerator(self.glb.load_loops, self.address_bits))
        address = generator.address
        # In a sliced descriptor that has not ended.
        within = Signal()
        goes_on, anew = self.start & self.again & within, self.start & ~(self.again & within)
        runs = descriptors(m, "load", self, anew, "first", "loops", "sliced",
                           *("listed",) * self.glb.listed) if self.glb.queue else None
        now, restart = (self, anew) if runs is None else (runs.running, runs.begins)
        m.d.comb += generator.loops.eq(now.loops)

        # First stage: the address. It moves on when its line is at hand or its read is granted.
        pending = Signal()
        asks: Value = pending
        last: Value = generator.last
        blocks = None
        held_line = Signal(self.address_bits - 3)
        holds = Signal()
        hit = Signal()
        next_free = Signal()
        move = Signal()
        if self.glb.listed:
            m.submodules.blocks = blocks = macro(BlockList(self.glb))
            asks, last = pending & ~blocks.waits, blocks.ends
            m.d.comb += [blocks.listed.eq(now.listed), blocks.begins.eq(restart), blocks.first.eq(now.first),
                         blocks.stop.eq(self.stop), blocks.moves.eq(move), blocks.ended.eq(generator.last),
                         generator.start.eq(Mux(restart, now.first, blocks.address)),
                         generator.restart.eq(restart | blocks.goes)]
        else:
            m.d.comb += [generator.start.eq(now.first), generator.restart.eq(restart)]
        m.d.comb += [
            hit.eq(holds & (held_line == address[3:])),
            self.line.eq(address[3:]),
            self.read.eq(asks & ~hit & next_free),
            move.eq(asks & next_free & (hit | self.grant)),
            generator.step.eq(move),
        ]
        with m.If(move):
            m.d.sync += [holds.eq(1), held_line.eq(address[3:])]
            with m.If(Mux(within, generator.slice_ends, last)):
                m.d.sync += pending.eq(0)
            with m.If(last):
                m.d.sync += within.eq(0)

        # With a word goes whether its descriptor ends with it, and its column: the first stage may be at another one by then.
        mark = Const(0, 0) if runs is None else Cat(last & runs.last, now.column)
        marked = Signal(len(mark))
        # And whether it is of a line of a list, which is looked at as soon as it is here.
        tags = mark if blocks is None else Cat(mark, blocks.entry)
        brought = Signal(len(tags))
        with_word = brought if blocks is None else brought[:-1]

        # Last stage: the word. The memory shows a line for one cycle only, so it is kept.
        begins = self.start | self.stop
        full = Signal()
        fresh = Signal()
        lane = Signal(range(LANES))
        kept = Signal(64)
        shown = Signal(64)
        m.d.comb += shown.eq(Mux(fresh, self.word, kept))
        with m.If(fresh):
            m.d.sync += kept.eq(self.word)
        arrives = shown.word_select(lane, 16)
        if self.glb.load_latency == 1:
            m.d.comb += [self.o.valid.eq(full), self.o.payload.data.eq(arrives), next_free.eq(~full | self.o.ready),
                         marked.eq(with_word)]
            busy = pending | full
            m.d.sync += fresh.eq(0)
            with m.If(move):
                m.d.sync += [full.eq(1), lane.eq(address[1:3]), fresh.eq(~hit), brought.eq(tags)]
            with m.Elif(self.o.ready):
                m.d.sync += full.eq(0)
            with m.If(begins):
                m.d.sync += full.eq(0)
        else:
            under_way = self._under_way(m, move, begins, next_free)
            busy = pending | under_way
            asked = Cat(move, ~hit, address[1:3], tags)
            stages = [Signal(len(asked), name=f"asked_{cycle}") for cycle in range(1, self.glb.load_latency)]
            here = self._entering(asked, 0, asked if self.glb.ring == 1 else Const(0, len(asked)))
            for cycle, after in enumerate([*stages, Cat(full, fresh, lane, brought)], start=1):
                m.d.sync += after.eq(Mux(here[0] & ~begins, here, 0))
                here = self._entering(asked, cycle, after)
            m.submodules.queue = queue = macro(Fifo(16 + len(mark), self.glb.load_latency), flush=begins)
            m.d.comb += [queue.i.payload.eq(Cat(arrives, with_word)), queue.i.valid.eq(full & (queue.o.valid | ~self.o.ready)),
                         queue.o.ready.eq(self.o.ready), self.o.valid.eq(queue.o.valid | full),
                         Cat(self.o.payload.data, marked).eq(Mux(queue.o.valid, queue.o.payload, Cat(arrives, with_word)))]
        if blocks is not None:
            m.d.comb += [blocks.comes.eq(full & blocks.waits & brought[-1]), blocks.line.eq(shown)]
        with m.If(self.stop):
            m.d.sync += [pending.eq(0), within.eq(0)]
        with m.If(goes_on):
            m.d.sync += [pending.eq(1), holds.eq(0)]
        with m.If(restart):
            # A slice takes a start.
            m.d.sync += [pending.eq(anew | ~now.sliced), within.eq(now.sliced), holds.eq(0)]
        m.d.comb += self.busy.eq(busy if runs is None else busy | runs.waits)
        if runs is not None:
            m.d.comb += [runs.idle.eq(~pending & ~within), runs.steps.eq(move), runs.ends.eq(last),
                         self.column.eq(marked[1:]), runs.counts.eq(self.o.valid & self.o.ready & marked[0])]
        return m

    def _entering(self, asked: Value, cycle: int, before: Value) -> Value:
        """What was asked for so many cycles before; in a shorter chain words come sooner, and this skips cycles."""
        skipped = {2 * (self.glb.ring - 1 - hops): hops for hops in range(self.glb.ring)}
        return before if self.glb.ring == 1 or cycle not in skipped else Mux(self.hops == skipped[cycle], asked, before)

    def _late(self, m: Module) -> Value:
        """Whether it is too early for the first read after a start, of which the words come sooner in a shorter chain."""
        left = Signal(range(2 * self.glb.ring), name="late")
        with m.If(self.start):
            m.d.sync += left.eq(2 * (self.glb.ring - 1 - self.hops))
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        return left != 0

    def _under_way(self, m: Module, move: Value, begins: Value, next_free: Signal) -> Value:
        """Whether words are between their request and the array.

        As many may be as a read takes cycles in the longest chain, for memories do not wait: so a word can be asked for in each
        cycle, and what comes while the array takes none has a place.
        """
        count = Signal(range(self.glb.load_latency + 1))
        leaves = Signal()
        m.d.comb += [leaves.eq(self.o.valid & self.o.ready), next_free.eq((count != self.glb.load_latency) | leaves)]
        if self.glb.ring > 1:
            with m.If(self._late(m)):
                m.d.comb += next_free.eq(0)
        m.d.sync += count.eq(Mux(begins, 0, count + move - leaves))
        return count != 0
