"""Arrays whose length another one says: between the elements of requests and blocks, which begin with their length."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.dma import ADDRESS_BITS, ELEMENT_BITS
from ...arch.token import DATA_BITS
from ...emit import macro
from ...stream.fifo import Fifo2
from ...stream.lead import lead

# Where the elements of a tensor are in their array in memory, and how many there are.
RUN = data.StructLayout({"first": ADDRESS_BITS, "count": DATA_BITS})


class CountedFeeder(wiring.Component):
    """Elements from memory to blocks.

    Behaviour: for counts 2 and 0 ``7 8 x`` becomes ``2 7 8 0``: of an empty tensor one element comes that is none.

    Parameters
    ----------
    signed : bool       Bytes keep their sign.
    wide : bool         Elements are two words each, the low one first.

    Members
    -------
    i : In(stream)      Elements.
    count : In(stream)  Words of each tensor.
    o : Out(stream)     16-bit words.
    narrow : In(1)      Elements are bytes.
    ends : Out(1)       The last word of a block is taken.

    Timing: a word a cycle, in the cycle in which it comes; a cycle for each count, and one for an empty tensor.
    Source: a design of its own.
    """

    def __init__(self, signed: bool, wide: bool = False) -> None:
        self.signed, self.wide = signed, wide
        self.module_name = f"counted_feeder{'_signed' if signed else ''}{'_wide' if wide else ''}"
        super().__init__({"i": In(stream.Signature(ELEMENT_BITS)), "count": In(stream.Signature(DATA_BITS)),
                          "o": Out(stream.Signature(DATA_BITS)), "narrow": In(1), "ends": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left = Signal(DATA_BITS)
        byte = self.i.payload[:8].as_signed() if self.signed else self.i.payload[:8]
        with m.FSM():
            with m.State("COUNT"):
                empty = self.count.payload == 0
                m.d.comb += [self.o.payload.eq(self.count.payload), self.o.valid.eq(self.count.valid),
                             self.count.ready.eq(self.o.ready), self.ends.eq(self.count.valid & self.o.ready & empty)]
                m.d.sync += left.eq(self.count.payload)
                with m.If(self.count.valid & self.o.ready):
                    with m.If(empty):
                        m.next = "NONE"
                    with m.Else():
                        m.next = "ELEMENTS"
            with m.State("ELEMENTS"):
                word = Mux(self.narrow, byte, self.i.payload[:DATA_BITS])
                if self.wide:
                    # Of a number of words that is even the last one is odd.
                    word = Mux(left[0], self.i.payload[DATA_BITS:], word)
                m.d.comb += [self.o.payload.eq(word), self.o.valid.eq(self.i.valid),
                             self.i.ready.eq(self.o.ready & (left[0] if self.wide else 1)),
                             self.ends.eq(self.i.valid & self.o.ready & (left == 1))]
                with m.If(self.i.valid & self.o.ready):
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 1):
                        m.next = "COUNT"
            with m.State("NONE"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid):
                    m.next = "COUNT"
        return m


class CountedDrain(wiring.Component):
    """Blocks to elements for memory.

    Behaviour: ``2 7 8 0`` becomes ``7 8 0``, with runs of 2 from 0 on and of 0 from 2 on.

    Parameters
    ----------
    bits : int          Of a word, with its sign.

    Members
    -------
    i : In(stream)      Blocks.
    o : Out(stream)     Elements; for an empty block one that is none.
    run : Out(stream)   `RUN` of each block, before its elements.
    restart : In(1), at : In(32)     Blocks are behind so many elements from now on; only while nothing is under way.

    Timing: a word a cycle, in the cycle in which it comes; a cycle for each length.
    Source: Stellar III-E (the free pointer of a buffer, and what resets it).
    """

    def __init__(self, bits: int) -> None:
        self.bits, self.module_name = bits, f"counted_drain_{bits}"
        super().__init__({"i": In(stream.Signature(bits)), "o": Out(stream.Signature(ELEMENT_BITS)),
                          "run": Out(stream.Signature(RUN)), "restart": In(1), "at": In(ADDRESS_BITS)})

    is_shared = False       # The first word of a block is the last one of the block before.

    def _begin(self, m: Module, left: Signal) -> None:
        """What is given of a word; left: words of the block, while there are any."""
        self._word: Value = self.i.payload.as_signed()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.runs = runs = macro(Fifo2(RUN))
        left = Signal(DATA_BITS)
        first = Signal(ADDRESS_BITS)
        size = self.i.payload[:DATA_BITS]
        self._begin(m, left)
        m.d.comb += [runs.i.payload.first.eq(first), runs.i.payload.count.eq(size)]
        lead(m, runs.o, self.run)
        with m.If(self.restart):
            m.d.sync += first.eq(self.at)
        with m.FSM():
            with m.State("LENGTH"):
                m.d.comb += [runs.i.valid.eq(self.i.valid), self.i.ready.eq(runs.i.ready)]
                with m.If(self.i.valid & self.i.ready):
                    m.d.sync += [left.eq(size), first.eq(first + (size - 1 if self.is_shared else size))]
                    with m.If(size == 0):
                        m.next = "NONE"
                    with m.Else():
                        m.next = "WORDS"
            with m.State("WORDS"):
                m.d.comb += [self.o.payload.eq(self._word), self.o.valid.eq(self.i.valid),
                             self.i.ready.eq(self.o.ready)]
                with m.If(self.i.valid & self.i.ready):
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 1):
                        m.next = "LENGTH"
            with m.State("NONE"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "LENGTH"
        return m


class SegmentsDrain(CountedDrain):
    """A `CountedDrain` of segments: they go on from block to block, where the first one of a block is the last one of the block
    before.

    Behaviour: ``3 0 2 5  2 0 1`` becomes ``0 2 5 5 6``, with runs of 3 from 0 on and of 2 from 2 on.

    Members: as of `CountedDrain`; behind `restart` segments begin at what `at` says, too.
    """

    is_shared = True

    def __init__(self) -> None:
        super().__init__(DATA_BITS)
        self.module_name = "segments_drain"

    def _begin(self, m: Module, left: Signal) -> None:
        before = Signal(ADDRESS_BITS)
        self._word = self.i.payload + before
        with m.If(self.i.valid & self.i.ready & (left == 1)):
            m.d.sync += before.eq(self._word)
        with m.If(self.restart):
            m.d.sync += before.eq(self.at)


class FixedDrain(wiring.Component):
    """Blocks of a known length to elements for memory.

    Behaviour: ``3 0 2 5  3 0 1 1`` becomes ``0 2 5 0 1 1``, or of segments ``0 2 5 5 6 6``: they go on from block to block.

    Parameters
    ----------
    bits : int          Of a word, with its sign.
    segments : bool     The last word of a block is added to those of the next ones.

    Members
    -------
    i, o, restart, at   As of `CountedDrain`.

    Timing: as of `CountedDrain`.
    Source: a design of its own.
    """

    def __init__(self, bits: int, segments: bool) -> None:
        self.bits, self.segments = bits, segments
        self.module_name = f"fixed_drain_{bits}{'_segments' if segments else ''}"
        super().__init__({"i": In(stream.Signature(bits)), "o": Out(stream.Signature(ELEMENT_BITS)), "restart": In(1),
                          "at": In(ADDRESS_BITS)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left = Signal(DATA_BITS)
        before = Signal(ADDRESS_BITS)
        word = self.i.payload
        with m.If(self.restart):
            m.d.sync += before.eq(self.at)
        with m.If(left == 0):
            m.d.comb += self.i.ready.eq(1)
            with m.If(self.i.valid):
                m.d.sync += left.eq(word)
        with m.Else():
            m.d.comb += [self.o.payload.eq(word + before if self.segments else word.as_signed()), self.o.valid.eq(self.i.valid),
                         self.i.ready.eq(self.o.ready)]
            with m.If(self.i.valid & self.i.ready):
                m.d.sync += left.eq(left - 1)
                if self.segments:
                    with m.If(left == 1):
                        m.d.sync += before.eq(before + word)
        return m
