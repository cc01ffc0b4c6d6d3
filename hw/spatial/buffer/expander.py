"""Fibers that a level above leaves out, as empty ones in their place."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.token import DATA_BITS, DONE, MAYBE, TOKEN, stop
from ...sparse.interface import fork, is_done, is_stop


class Expander(wiring.Component):
    """Gives a fiber for each coordinate of a level, where a level without zeros has some of them alone.

    Behaviour: `above` has the coordinates that there are, `crd_i` a fiber for each. With extent 4 of ``1 3 S0 S0 D`` and
    ``5 6 S0 7 S0 D`` come ``S0 5 6 S0 S0 7 S0  S0 S0 S0 S0  D``. It undoes what a coordinate dropper does. With `zeros` a fiber
    that there is not has so many elements, whose references are ``N``.

    Parameters
    ----------
    extent : int        Of the level above.
    refs : bool         Fibers have references beside their coordinates.
    zeros : int         Elements of a fiber that there is not.

    Members
    -------
    above : In(stream of TOKEN)            Any stop ends a fiber.
    crd_i, ref_i : In(stream of TOKEN)     Any stop ends a fiber. References, here and there, if there are `refs`.
    crd, ref_o : Out(stream of TOKEN)      Fibers end with ``S0``.
    fault : Out(1)      Coordinates above do not rise, or are beyond the extent; or fibers are not as many. Sticky until reset;
                        nothing goes on then.

    Timing: a token a cycle, and a cycle for the end of a fiber above; outputs follow inputs in the same cycle.
    Source: a design of its own; Stellar's register files compare the coordinates of both levels in its place.
    """

    def __init__(self, extent: int, refs: bool, zeros: int = 0) -> None:
        self.extent, self.refs, self.zeros = extent, refs, zeros
        self.module_name = f"expander_{extent}{'_refs' if refs else ''}{f'_{zeros}' if zeros else ''}"
        tokens = stream.Signature(TOKEN)
        beside = {"ref_i": In(tokens), "ref_o": Out(tokens)} if refs else {}
        super().__init__({"above": In(tokens), "crd_i": In(tokens), "crd": Out(tokens), **beside, "fault": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        above, crd_i = self.above.payload, self.crd_i.payload
        expected = Signal(range(self.extent + 1))
        at = Signal(range(self.zeros + 1))      # in a fiber that there is not
        here, missing, over, wrong, gives, ends = (Signal(name=name) for name in (
            "here", "missing", "over", "wrong", "gives", "ends"))
        inside = Signal()
        with_refs = self.ref_i.valid if self.refs else 1
        token = Signal(DATA_BITS + 1)
        ref = Signal(DATA_BITS + 1)
        m.d.comb += [
            over.eq(is_done(above)), inside.eq(self.crd_i.valid & with_refs),
            here.eq(~above.control & (above.data == expected)),
            missing.eq((expected != self.extent) & Mux(above.control, is_stop(above), above.data > expected)),
            wrong.eq(self.above.valid & (
                (~above.control & ((above.data < expected) | (above.data >= self.extent)))
                | (inside & ((here & is_done(crd_i)) | (over & (~is_done(crd_i) | (expected != 0)))))
                | (above.control & ~over & ~is_stop(above)))),
            gives.eq(self.above.valid & ~wrong & ~self.fault & (missing | ((here | over) & inside))),
            # The last token of the fiber that is given.
            ends.eq(Mux(missing, at == self.zeros, crd_i.control)),
            token.eq(Mux(over, DONE, Mux(ends, stop(0), Mux(missing, at, crd_i.data)))),
            ref.eq(Mux(over, DONE, Mux(ends, stop(0), Mux(missing, MAYBE, self.ref_i.payload.data if self.refs else 0))))]
        outputs = [(self.crd, token), *([(self.ref_o, ref)] if self.refs else [])]
        moves = gives & fork(m, gives, *((out, Const(1)) for out, _ in outputs))
        m.d.comb += [out.payload.as_value().eq(given) for out, given in outputs]
        closes = self.above.valid & is_stop(above) & (expected == self.extent)
        taken = moves & ~missing
        m.d.comb += [self.above.ready.eq(closes | (taken & ends)),
                     *(each.ready.eq(taken) for each in (self.crd_i, *([self.ref_i] if self.refs else [])))]
        with m.If(closes):
            m.d.sync += expected.eq(0)
        with m.Elif(moves & ~over):
            m.d.sync += [at.eq(Mux(ends | ~missing, 0, at + 1)), expected.eq(expected + ends)]
        with m.If(wrong):
            m.d.sync += self.fault.eq(1)
        return m
