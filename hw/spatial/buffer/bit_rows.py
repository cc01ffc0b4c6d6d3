"""A bitvector level whose fibers are read in any order, as numbers of them come."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import Component, In, Out

from ...arch.token import DATA_BITS, DONE, TOKEN, stop
from ...emit import macro
from ...memory.two_halves import TwoHalves
from ...sparse.interface import fork, is_done, is_maybe
from ...stream.fifo import Fifo2


class BitRows(Component):
    """Filled by blocks of bits, and scanned, fiber by fiber, tensor by tensor.

    Behaviour: a block is its length and the words of each fiber; bit b of the nth word of a fiber is coordinate 16 n + b.
    References are places of values, which stand behind each other in the order of bits. How many there are before a fiber is
    counted while it is filled in, so that fibers may be read in any order, again, or not at all. ``N`` is a fiber of nothing.

        2 fibers of 20; fill ``4 5 0 0 2``    ref ``1 N 0 D``, crd ``17 S0 S0 0 2 S0 D``, ref_o ``2 S0 S0 0 1 S0 D``

    Parameters
    ----------
    fibers, extent : int     Of a tensor.

    Members
    -------
    fill : In(stream)      16-bit words.
    ref : In(stream of TOKEN)              Numbers of fibers, ``N``, and done behind the last one of a tensor.
    crd, ref_o : Out(stream of TOKEN)
    fault : Out(1)         A block has another length, or there is no such fiber. Sticky until reset; nothing goes on then.

    Timing: a cycle for each bit that is set, each word without one, and each stop; two more for a fiber. A tensor is filled in
    while the one before is read, a word a cycle.
    Source: Stellar IV-C (bitvector axes). Departure: there fibers are read as they are stored, from the first one on.
    """

    exact = True        # A tensor has as many fibers.

    def __init__(self, fibers: int, extent: int) -> None:
        self.fibers, self.across = fibers, -(-extent // DATA_BITS)
        if fibers < 1 or not 1 <= fibers * self.across < 1 << DATA_BITS:
            raise ValueError(f"there is no level of {fibers} fibers of {extent} bits")
        tokens = stream.Signature(TOKEN)
        super().__init__({"fill": In(stream.Signature(DATA_BITS)), "ref": In(tokens), "crd": Out(tokens), "ref_o": Out(tokens),
                          "fault": Out(1)})

    @property
    def module_name(self) -> str:
        return f"bit_rows_{self.fibers}x{self.across}"

    @property
    def emit_key(self) -> tuple[int, int]:
        return self.fibers, self.across

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.words = words = macro(TwoHalves(self.fibers * self.across, 1))
        m.submodules.before = before = macro(TwoHalves(self.fibers, 1))    # of each fiber, how many bits are set before it
        held = Signal(2)                # which halves have a tensor
        filled = Signal(2)
        freed = Signal(2)
        m.d.sync += held.eq(held & ~freed | filled)
        most = self.fibers * self.across
        # Words of each tensor.
        sizes = [Const(most)] * 2 if self.exact else [Signal(range(most + 1), name=f"size{half}") for half in range(2)]
        wrong = [self._fill(m, words, before, held, filled, sizes), self._scan(m, words, before, held, freed, sizes)]
        with m.If(Cat(wrong).any()):
            m.d.sync += self.fault.eq(1)
        return m

    def _fill(self, m: Module, words: Any, before: Any, held: Signal, filled: Signal, sizes: list[Any]) -> Signal:
        """Write what comes; what is wrong with it."""
        half = Signal()
        counts = Signal(init=1)         # the length of a block is next
        place = Signal(range(self.fibers * self.across))
        nth = Signal(range(self.across))
        fiber = Signal(range(self.fibers))
        count = Signal(DATA_BITS)
        goes, writes, last, wrong = (Signal(name=name) for name in ("goes", "writes", "last", "wrong_fill"))
        word = self.fill.payload
        m.d.comb += [
            self.fill.ready.eq(~held.bit_select(half, 1) & ~self.fault), goes.eq(self.fill.valid & self.fill.ready),
            writes.eq(goes & ~counts),
            last.eq(place == (self.fibers * self.across if self.exact else Mux(half, sizes[1], sizes[0])) - 1),
            wrong.eq(goes & counts & (word != self.fibers * self.across if self.exact else
                                      word > self.fibers * self.across)),
            words.write.eq(writes), words.write_half.eq(half), words.write_address.eq(place), words.data.eq(word),
            before.write.eq(writes & (nth == 0)), before.write_half.eq(half), before.write_address.eq(fiber),
            before.data.eq(count)]
        with m.If(goes & counts):
            m.d.sync += [counts.eq(0), place.eq(0), nth.eq(0), fiber.eq(0), count.eq(0)]
            if not self.exact:
                m.d.sync += [size.eq(Mux(half == nth_half, word, size)) for nth_half, size in enumerate(sizes)]
                with m.If(word == 0):
                    m.d.comb += filled.bit_select(half, 1).eq(1)
                    m.d.sync += [counts.eq(1), half.eq(~half)]
        with m.If(writes):
            set_bits: Value = reduce(add, [word[bit] for bit in range(DATA_BITS)])
            m.d.sync += [place.eq(place + 1), count.eq(count + set_bits), nth.eq(nth + 1)]
            with m.If(nth == self.across - 1):
                m.d.sync += [nth.eq(0), fiber.eq(fiber + 1)]
            with m.If(last):
                m.d.comb += filled.bit_select(half, 1).eq(1)
                m.d.sync += [counts.eq(1), half.eq(~half)]
        return wrong

    def _scan(self, m: Module, words: Any, before: Any, held: Signal, freed: Signal, sizes: list[Any]) -> Signal:
        """Read fibers as references say; what is wrong with them."""
        m.submodules.finished = finished = macro(Fifo2(data.StructLayout({"crd": TOKEN, "ref": TOKEN})))
        out: Any = data.View(data.StructLayout({"crd": TOKEN, "ref": TOKEN}), finished.o.payload)
        for port, token in ((self.crd, out.crd), (self.ref_o, out.ref)):
            m.d.comb += port.payload.eq(token)
        m.d.comb += finished.o.ready.eq(
            finished.o.valid & fork(m, finished.o.valid, (self.crd, Const(1)), (self.ref_o, Const(1))))

        ref = self.ref.payload
        half = Signal()
        address = Signal(range(self.fibers * self.across + 1))     # of the next word
        waiting = Signal(range(self.across + 1))    # words of this fiber that are not scanned yet
        first, fetched, kept, wrong = (Signal(name=name) for name in ("first", "fetched", "kept", "wrong_fiber"))
        word = Signal(DATA_BITS)
        word_kept = Signal(DATA_BITS)
        left = Signal(DATA_BITS)        # bits of this word that are not given yet
        rest = Signal(DATA_BITS)
        lowest = Signal(range(DATA_BITS))
        nth = Signal(range(self.across))            # this word of its fiber
        place = Signal(DATA_BITS)
        gives = Signal()                # a token is there, which goes if there is room
        goes = Signal()
        crd = Signal(DATA_BITS + 1)
        place_token = Signal(DATA_BITS + 1)
        m.d.sync += [fetched.eq(words.read), word_kept.eq(word), first.eq(before.read)]
        m.d.comb += [
            words.read_half.eq(half), before.read_half.eq(half), before.read_address.eq(ref.data),
            word.eq(Mux(fetched, words.word, word_kept)), rest.eq(left & (left - 1)),
            finished.i.valid.eq(gives), goes.eq(gives & finished.i.ready),
            Value.cast(finished.i.payload).eq(Cat(crd, place_token))]
        for bit in reversed(range(DATA_BITS)):
            with m.If(left[bit]):
                m.d.comb += lowest.eq(bit)
        with m.If(first):
            m.d.sync += place.eq(before.word)
        with m.FSM():
            with m.State("FIBER"):
                there = self.ref.valid & held.bit_select(half, 1) & ~self.fault
                with m.If(ref.control):
                    token = Mux(is_done(ref), Const(DONE, DATA_BITS + 1), Const(stop(0), DATA_BITS + 1))
                    m.d.comb += [gives.eq(there & (is_done(ref) | is_maybe(ref))), crd.eq(token), place_token.eq(token),
                                 wrong.eq(there & ~is_done(ref) & ~is_maybe(ref)), self.ref.ready.eq(goes)]
                    with m.If(goes & is_done(ref)):
                        m.d.comb += freed.bit_select(half, 1).eq(1)
                        m.d.sync += half.eq(~half)
                with m.Else():
                    number = ref.data * self.across
                    beyond = ref.data >= self.fibers if self.exact else number + self.across > Mux(half, sizes[1], sizes[0])
                    m.d.comb += [wrong.eq(there & beyond), self.ref.ready.eq(there & ~wrong),
                                 words.read.eq(self.ref.ready), words.read_address.eq(number), before.read.eq(self.ref.ready)]
                    with m.If(self.ref.ready):
                        m.d.sync += [address.eq(number + 1), waiting.eq(self.across), left.eq(0), kept.eq(0)]
                        m.next = "SCAN"
            with m.State("SCAN"):
                ends = Signal()
                enters = Signal()
                m.d.comb += [
                    ends.eq(~left.any() & (waiting == 0)), gives.eq(left.any() | ends),
                    crd.eq(Mux(ends, stop(0), Cat(lowest, nth))), place_token.eq(Mux(ends, stop(0), place)),
                    enters.eq((~left.any() | (goes & ~rest.any())) & (waiting != 0) & (fetched | kept))]
                m.d.sync += kept.eq((fetched | kept) & ~enters)
                with m.If(goes):
                    m.d.sync += [left.eq(rest), place.eq(place + 1)]
                    with m.If(ends):
                        m.next = "FIBER"
                with m.If(enters):
                    m.d.comb += [words.read.eq(waiting != 1), words.read_address.eq(address)]
                    m.d.sync += [left.eq(word), nth.eq(self.across - waiting), waiting.eq(waiting - 1), address.eq(address + 1)]
        return wrong


class SomeBitRows(BitRows):
    """`BitRows` of tensors of which each has up to so many fibers, as its block says; one of none has a length alone."""

    exact = False

    @property
    def module_name(self) -> str:
        return f"some_{super().module_name}"
