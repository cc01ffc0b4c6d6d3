"""A dense level behind one without zeros: its coordinates are counted, and nothing is stored."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.token import DATA_BITS, DONE, MAYBE, TOKEN, stop
from ...sparse.interface import fork, is_done, is_maybe


class CountedLevel(wiring.Component):
    """Gives all coordinates of a fiber.

    Behaviour: with extent 3, of ref ``2 0 D`` come crd ``0 1 2 S0 0 1 2 S0 D`` and ref_o ``6 7 8 S0 0 1 2 S0 D``. A fiber that
    there is not, ``N``, is empty, or of as many zeros, whose references are ``N``.

    Parameters
    ----------
    extent : int
    zeros : bool        What a fiber that there is not has; None: there is none such.

    Members
    -------
    ref : In(stream of TOKEN)            Numbers of fibers, ``N``, and done.
    crd, ref_o : Out(stream of TOKEN)
    fault : Out(1)                       A position has more than 16 bits. Sticky until reset; nothing goes on then.

    Timing: a coordinate a cycle, and one for the end of a fiber; outputs follow `ref` in the same cycle.
    Source: Stellar IV-C (dense axes).
    """

    def __init__(self, extent: int, zeros: bool | None = None) -> None:
        self.extent, self.zeros = extent, zeros
        self.module_name = f"counted_level_{extent}" + ("" if zeros is None else "_zeros" if zeros else "_some")
        tokens = stream.Signature(TOKEN)
        super().__init__({"ref": In(tokens), "crd": Out(tokens), "ref_o": Out(tokens), "fault": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        ref = self.ref.payload
        at = Signal(range(self.extent + 1))
        place = Signal(range((1 << DATA_BITS) * self.extent))
        over, ends, beyond, there = (Signal(name=name) for name in ("over", "ends", "beyond", "there"))
        given: Value = place[:DATA_BITS]
        m.d.comb += [over.eq(is_done(ref)), ends.eq(over | (at == self.extent)), place.eq(ref.data * self.extent + at),
                     beyond.eq(self.ref.valid & ~ends & (place >> DATA_BITS != 0)),
                     there.eq(self.ref.valid & ~beyond & ~self.fault)]
        if self.zeros is not None:
            none = is_maybe(ref)
            given = Mux(none, MAYBE, place[:DATA_BITS])
            m.d.comb += [ends.eq(over | (at == self.extent) | (0 if self.zeros else none)),
                         beyond.eq(self.ref.valid & ~ends & ~none & (place >> DATA_BITS != 0))]
        end = Mux(over, Const(DONE, DATA_BITS + 1), Const(stop(0), DATA_BITS + 1))
        for out, number in ((self.crd, at), (self.ref_o, given)):
            m.d.comb += out.payload.as_value().eq(Mux(ends, end, number))
        moves = there & fork(m, there, (self.crd, Const(1)), (self.ref_o, Const(1)))
        m.d.comb += self.ref.ready.eq(moves & ends)
        with m.If(moves):
            m.d.sync += at.eq(Mux(ends, 0, at + 1))
        with m.If(beyond):
            m.d.sync += self.fault.eq(1)
        return m
