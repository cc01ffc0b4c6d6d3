"""Fibers of nothing, between those of a level that has none for ``N``."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.token import TOKEN, stop
from ...emit import macro
from ...sparse.interface import fork, is_maybe
from ...stream.fifo import Fifo

# References whose fibers are under way.
UNDER_WAY = 4


class Absent(wiring.Component):
    """Gives the fibers of a level in the order in which they are asked for, and for ``N`` one of nothing.

    Behaviour: of ``1 N 0 D`` it asks the level for ``1 0 D``; of its answer ``4 S0 2 S0 D`` it makes ``4 S0 S0 2 S0 D``.

    Members
    -------
    ref : In(stream of TOKEN)               Numbers of fibers, ``N`` and done.
    asks : Out(stream of TOKEN)             Those without ``N``.
    crd_i, ref_i : In(stream of TOKEN)      What the level gives.
    crd, ref_o : Out(stream of TOKEN)       The same, with fibers of nothing.

    Timing: a token a cycle; `crd` and `ref_o` follow `crd_i` and `ref_i` in the same cycle.
    Source: a design of its own.
    """

    module_name = "absent"

    def __init__(self) -> None:
        tokens = stream.Signature(TOKEN)
        super().__init__({"ref": In(tokens), "asks": Out(tokens), "crd_i": In(tokens), "ref_i": In(tokens),
                          "crd": Out(tokens), "ref_o": Out(tokens)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.under_way = under_way = macro(Fifo(1, UNDER_WAY))
        is_none = is_maybe(self.ref.payload)
        m.d.comb += [self.asks.payload.eq(self.ref.payload), under_way.i.payload.eq(is_none),
                     self.ref.ready.eq(fork(m, self.ref.valid, (self.asks, ~is_none), (under_way.i, Const(1))))]
        none = under_way.o.payload
        there = under_way.o.valid & (none | (self.crd_i.valid & self.ref_i.valid))
        moves = there & fork(m, there, (self.crd, Const(1)), (self.ref_o, Const(1)))
        m.d.comb += under_way.o.ready.eq(moves & (none | self.crd_i.payload.control))
        for given, out in ((self.crd_i, self.crd), (self.ref_i, self.ref_o)):
            m.d.comb += [out.payload.as_value().eq(Mux(none, stop(0), given.payload.as_value())),
                         given.ready.eq(moves & ~none)]
        return m
