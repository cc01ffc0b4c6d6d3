"""Of each fiber of a level the position of one coordinate that is asked for."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.token import DATA_BITS, DONE, MAYBE, TOKEN
from ...sparse.interface import is_done


class Picker(wiring.Component):
    """Gives a position for each fiber, or ``N`` where the fiber does not have the coordinate.

    Behaviour: with extent 4, of wants ``1 2``, crd_i ``0 1 S0 0 3 S0 D`` and ref_i ``5 6 S0 7 8 S0 D`` come ``6 N D``.

    Parameters
    ----------
    extent : int        Of the level.

    Members
    -------
    want : In(stream)                       A coordinate for each fiber.
    crd_i, ref_i : In(stream of TOKEN)      Any stop ends a fiber.
    o : Out(stream of TOKEN)
    fault : Out(1)      Coordinates do not rise, or are beyond the extent. Sticky until reset; nothing goes on then.

    Timing: a cycle for each coordinate of a fiber and its end, with which `o` follows in the same cycle.
    Source: a design of its own; Stellar's register files compare the coordinates of all levels at once in its place.
    """

    def __init__(self, extent: int) -> None:
        self.extent, self.module_name = extent, f"picker_{extent}"
        tokens = stream.Signature(TOKEN)
        super().__init__({"want": In(stream.Signature(DATA_BITS)), "crd_i": In(tokens), "ref_i": In(tokens), "o": Out(tokens),
                          "fault": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        crd = self.crd_i.payload
        least = Signal(range(self.extent + 1))      # the least coordinate that may come
        found = Signal(DATA_BITS + 1, init=MAYBE)
        inside, over, wrong, gives, moves = (Signal(name=name) for name in ("inside", "over", "wrong", "gives", "moves"))
        m.d.comb += [
            over.eq(is_done(crd)),
            inside.eq(self.crd_i.valid & self.ref_i.valid & (over | self.want.valid) & ~self.fault),
            wrong.eq(inside & ~crd.control & ((crd.data < least) | (crd.data >= self.extent))),
            gives.eq(inside & crd.control), self.o.valid.eq(gives),
            self.o.payload.as_value().eq(Mux(over, DONE, found)),
            moves.eq(inside & ~wrong & (~crd.control | self.o.ready)),
            self.crd_i.ready.eq(moves), self.ref_i.ready.eq(moves), self.want.ready.eq(moves & crd.control & ~over)]
        with m.If(moves & crd.control):
            m.d.sync += [least.eq(0), found.eq(MAYBE)]
        with m.Elif(moves):
            m.d.sync += least.eq(crd.data + 1)
            with m.If(crd.data == self.want.payload):
                m.d.sync += found.eq(self.ref_i.payload.data)
        with m.If(wrong):
            m.d.sync += self.fault.eq(1)
        return m
