"""Fibers without an element are left out, and which are left is told."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.token import DONE, stop
from ...sparse.interface import fork, is_done
from ..array.elastic_pe import pair


class FiberDropper(wiring.Component):
    """Gives the coordinates of a level that have an element in their fibers, and these fibers alone.

    Behaviour: with extent 3 and a group of 1, of ``S0 (5, 7) S0 S0  S0 S0 S0  D`` come ``(5, 7) S0 D`` at o and ``1 S0 S0 D``
    at crd. With groups of two all fibers of a group stay, if one of them has an element. It undoes what an `Expander` does.

    Parameters
    ----------
    extent : int        Coordinates of a fiber of the level.
    group : int         Fibers for each coordinate.
    bits : int          Of a value; 0: what comes has coordinates alone.

    Members
    -------
    i : In(stream), o : Out(stream)     `pair`s; any stop ends a fiber, done a tensor.
    crd : Out(stream)                   `pair`s of no value.

    Timing: a pair a cycle, and one more for each coordinate that is left, and for each empty fiber in front of the first
    element of a group; outputs follow `i` in the same cycle.
    Source: Onyx JSSC III-C (coordinate dropper). Departure: coordinates above are counted, as a port gives every fiber.
    """

    def __init__(self, extent: int, group: int, bits: int) -> None:
        self.extent, self.group, self.bits = extent, group, bits
        self.module_name = f"fiber_dropper_{extent}x{group}_w{bits}"
        pairs, crds = stream.Signature(pair(bits)), stream.Signature(pair(0))
        super().__init__({"i": In(pairs), "o": Out(pairs), "crd": Out(crds)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        token = self.i.payload.crd
        coordinate = Signal(range(self.extent))
        fiber = Signal(range(self.group))
        pending = Signal(range(self.group + 1))     # empty fibers of this group that are held back
        told = Signal()         # the coordinate of this group
        over, ends, last, closes, names, fills, passes = (Signal(name=name) for name in (
            "over", "ends", "last", "closes", "names", "fills", "passes"))
        m.d.comb += [
            over.eq(is_done(token)), ends.eq(token.control & ~over), last.eq(ends & (fiber == self.group - 1)),
            closes.eq(last & (coordinate == self.extent - 1)),
            names.eq(~token.control & ~told), fills.eq(~token.control & told & (pending != 0)),
            passes.eq(over | (told & ~fills))]
        word = Mux(over, DONE, Mux(ends | fills, stop(0), token.data))
        m.d.comb += [
            self.o.payload.crd.as_value().eq(word), self.crd.payload.crd.as_value().eq(
                Mux(over, DONE, Mux(ends, stop(0), coordinate)))]
        if self.bits:
            m.d.comb += self.o.payload.value.eq(Mux(token.control | fills, 0, self.i.payload.value))
        moves: Value = self.i.valid & fork(m, self.i.valid, (self.o, passes | fills), (self.crd, over | closes | names))
        m.d.comb += self.i.ready.eq(moves & ~names & ~fills)
        with m.If(moves & names):
            m.d.sync += told.eq(1)
        with m.Elif(moves & fills):
            m.d.sync += pending.eq(pending - 1)
        with m.Elif(moves & ends):
            m.d.sync += [fiber.eq(Mux(last, 0, fiber + 1)), pending.eq(Mux(last, 0, pending + ~told)),
                         told.eq(told & ~last)]
            with m.If(last):
                m.d.sync += coordinate.eq(Mux(closes, 0, coordinate + 1))
        return m
