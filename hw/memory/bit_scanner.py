"""Bit scanner: the coordinates of a bitvector level, from its words."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from ..arch.token import DATA_BITS, TOKEN
from ..sparse.interface import fork, is_done, is_stop


class BitScanner(Component):
    """Gives the place of each bit that is set in a fiber of words, and its number among all of them.

    Behaviour: bit b of the nth word of a fiber is coordinate 16 n + b. References count from 0 in each walk over all fibers, so
    the values of a fiber stand behind those of the one before.

        word ``5 0 S0 0 2 S0 D``, of 2 fibers    crd ``0 2 S0 17 S0 D``, ref_o ``0 1 S0 2 S0 D``

    Parameters
    ----------
    fibers : int         Of a walk.

    Members
    -------
    word : In(stream of TOKEN)
    crd, ref_o : Out(stream of TOKEN)

    Timing: a cycle for each bit that is set, each word without one, and each stop; combinational from `word` to the outputs.
    Source: Stellar IV-C (bitvector axes).
    """

    def __init__(self, fibers: int) -> None:
        if not 1 <= fibers <= 1 << DATA_BITS:
            raise ValueError(f"a walk has 1 to {1 << DATA_BITS} fibers, not {fibers}")
        self.fibers = fibers
        tokens = stream.Signature(TOKEN)
        super().__init__({"word": In(tokens), "crd": Out(tokens), "ref_o": Out(tokens)})

    @property
    def module_name(self) -> str:
        return f"bit_scanner_{self.fibers}"

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        token = self.word.payload
        left = Signal(DATA_BITS)            # Bits of this word that are not given yet, where it has been begun.
        begun = Signal()
        words = Signal(DATA_BITS - 4)       # Of this fiber, before this one.
        refs = Signal(DATA_BITS)
        fiber = Signal(range(self.fibers))
        bits = Signal(DATA_BITS)
        rest = Signal(DATA_BITS)
        lowest = Signal(range(DATA_BITS))
        gives = Signal()
        last = Signal()
        m.d.comb += [bits.eq(Mux(begun, left, token.data)), rest.eq(bits & (bits - 1)),
                     gives.eq(token.control | bits.any()), last.eq(token.control | ~rest.any())]
        for bit in reversed(range(DATA_BITS)):
            with m.If(bits[bit]):
                m.d.comb += lowest.eq(bit)
        for out, value in ((self.crd, Cat(lowest, words)), (self.ref_o, refs)):
            m.d.comb += out.payload.as_value().eq(Mux(token.control, token.as_value(), value))
        moves = Signal()
        m.d.comb += [moves.eq(fork(m, self.word.valid, (self.crd, gives), (self.ref_o, gives)) & self.word.valid),
                     self.word.ready.eq(moves & last)]
        with m.If(moves):
            m.d.sync += [left.eq(rest), begun.eq(~last)]
            with m.If(is_stop(token)):
                walked = fiber == self.fibers - 1
                m.d.sync += [words.eq(0), fiber.eq(Mux(walked, 0, fiber + 1))]
                with m.If(walked):
                    m.d.sync += refs.eq(0)
            with m.Elif(~is_done(token)):
                m.d.sync += refs.eq(refs + bits.any())
                with m.If(last):
                    m.d.sync += words.eq(words + 1)
        return m
