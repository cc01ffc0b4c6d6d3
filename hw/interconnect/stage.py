"""The register on a switch-box output, one component per kind of interconnect and, but for full
FIFOs, parity of the tile.

Parity of a tile is (x + y) & 1, so it changes with every hop. With split FIFOs an odd tile cuts payload and
valid, an even tile cuts ready: two adjacent stages together are a FIFO of two entries, and no route closes a
combinational loop.

Source: Onyx JSSC III-D (SplitFIFO). Departure: which half a register is does not depend on the configuration
but on the parity, so that no configuration, not even a corrupt one, can build a loop; a word passes at most
two switch boxes between registers.
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.interconnect import MODES, Interconnect
from ..emit import macro
from ..stream.fifo import Fifo2

EVEN, ODD = 0, 1
PARITIES = ("even", "odd")
MODE_BITS = 2
ELASTIC, STATIC, DELAY = (MODES.index(name) for name in ("elastic", "static", "delay"))


class _Stage(wiring.Component):
    """A register between two streams of `width` bits, used as `mode` says (`arch.interconnect.MODES`).

    A reset empties it, but words keep what they were; only a bit becomes 0, as it may say in a static mode which words count.

    Stages behind one and the same source can share the word: what that offers next it offers when none of them holds a word.
    Then it is outside of them, and takes what they all are given when one of them says so.
    """

    def __init__(self, width: int, shares: bool = False) -> None:
        self.width, self.shares = width, shares
        word = stream.Signature(width)
        shared = {"word": In(width), "takes": Out(1)} if shares else {}
        super().__init__({"i": In(word), "o": Out(word), "mode": In(MODE_BITS)} | shared)

    @property
    def emit_key(self) -> object:
        return self.width, self.shares

    @property
    def module_name(self) -> str:
        return f"stage_{self.half}_{self.width}{'_shared' if self.shares else ''}"

    def _word(self, m: Module, takes: Value) -> Value:
        """The register of words, or the one outside."""
        if self.shares:
            m.d.comb += self.takes.eq(takes)
            outside: Value = self.word
            return outside
        word = word_register(self.width)
        with m.If(takes):
            m.d.sync += word.eq(self.i.payload)
        return word


def word_register(width: int) -> Signal:
    """A register for a word of a stage."""
    return Signal(width, name="word", reset_less=width > 1)


class PassStage(_Stage):
    """The even half of a SplitFIFO: words pass, and one is held back when the next register cannot take it.

    Behaviour: elastic: as above. static: passes, never holds. delay: a register that moves every cycle.

    Members
    -------
    i : In(stream)
    o : Out(stream)
    mode : In(2)
    word : In, takes : Out(1)      If it shares the word: that word, and whether it takes what is offered to all.

    Timing: o follows i in the same cycle (elastic, static); ``i.ready`` is a register (elastic) or 1.
    Source: Onyx JSSC III-D.
    """

    half = "pass"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held = Signal()
        elastic = Signal()
        delay = Signal()
        word = self._word(m, delay | (~held & self.i.valid & ~self.o.ready))
        m.d.comb += [
            elastic.eq(self.mode == ELASTIC), delay.eq(self.mode == DELAY),
            self.i.ready.eq(~held | ~elastic),
            self.o.valid.eq(Mux(delay, held, held | self.i.valid)),
            self.o.payload.eq(Mux(delay | held, word, self.i.payload)),
        ]
        with m.If(elastic):
            m.d.sync += held.eq(self.o.valid & ~self.o.ready)
        with m.Else():
            m.d.sync += held.eq(delay & self.i.valid)
        return m


class RegisterStage(_Stage):
    """The odd half of a SplitFIFO: a register that takes a word when it is empty or being emptied.

    Behaviour: elastic: as above. static and delay: a register that moves every cycle.

    Members
    -------
    i : In(stream)
    o : Out(stream)
    mode : In(2)
    word : In, takes : Out(1)      If it shares the word: that word, and whether it takes what is offered to all.

    Timing: latency 1, one word per cycle; ``i.ready`` follows ``o.ready`` in the same cycle, or is 1.
    Source: Onyx JSSC III-D.
    """

    half = "register"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        elastic = Signal()
        word = self._word(m, self.i.ready & (self.i.valid | ~elastic))
        m.d.comb += [elastic.eq(self.mode == ELASTIC), self.o.payload.eq(word),
                     self.i.ready.eq(~self.o.valid | self.o.ready | ~elastic)]
        with m.If(self.i.ready):
            m.d.sync += self.o.valid.eq(self.i.valid)
        return m


class FifoStage(_Stage):
    """A FIFO of two entries at every hop: more registers than a SplitFIFO, and no path through a tile.

    Behaviour: elastic: the FIFO. static and delay: a register that moves every cycle.

    Members
    -------
    i : In(stream)
    o : Out(stream)
    mode : In(2)

    Timing: latency 1; nothing follows an input within the cycle.
    """

    half = "fifo"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.fifo = fifo = macro(Fifo2(self.width))
        m.d.comb += fifo.is_static.eq(self.mode != ELASTIC)
        wiring.connect(m, wiring.flipped(self.i), fifo.i)
        wiring.connect(m, fifo.o, wiring.flipped(self.o))
        return m


class OpenStage(_Stage):
    """No register: tracks of a machine whose FIFOs are at core inputs alone, to measure what registers on hops gain.

    Behaviour: words pass in every mode. Routes that a program has end at core inputs, whose ready is a register; routes of
    other bitstreams may be rings.

    Members
    -------
    i : In(stream)
    o : Out(stream)
    mode : In(2)

    Timing: o follows i, and ``i.ready`` follows ``o.ready``, in the same cycle.
    """

    half = "open"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        wiring.connect(m, wiring.flipped(self.i), wiring.flipped(self.o))
        return m


def stage(interconnect: Interconnect, parity: int, width: int, shares: bool = False) -> wiring.Component:
    """The stage of a switch-box output of an interconnect with valid and ready, in a tile of a parity."""
    assert interconnect.fifo != "none", "a static interconnect has plain registers, no stages"
    if interconnect.fifo == "full":
        assert not shares, "FIFOs of their own hold different words"
        return FifoStage(width)
    if interconnect.fifo == "inputs":
        assert not shares, "what passes is no word to share"
        return OpenStage(width)
    return (RegisterStage if parity == ODD else PassStage)(width, shares)
