"""Requests of which it is not yet known how many elements they move, so that others need not wait behind them."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.accelerator import Accelerator
from ...arch.command import PITCHES
from ...arch.dma import ADDRESS_BITS, MOST_SIZE


def parked_layout(accelerator: Accelerator) -> data.StructLayout:
    """Such a request: how many elements there are is all that it does not say. `shift`: the logarithm of the bytes from one to
    the next."""
    return data.StructLayout({"base": ADDRESS_BITS, "size": 2, "shift": range(MOST_SIZE + max(PITCHES).bit_length()),
                              "stream": range(len(accelerator.streams))})


class Parked(wiring.Component):
    """Keeps requests for counted elements until their number is known.

    Behaviour: the oldest of those that are known is offered. Each stream has at most one here, so there is room for all.

    Parameters
    ----------
    accelerator : Accelerator      Some of its streams are counted.

    Members
    -------
    i : In(stream)      `parked_layout`; always taken.
    o : Out(stream)     `parked_layout`.
    known : In          Of each stream: its next number of elements is, or its request is not to be kept.
    in_order : In(1)    Only the oldest of all may go, and what counts its elements.
    holds : Out         Of each stream: a request is here.
    oldest : Out        The stream of the oldest, while `holds` is not 0.

    Timing: a request may leave in the cycle after it came, one a cycle; what is offered gives way to an older one that becomes
    known before it is taken.
    Source: Stellar VI-C: pointers of other fibers are asked for while some are under way.
    """

    def __init__(self, accelerator: Accelerator) -> None:
        self.accelerator, self.module_name = accelerator, f"{accelerator.name.lower()}_parked"
        count = len(accelerator.streams)
        requests = stream.Signature(parked_layout(accelerator))
        super().__init__({"i": In(requests), "o": Out(requests), "known": In(count), "in_order": In(1), "holds": Out(count),
                          "oldest": Out(range(count))})

    @property
    def emit_key(self) -> str:
        return repr(self.accelerator)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        depth = sum(each.is_counted for each in self.accelerator.streams)
        entries: list[Any] = [Signal(parked_layout(self.accelerator), name=f"entry{n}") for n in range(depth)]
        # From the oldest on, without gaps.
        valid = Signal(depth)
        starts = Signal(depth)
        goes = Signal()
        m.d.comb += [
            starts.eq(valid & Cat(Array(self.known)[entry.stream] for entry in entries)
                      & Mux(self.in_order, Cat(1, *(self._counts(entry, self.oldest) for entry in entries[1:])), ~0)),
            self.o.valid.eq(starts.any()), goes.eq(self.o.valid & self.o.ready), self.i.ready.eq(1),
            self.oldest.eq(entries[0].stream)]
        for n in reversed(range(depth)):
            with m.If(starts[n]):
                m.d.comb += self.o.payload.eq(entries[n])
        for n, each in enumerate(self.accelerator.streams):
            if each.is_counted:
                m.d.comb += self.holds[n].eq(Cat(valid[at] & (entry.stream == n) for at, entry in enumerate(entries)).any())
        before = None       # whether there is one in front, when one has gone
        for n, entry in enumerate(entries):
            moves = goes & starts[:n + 1].any()     # the one that goes is this or an older one
            last = n == depth - 1
            stays = Mux(moves, 0 if last else valid[n + 1], valid[n])
            takes = self.i.valid & ~stays & (1 if before is None else before)
            m.d.sync += valid[n].eq(stays | takes)
            with m.If(takes):
                m.d.sync += entry.eq(self.i.payload)
            if not last:
                with m.Elif(moves):
                    m.d.sync += entry.eq(entries[n + 1])
            before = stays
        return m

    def _counts(self, entry: Any, oldest: Value) -> Value:
        """Whether a request moves what counts the elements of the oldest, and is counted itself by a level in front."""
        streams = self.accelerator.streams
        pairs = [(n, at) for n, each in enumerate(streams) if each.is_counted
                 for at in self.accelerator.counted_by(n) if streams[at].is_counted]
        return Cat((oldest == n) & (entry.stream == at) for n, at in pairs).any() if pairs else Const(0)
