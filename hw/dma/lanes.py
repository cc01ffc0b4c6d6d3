"""Between elements and words of the bus: where in a word each element of a run lies."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.dma import ELEMENT_BITS, LEAST_BUS, SPAN_BITS


def part_layout(bus_bytes: int) -> data.StructLayout:
    """What a port knows of a run where its elements are."""
    return data.StructLayout({"offset": exact_log2(bus_bytes), "there": SPAN_BITS, "pad": SPAN_BITS, "last": 1, "head": 1})


def word_layout(bus_bytes: int) -> data.StructLayout:
    """A word of the bus with the bytes of it that are written."""
    return data.StructLayout({"data": 8 * bus_bytes, "strobe": bus_bytes})


def of_bus(name: str, bus_bytes: int) -> str:
    """The name of a module of the DMA."""
    return name + f"_bus{bus_bytes}" * (bus_bytes != LEAST_BUS)


class _Lanes(wiring.Component):
    """What both directions share: the run that goes on, and where its next element is."""

    def __init__(self, name: str, bus_bytes: int, members: dict[str, wiring.Member]) -> None:
        self.bus_bytes, self.module_name = bus_bytes, of_bus(name, bus_bytes)
        super().__init__({"size": In(2), "run": In(stream.Signature(part_layout(bus_bytes))), **members, "ended": Out(1),
                          "goes": Out(1)})

    @property
    def emit_key(self) -> int:
        return self.bus_bytes

    def _run(self, m: Module, takes: Signal) -> tuple[Signal, Signal, Signal]:
        """The run, whether there is one, and whether its word ends with the next element; `takes` of them one."""
        run = Signal(part_layout(self.bus_bytes), reset_less=True)
        going = Signal()
        ends = Signal()
        after = Signal(len(run.offset) + 1)
        m.d.comb += [after.eq(run.offset + (1 << self.size)), ends.eq(after[-1] | (run.there == 1)),
                     self.run.ready.eq(~going | self._ended(takes, run))]
        with m.If(self.run.ready):
            m.d.sync += [going.eq(self.run.valid), run.eq(self.run.payload)]
        with m.Elif(takes):
            with m.If(run.there != 0):
                m.d.sync += [run.there.eq(run.there - 1), run.offset.eq(after[:-1])]
            with m.Else():
                m.d.sync += run.pad.eq(run.pad - 1)
        m.d.comb += [self.ended.eq(going & self._ended(takes, run) & run.last), self.goes.eq(going)]
        return run, going, ends

    def _ended(self, takes: Signal, run: Signal) -> Signal:
        return takes & (run.there + run.pad == 1)


class Unpack(_Lanes):
    """Takes the elements of runs out of words.

    Behaviour: offset 6, bytes, 3 there, 1 not; words 0x07060504_03020100, 0x...08      6, 7, 8, 0

    Parameters
    ----------
    bus_bytes : int         Of a word.

    Members
    -------
    size : In(2)            Logarithm of the bytes of an element; while there is a run it stays.
    run : In(stream)        `part_layout`, of one element or more.
    word : In(stream)       Words of the bus; each run begins with one of its own, if it has an element that is there.
    o : Out(stream)         Elements, of which the low bytes count and the others are 0; 0 for those that are not there.
    ended : Out(1)          The last element of a run that was marked is taken.
    goes : Out(1)           There is a run; from a register.

    Timing: an element a cycle; `run.ready` and `word.ready` follow `o.ready` in the same cycle.
    Source: a design of its own.
    """

    def __init__(self, bus_bytes: int = LEAST_BUS) -> None:
        super().__init__("dma_unpack", bus_bytes, {"word": In(stream.Signature(8 * bus_bytes)),
                                                   "o": Out(stream.Signature(ELEMENT_BITS))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        takes = Signal()
        run, going, ends = self._run(m, takes)
        there = run.there != 0
        shifted = Signal(8 * self.bus_bytes)
        wide = Cat((self.size >= at).replicate(8 << at - 1) if at else Const(0xFF, 8) for at in range(3))
        m.d.comb += [
            shifted.eq(self.word.payload >> (run.offset << 3)),
            self.o.payload.eq(Mux(there, shifted[:ELEMENT_BITS] & wide, 0)),
            self.o.valid.eq(going & (~there | self.word.valid)), takes.eq(self.o.valid & self.o.ready),
            self.word.ready.eq(takes & there & ends),
        ]
        return m


class Pack(_Lanes):
    """Puts the elements of runs into words.

    Behaviour: offset 6, bytes, 3 there, 1 not; 1 2 3 4      a word with bytes 6 and 7, one with byte 0; 4 is dropped

    Parameters
    ----------
    bus_bytes : int         Of a word.

    Members
    -------
    size : In(2)            As of `Unpack`.
    run : In(stream)        `part_layout`, of one element or more.
    i : In(stream)          Elements, of which the low bytes count.
    word : Out(stream)      `word_layout`: each run begins a new one, if it has an element that is there.
    ended : Out(1)          The last element of a run that was marked is taken.
    goes : Out(1)           There is a run; from a register.

    Timing: an element a cycle; `word` follows `i`, and `i.ready` and `run.ready` follow `word.ready`, in the same cycle.
    Source: a design of its own.
    """

    def __init__(self, bus_bytes: int = LEAST_BUS) -> None:
        super().__init__("dma_pack", bus_bytes, {"i": In(stream.Signature(ELEMENT_BITS)),
                                                 "word": Out(stream.Signature(word_layout(bus_bytes)))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        takes = Signal()
        run, going, ends = self._run(m, takes)
        there = run.there != 0
        # Bytes of the word so far.
        held = Signal(word_layout(self.bus_bytes))
        merged = Signal.like(held)
        full = Signal(4)
        m.d.comb += [
            full.eq((1 << (1 << self.size)) - 1),
            merged.strobe.eq(held.strobe | (full << run.offset)[:self.bus_bytes]),
            *(merged.data[8 * at:8 * at + 8].eq(Mux(held.strobe[at], held.data[8 * at:8 * at + 8],
                                                    self.i.payload.word_select((at - run.offset)[:2], 8)))
              for at in range(self.bus_bytes)),
            self.word.payload.eq(merged), self.word.valid.eq(going & self.i.valid & there & ends),
            self.i.ready.eq(going & (~(there & ends) | self.word.ready)), takes.eq(self.i.valid & self.i.ready),
        ]
        with m.If(takes & there):
            m.d.sync += held.eq(merged)
            with m.If(ends):
                m.d.sync += held.strobe.eq(0)
        return m
