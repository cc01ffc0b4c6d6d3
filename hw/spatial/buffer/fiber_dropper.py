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
    With nodes of 2 come ``(5, 7) S0 S0 D`` at o: a place of a node that no coordinate has is a group of empty fibers.

    Parameters
    ----------
    extent : int        Coordinates of a fiber of the level.
    group : int         Fibers for each coordinate.
    bits : int          Of a value; 0: what comes has coordinates alone.
    node : int          Of a level of linked lists: places of a node, a power of two.

    Members
    -------
    i : In(stream), o : Out(stream)     `pair`s; any stop ends a fiber, done a tensor.
    crd : Out(stream)                   `pair`s of no value.

    Timing: a pair a cycle, and one more for each coordinate that is left, and for each empty fiber in front of the first
    element of a group; and for each fiber of a place of no coordinate. Outputs follow `i` in the same cycle.
    Source: Onyx JSSC III-C (coordinate dropper). Departure: coordinates above are counted, as a port gives every fiber.
    """

    def __init__(self, extent: int, group: int, bits: int, node: int = 1) -> None:
        self.extent, self.group, self.bits, self.node = extent, group, bits, node
        self.module_name = f"fiber_dropper_{extent}x{group}_w{bits}" + (f"_n{node}" if node > 1 else "")
        pairs, crds = stream.Signature(pair(bits)), stream.Signature(pair(0))
        super().__init__({"i": In(pairs), "o": Out(pairs), "crd": Out(crds)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        token = self.i.payload.crd
        coordinate = Signal(range(self.extent))
        fiber = Signal(range(self.group))
        pending = Signal(range(self.group + 1))     # empty fibers of this group that are held back
        told = Signal()         # the coordinate of this group
        place = Signal(range(self.node))    # of the next coordinate in its node
        pads = Signal()         # places of no coordinate are filled; what is there waits
        over, ends, last, closes, names, fills, passes = (Signal(name=name) for name in (
            "over", "ends", "last", "closes", "names", "fills", "passes"))

        def goes_on(condition: Value) -> Value:
            return condition & ~pads if self.node > 1 else condition

        m.d.comb += [
            over.eq(goes_on(is_done(token))), ends.eq(goes_on(token.control & ~over)),
            last.eq(ends & (fiber == self.group - 1)),
            closes.eq(last & (coordinate == self.extent - 1)),
            names.eq(goes_on(~token.control & ~told)), fills.eq(~token.control & told & (pending != 0)),
            passes.eq(over | (told & ~fills))]
        gives_stop = fills | pads if self.node > 1 else fills
        word = Mux(over, DONE, Mux(ends | gives_stop, stop(0), token.data))
        m.d.comb += [
            self.o.payload.crd.as_value().eq(word), self.crd.payload.crd.as_value().eq(
                Mux(over, DONE, Mux(ends, stop(0), coordinate)))]
        if self.bits:
            m.d.comb += self.o.payload.value.eq(Mux(token.control | gives_stop, 0, self.i.payload.value))
        moves: Value = self.i.valid & fork(m, self.i.valid, (self.o, passes | gives_stop), (self.crd, over | closes | names))
        m.d.comb += self.i.ready.eq(moves & ~names & ~gives_stop)
        with m.If(moves & names):
            m.d.sync += told.eq(1)
        with m.Elif(moves & fills):
            m.d.sync += pending.eq(pending - 1)
        with m.Elif(moves & ends):
            m.d.sync += [fiber.eq(Mux(last, 0, fiber + 1)), pending.eq(Mux(last, 0, pending + ~told)),
                         told.eq(told & ~last)]
            with m.If(last):
                m.d.sync += coordinate.eq(Mux(closes, 0, coordinate + 1))
        if self.node > 1:
            with m.If(moves & names):
                m.d.sync += place.eq(place + 1)
            with m.Elif(moves & closes):
                m.d.sync += pads.eq(place != 0)
            with m.Elif(moves & pads):
                filled = fiber == self.group - 1
                m.d.sync += fiber.eq(Mux(filled, 0, fiber + 1))
                with m.If(filled):
                    m.d.sync += [place.eq(place + 1), pads.eq(place != self.node - 1)]
        return m
