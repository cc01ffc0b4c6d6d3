"""A request port of a DMA: one request at a time, between its streams of elements and bursts of the bus."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.dma import MOST_BEATS, MOST_SIZE, SPAN_BITS, Dma
from ..emit import Macro, macro
from ..soc.mover import Pieces
from ..soc.rows import LINES
from ..stream.fifo import Fifo, Fifo2
from ..stream.lead import lead
from .lanes import Pack, Unpack, of_bus, part_layout, word_layout
from .list_walk import ListWalk
from .realign import Gather, Scatter
from .request import RUN, request_layout
from .walk import Walk

BURST = data.StructLayout({"line": LINES, "beats": range(MOST_BEATS)})
# Bursts of a port that are written and not answered; where streams are whole words rows of a few words are bursts of their own.
WRITES, WIDE_WRITES = 15, 63
# Bits of the bytes of a run, with those in front of it in its first word.
END_BITS = SPAN_BITS + MOST_SIZE + 1


class ShortPieces(Pieces):
    """Cuts a run of words into bursts of up to `most` beats, a power of two; none crosses a multiple of their bytes."""

    def __init__(self, most: int) -> None:
        self.most, self.module_name = most, f"pieces_{most}"
        super().__init__()


class Port(wiring.Component):
    """Does requests, one after the other.

    Behaviour: of a request that loads, words are asked for as far as they have room, and its elements leave in order; of one
    that stores, bursts are offered whose words are all there. Each run of elements has words of its own, so that no byte is
    read or written that is not of the request, but for whole words that are read.

    Parameters
    ----------
    dma : Dma

    Members
    -------
    request : In(stream)    `request_layout`.
    load : Out(stream)      Elements from memory.
    store : In(stream)      Elements to memory; only those of requests are taken.
    ended : Out(1)          The request has ended: its last element was taken, or its last word is in memory.
    failed : Out(1)         With `ended`: an answer of the bus was an error.
    read : Out(stream), write : Out(stream)      `BURST`: the first word of the bus, beats less one.
    came : In(1), came_word : In, came_error : In(1)         A word that was asked for; it has room.
    word : Out(stream)      `word_layout`: those of the bursts of `write`, in order.
    answered : In(1), answered_error : In(1)                 A burst is written.
    whole : In(1), ragged : Out(1)     With `Dma.wide`: elements of the request come and go as whole words of the bus; with
                            `ended`, they were no whole number of these. Lists are not `whole`.

    Timing: with `whole` a word of memory, else an element a cycle each way. `WRITES` bursts, with `wide` `WIDE_WRITES`, and
    words that fill `room`, may be under way.
    Source: Stellar VI-C.
    """

    def __init__(self, dma: Dma) -> None:
        self.dma = dma
        elements, bursts = stream.Signature(dma.stream_bits), stream.Signature(BURST)
        wide = {"whole": In(1), "ragged": Out(1)} if dma.wide else {}
        super().__init__({**wide, "request": In(stream.Signature(request_layout(dma.loops))), "load": Out(elements),
                          "store": In(elements), "ended": Out(1), "failed": Out(1), "read": Out(bursts), "write": Out(bursts),
                          "came": In(1), "came_word": In(dma.word_bits), "came_error": In(1),
                          "word": Out(stream.Signature(word_layout(dma.bus_bytes))),
                          "answered": In(1), "answered_error": In(1)})

    @property
    def module_name(self) -> str:
        more = "_lists" * self.dma.lists + "_wide" * self.dma.wide
        return of_bus(f"dma_port_{self.dma.loops}_{self.dma.beats}_{self.dma.room}{more}", self.dma.bus_bytes)

    @property
    def emit_key(self) -> tuple[int, ...]:
        return self.dma.loops, self.dma.beats, self.dma.room, self.dma.lists, self.dma.wide, self.dma.bus_bytes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        stores = Signal()
        lost = Signal()
        size = Signal(2)
        going = Signal()
        m.submodules.walk = walk = macro(Walk(self.dma.loops))
        # Words of two directions never meet, whatever went before.
        quiet = Signal()
        linked = self.request.payload.linked if self.dma.lists else Const(0)
        m.d.comb += [walk.i.payload.eq(self.request.payload), walk.i.valid.eq(self.request.valid & ~going & quiet & ~linked),
                     self.request.ready.eq(walk.i.ready & ~going & quiet)]
        with m.If(self.request.valid & self.request.ready):
            m.d.sync += [going.eq(1), stores.eq(self.request.payload.stores), size.eq(self.request.payload.size),
                         self.failed.eq(0)]
        with m.Elif((self.came & self.came_error) | (self.answered & self.answered_error) | lost):
            m.d.sync += self.failed.eq(1)
        with m.If(self.ended):
            m.d.sync += going.eq(0)
        runs: Any = stream.Signature(RUN).create(path=("runs",))
        lists = self._lists(m, walk, runs) if self.dma.lists else None
        if lists is None:
            lead(m, walk.o, runs)
        else:
            m.d.comb += [lists.i.valid.eq(self.request.valid & self.request.ready & linked), lost.eq(lists.lost & lists.goes)]
        parts, pieces = self._cut(m, runs, size)
        m.submodules.words = words = macro(Fifo(word_layout(self.dma.bus_bytes), self.dma.room))
        m.submodules.unpack = unpack = macro(Unpack(self.dma.bus_bytes))
        m.submodules.pack = pack = macro(Pack(self.dma.bus_bytes))
        m.d.comb += [
            unpack.size.eq(size), pack.size.eq(size),
            unpack.run.payload.eq(parts.o.payload), pack.run.payload.eq(parts.o.payload),
            unpack.run.valid.eq(parts.o.valid & ~stores), pack.run.valid.eq(parts.o.valid & stores),
            parts.o.ready.eq(Mux(stores, pack.run.ready, unpack.run.ready)),
            # The words of a port go one way at a time.
            words.i.valid.eq(Mux(stores, pack.word.valid, self.came)), pack.word.ready.eq(words.i.ready),
            words.i.payload.data.eq(Mux(stores, pack.word.payload.data, self.came_word)),
            words.i.payload.strobe.eq(pack.word.payload.strobe),
            unpack.word.payload.eq(words.o.payload.data), unpack.word.valid.eq(words.o.valid & ~stores),
            self.word.payload.eq(words.o.payload), self.word.valid.eq(words.o.valid & stores),
            words.o.ready.eq(Mux(stores, self.word.ready, unpack.word.ready)),
        ]
        lead(m, unpack.o, self.load)
        lead(m, self.store, pack.i)
        took: Value = unpack.ended      # the last element
        gave: Value = pack.ended
        still: Value = pack.goes
        if self.dma.wide:
            gather, scatter = self._whole(m, parts, words, size, stores, (unpack, pack))
            took, gave, still = took | gather.ended, gave | scatter.ended, still | scatter.goes
        ends = self._heads(m, lists, parts, words, unpack, pieces, stores) if lists is not None else Const(0)
        idle, full = self._bursts(m, pieces, words, stores)
        m.d.comb += quiet.eq(idle & full & ~words.o.valid & ~pieces.o.valid & ~still)
        filled = Signal()
        with m.If(gave):
            m.d.sync += filled.eq(1)
        with m.If(self.ended):
            m.d.sync += filled.eq(0)
        m.d.comb += self.ended.eq(took | (filled & idle & ~words.o.valid) | (going & ends))
        return m

    def _whole(self, m: Module, parts: Macro, words: Macro, size: Signal, stores: Value,
               narrow: tuple[Macro, Macro]) -> tuple[Macro, Macro]:
        """What moves whole words, in place of what moves elements, while the request is of such a stream."""
        m.submodules.gather = gather = macro(Gather(self.dma.bus_bytes))
        m.submodules.scatter = scatter = macro(Scatter(self.dma.bus_bytes))
        whole = Signal()
        torn = Signal()
        with m.If(self.request.valid & self.request.ready):
            m.d.sync += [whole.eq(self.whole), torn.eq(0)]
        with m.Elif(scatter.ragged):
            m.d.sync += torn.eq(1)
        unpack, pack = narrow
        m.d.comb += [
            gather.size.eq(size), scatter.size.eq(size), self.ragged.eq(gather.ragged | torn),
            gather.run.payload.eq(parts.o.payload), scatter.run.payload.eq(parts.o.payload),
            gather.word.payload.eq(words.o.payload.data), scatter.i.payload.eq(self.store.payload)]
        with m.If(whole):
            # Over what elements say.
            m.d.comb += [
                unpack.run.valid.eq(0), pack.run.valid.eq(0), gather.run.valid.eq(parts.o.valid & ~stores),
                scatter.run.valid.eq(parts.o.valid & stores),
                parts.o.ready.eq(Mux(stores, scatter.run.ready, gather.run.ready)),
                words.i.valid.eq(Mux(stores, scatter.word.valid, self.came)), scatter.word.ready.eq(words.i.ready),
                words.i.payload.data.eq(Mux(stores, scatter.word.payload.data, self.came_word)),
                words.i.payload.strobe.eq(scatter.word.payload.strobe), gather.word.valid.eq(words.o.valid & ~stores),
                words.o.ready.eq(Mux(stores, self.word.ready, gather.word.ready)),
                scatter.i.valid.eq(self.store.valid), self.store.ready.eq(scatter.i.ready)]
            lead(m, gather.o, self.load)
        return gather, scatter

    def _lists(self, m: Module, walk: Macro, runs: Any) -> Macro:
        """What follows lists, beside what walks loops."""
        m.submodules.lists = lists = macro(ListWalk(self.dma.loops))
        m.d.comb += lists.i.payload.eq(self.request.payload)
        with m.If(lists.goes):
            lead(m, lists.o, runs)
        with m.Else():
            lead(m, walk.o, runs)
        return lists

    def _heads(self, m: Module, lists: Macro, parts: Macro, words: Macro, unpack: Macro, pieces: Macro,
               stores: Value) -> Value:
        """Heads of nodes go back to what follows the list; whether a list has ended, with all its elements taken."""
        mine = Signal()
        listing = Signal()
        m.d.comb += [
            mine.eq(parts.o.valid & parts.o.payload.head & ~unpack.goes),
            lists.head.payload.eq(words.o.payload.data), lists.head.valid.eq(mine & words.o.valid)]
        with m.If(parts.o.valid & parts.o.payload.head & ~stores):
            # Over what the lines before say.
            m.d.comb += [unpack.run.valid.eq(0), parts.o.ready.eq(lists.head.valid & lists.head.ready),
                         words.o.ready.eq(Mux(mine, lists.head.ready, unpack.word.ready))]
        with m.If(lists.goes):
            m.d.sync += listing.eq(1)
        with m.Elif(self.ended):
            m.d.sync += listing.eq(0)
        return listing & ~lists.goes & ~parts.o.valid & ~unpack.goes & ~pieces.o.valid

    def _cut(self, m: Module, runs: Any, size: Signal) -> tuple[Macro, Macro]:
        """Each run where its elements are, and as bursts."""
        # A run has a word or more, so that those wait here whose words have been asked for.
        m.submodules.parts = parts = macro(Fifo(part_layout(self.dma.bus_bytes), self.dma.room))
        m.submodules.pieces = pieces = macro(ShortPieces(self.dma.beats))
        taker = pieces.i
        if self.dma.wide:
            # The words of a run that is stored need its part, and its burst needs the words: the next run does not wait for it.
            m.submodules.ahead = ahead = macro(Fifo2(pieces.i.payload.shape()))
            lead(m, ahead.o, pieces.i)
            taker = ahead.i
        run = runs.payload
        there = run.there != 0
        end = Signal(END_BITS)
        low = exact_log2(self.dma.bus_bytes)        # bits of an address that are within a word
        m.d.comb += [
            end.eq(run.address[:low] + (run.there << size)),
            parts.i.payload.offset.eq(run.address), parts.i.payload.there.eq(run.there), parts.i.payload.pad.eq(run.pad),
            parts.i.payload.last.eq(run.last), parts.i.payload.head.eq(run.head),
            parts.i.valid.eq(runs.valid & (taker.ready | ~there)),
            taker.payload.line.eq(run.address[low:]),
            taker.payload.lines.eq(Mux(run.head, 1, (end + self.dma.bus_bytes - 1) >> low)),
            taker.valid.eq(runs.valid & there & parts.i.ready),
            runs.ready.eq(parts.i.ready & (taker.ready | ~there)),
        ]
        return parts, pieces

    def _bursts(self, m: Module, pieces: Macro, words: Macro, stores: Signal) -> tuple[Signal, Signal]:
        """Offers bursts; whether all that were written are answered, and whether there is all the room."""
        burst = pieces.o.payload
        room = Signal(range(self.dma.room + 1), init=self.dma.room)     # words that have neither come nor been asked for
        loose = Signal(range(self.dma.room + 1))       # words of no burst yet
        most = WIDE_WRITES if self.dma.wide else WRITES
        written = Signal(range(most + 1))               # bursts without an answer
        reads = self.read.valid & self.read.ready
        writes = self.write.valid & self.write.ready
        m.d.comb += [
            *(each.payload.line.eq(burst.line) for each in (self.read, self.write)),
            *(each.payload.beats.eq(burst.beats) for each in (self.read, self.write)),
            self.read.valid.eq(pieces.o.valid & ~stores & (room > burst.beats)),
            self.write.valid.eq(pieces.o.valid & stores & (loose > burst.beats) & (written != most)),
            pieces.o.ready.eq(reads | writes),
        ]
        m.d.sync += [
            room.eq(room - Mux(reads, burst.beats + 1, 0) + (words.o.valid & words.o.ready & ~stores)),
            loose.eq(loose - Mux(writes, burst.beats + 1, 0) + (words.i.valid & words.i.ready & stores)),
            written.eq(written + writes - self.answered),
        ]
        idle = Signal()
        full = Signal()
        m.d.comb += [idle.eq((written == 0) & (loose == 0)), full.eq(room == self.dma.room)]
        return idle, full
