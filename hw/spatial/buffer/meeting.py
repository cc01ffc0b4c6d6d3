"""The coordinates at which the fibers of two ports meet, by which elements of a third operand are asked for."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.primitive import JOINER
from ...arch.token import TOKEN, stop
from ...emit import macro
from ...sparse.joiner import Joiner
from ...stream.lead import lead


class Meeting(wiring.Component):
    """Tells what a PE will find, before it does: which coordinates are left of two fibers that it joins.

    Behaviour: of ``0 2 5 S0`` and ``2 6 S1`` it gives ``2 S0``; or what either has, ``0 2 5 6 S0``. It sees the coordinates
    that the PE sees, in their order, and waits for nothing but these and room, so that what the PE waits for was asked for.

    Parameters
    ----------
    either : bool         What either has, not what both have.

    Members
    -------
    x, y : In(stream)     Coordinates as tokens; any control token ends a fiber.
    o : Out(stream)

    Timing: a comparison a cycle; `o` follows `x` and `y` in the same cycle.
    Source: Onyx JSSC III-C (the joiner); Stellar III-E leaves what finds coordinates to the processor.
    """

    def __init__(self, either: bool) -> None:
        self.either, self.module_name = either, f"meeting_{'either' if either else 'both'}"
        tokens = stream.Signature(TOKEN)
        super().__init__({"x": In(tokens), "y": In(tokens), "o": Out(tokens)})

    @property
    def emit_key(self) -> bool:
        return self.either

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.joiner = joiner = macro(Joiner())
        m.d.comb += joiner.cfg.eq(JOINER.config.encode(op="union" if self.either else "intersect"))
        for given, taker in ((self.x, joiner.crd0), (self.y, joiner.crd1)):
            crd = given.payload
            # Ends of both are alike to the joiner.
            m.d.comb += [taker.payload.as_value().eq(Mux(crd.control, stop(0), crd.as_value())), taker.valid.eq(given.valid),
                         given.ready.eq(taker.ready)]
        lead(m, joiner.crd, self.o)
        return m
