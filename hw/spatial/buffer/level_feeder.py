"""Arrays of a level without zeros from memory to what fills a private buffer; what counts comes first."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.dma import ADDRESS_BITS, ELEMENT_BITS
from ...arch.private_buffer import COMPRESSED, LINKED
from ...arch.token import DATA_BITS
from ...emit import Macro, macro
from ...stream.fifo import Fifo2
from ...stream.lead import lead
from .counted import RUN, CountedFeeder


class LevelFeeder(wiring.Component):
    """Segments, bits or heads, then as many coordinates and values as they say.

    Behaviour: segments may go on from those of tensors before, ``5 7 7`` of two fibers: then the coordinates and values of the
    tensor are two from 5 on. Those of bits and heads stand behind those of the tensors before, since `restart`.

    Parameters
    ----------
    kind : str          Compressed, bitvector or linked list.
    words : int         Segments, words of bits or heads of a tensor; the last head is the number of nodes.
    node : int          Elements of a node of linked lists.

    Members
    -------
    counts : In(stream)         Segments of 32 bits, or bits, or heads.
    links : In(stream)          Of linked lists, of 32 bits.
    coordinates : In(stream)    Of a compressed level, or of linked lists.
    values : In(stream)
    level : Out(stream)         16-bit words, as `PrivateBank` takes them: of ``level``, ``bits`` or ``lists``.
    o : Out(stream)             Those of ``values``.
    links_run, coordinates_run, values_run : Out(stream)      `RUN` of each tensor.
    narrow : In(1)              Values are bytes.
    torn : Out(1)               Of a tensor there are some segments or bits, and not all.
    wrong : Out(1)              Segments fall, or are too far apart. Sticky until reset.
    restart : In(1), at : In(32)     As of `CountedDrain`.

    Timing: a word a cycle, in the cycle in which it comes; a cycle for each length.
    Source: Stellar V, Listing 7 (spans of a whole fiber).
    """

    # As of `LinkFeeder`: no other level is in front or behind.
    across, block, is_last = 0, 1, True

    def __init__(self, kind: str, words: int, node: int = 1) -> None:
        self.kind, self.words, self.node = kind, words, node if kind == LINKED else 1
        # What follows the counts in the level.
        self.behind = {COMPRESSED: ("coordinates",), LINKED: ("links", "coordinates")}.get(kind, ())
        self.module_name = f"level_feeder_{kind.replace(' ', '_')}_{words}" + (f"x{node}" if kind == LINKED else "")
        super().__init__(self._ports())

    def _ports(self) -> dict[str, wiring.Member]:
        elements, blocks, runs = stream.Signature(ELEMENT_BITS), stream.Signature(DATA_BITS), stream.Signature(RUN)
        behind = {each: member for name in self.behind for each, member in ((name, In(elements)), (f"{name}_run", Out(runs)))}
        return {"counts": In(elements), **behind, "values": In(elements), "level": Out(blocks), "o": Out(blocks),
                "values_run": Out(runs), "narrow": In(1), "torn": Out(1), "wrong": Out(1), "restart": In(1),
                "at": In(ADDRESS_BITS)}

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        run = Signal(RUN)
        told = Signal()         # the run of a tensor is known
        shift = self.node.bit_length() - 1
        if self.is_last:
            m.submodules.values_feeder = values = macro(CountedFeeder(True))
            lead(m, self.values, values.i)
            lead(m, values.o, self.o)
            m.d.comb += values.narrow.eq(self.narrow)
            waits = self._later(m, "values", run, shift, shift, told, self.values_run, values, self.block)
        else:
            waits = self._later(m, "below", run, shift, shift, told, self.below, None, self.block)
        if self.block > 1:
            with m.If(told & ((run.count << shift) * self.block >> DATA_BITS != 0)):
                m.d.sync += self.wrong.eq(1)
        left = Signal(range(self.words + 1))        # words of the tensor that goes on
        word = self.counts.payload
        going = Signal(range(len(self.behind) + 1))     # 0: the counts, else which block behind them
        goes = Signal()
        last = Signal()
        m.d.comb += [last.eq(left == 1), goes.eq(self.counts.valid & self.counts.ready), told.eq(goes & last),
                     self.torn.eq(left != 0)]
        feeders = []
        for name in self.behind:
            wide = name == "links"
            m.submodules[f"{name}_feeder"] = feeder = macro(CountedFeeder(False, wide))
            lead(m, getattr(self, name), feeder.i)
            more, words = (0, 1) if wide else (shift, shift)
            waits += self._later(m, name, run, more, words, told, getattr(self, f"{name}_run"), feeder)
            feeders.append(feeder)
        free = Cat(waits).all()
        none = Signal()         # there is no word, and what comes for it is none
        opens = Signal()        # the first word of a tensor is next
        words_go: Value = goes & ~none if self.across else goes
        level = self._counted(m, run, words_go, left, word, opens if self.across else left == self.words)
        length: Any = self.counts
        if self.across:
            length = self._in_front(m)
            with m.If(words_go):
                m.d.sync += opens.eq(0)
            with m.If(none):
                m.d.comb += [self.counts.ready.eq(free), told.eq(goes), run.count.eq(0)]
                with m.If(goes):
                    m.d.sync += none.eq(0)
        with m.If((left == 0) & (going == 0) & ~none if self.across else (left == 0) & (going == 0)):
            size = length.payload if self.across else self.words
            m.d.comb += [self.level.payload.eq(size), self.level.valid.eq(length.valid)]
            if self.across:
                m.d.comb += length.ready.eq(self.level.ready)
            with m.If(self.level.valid & self.level.ready):
                m.d.sync += left.eq(size)
                if self.across:
                    m.d.sync += [none.eq(size == 0), opens.eq(1)]
        with m.Elif((going == 0) & ~none if self.across else going == 0):
            allowed = ~last | free
            m.d.comb += [self.level.payload.eq(level), self.level.valid.eq(self.counts.valid & allowed),
                         self.counts.ready.eq(self.level.ready & allowed)]
            with m.If(goes):
                m.d.sync += left.eq(left - 1)
                if feeders:
                    with m.If(last):
                        m.d.sync += going.eq(1)
        for nth, feeder in enumerate(feeders, 1):
            with m.If(going == nth):
                lead(m, feeder.o, self.level)
                with m.If(feeder.ends):
                    m.d.sync += going.eq(0 if nth == len(feeders) else nth + 1)
        return m

    def _counted(self, m: Module, run: Any, goes: Value, left: Signal, word: Signal, begins: Value) -> Value:
        """The run of the tensor with its last word; what stands for a word in the level."""
        first = Signal(ADDRESS_BITS)
        if self.kind == COMPRESSED:
            apart = Signal(ADDRESS_BITS)
            # Of no fiber there is one segment, the first and last.
            starts = Mux(begins, word, first) if self.across else first
            m.d.comb += [apart.eq(Mux(begins, 0, word - first)), run.first.eq(starts), run.count.eq(apart)]
            with m.If(goes & begins):
                m.d.sync += first.eq(word)
            with m.If(goes & (apart >> DATA_BITS != 0)):
                m.d.sync += self.wrong.eq(1)
            return apart
        ones = Signal(DATA_BITS)
        total = Signal(DATA_BITS)
        bits = word[:DATA_BITS]
        # Of heads the last word is the number of nodes.
        more = bits if self.kind == LINKED else ones + sum((bit for bit in bits), Const(0, 1))
        m.d.comb += [total.eq(more), run.first.eq(first), run.count.eq(total)]
        with m.If(self.restart):
            m.d.sync += first.eq(self.at)
        with m.If(goes):
            m.d.sync += ones.eq(Mux(left == 1, 0, total))
            with m.If(left == 1):
                m.d.sync += first.eq(first + total)
        return bits

    def _in_front(self, m: Module) -> Any:
        """The length of each block, where another level says it."""
        raise AssertionError("no level is in front")

    def _later(self, m: Module, name: str, run: Any, more: int, words: int, told: Signal, out: Any, feeder: Macro | None,
               block: int = 1) -> list[Value]:
        """Keep runs for the requests of an array, with 2^more x block elements for each that is counted, and the counts for its
        blocks, with 2^words x block words; whether there is room."""
        m.submodules[f"{name}_runs"] = runs = macro(Fifo2(RUN))
        if feeder is None:
            m.d.comb += [runs.i.payload.first.eq((run.first << more) * block), runs.i.valid.eq(told),
                         runs.i.payload.count.eq((run.count << more) * block)]
            lead(m, runs.o, out)
            return [runs.i.ready]
        m.submodules[f"{name}_counts"] = counts = macro(Fifo2(DATA_BITS))
        first, count, length = run.first << more, run.count << more, run.count << words
        if block > 1:
            first, count, length = first * block, count * block, length * block
        m.d.comb += [runs.i.payload.first.eq(first), runs.i.payload.count.eq(count),
                     runs.i.valid.eq(told), counts.i.payload.eq(length), counts.i.valid.eq(told)]
        lead(m, runs.o, out)
        lead(m, counts.o, feeder.count)
        return [runs.i.ready, counts.i.ready]
