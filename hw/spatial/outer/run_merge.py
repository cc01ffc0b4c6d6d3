"""Merge two sorted runs of a memory into one behind them, equal coordinates added, or met by another reduction."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...arch.merger import Merger
from ...arch.outer_product import VALUE_BITS, OuterProduct
from ...arch.reduction import ADD
from ...arch.token import DATA_BITS
from ...emit import macro
from ...memory.sram import SramPort
from ...stream.fifo import Fifo2
from ...stream.lead import lead
from ..merge.node import MergeNode, element
from .lane_work import PAIR, PAIR_LANES


class RunMerge(wiring.Component):
    """Merges a run and the one behind it.

    Behaviour: with (0, 5) (2, 7) | (2, 1) in the memory, `first` at the first of them, (0, 5) (2, 8) are written from `to` on.
    Addresses wrap.

    Parameters
    ----------
    kind : OuterProduct

    Members
    -------
    start : In(1)       While nothing goes.
    first, middle, last : In      Where the first run begins and ends, and the second one ends; stay until `done`.
    to : In             Where the result begins.
    behind : Out        Where it ends, with `done`.
    done : Out(1)       In one cycle.
    memory : Out(SramPort)
    late : Out(1)       If it is counted: one of both has no element to be compared.

    Timing: two cycles for an element, three for two that are equal, a few at the beginning and the end.
    Source: OuterSPACE IV-B.
    """

    def __init__(self, kind: OuterProduct) -> None:
        self.kind, self.module_name = kind, f"run_merge_{kind.pairs}" + (f"_{kind.reduction}" if kind.reduction != ADD else "")
        at = range(kind.pairs)
        waits = {"late": Out(1)} if kind.counters else {}
        super().__init__({"start": In(1), "first": In(at), "middle": In(at), "last": In(at), "to": In(at), "behind": Out(at),
                          "done": Out(1), "memory": Out(SramPort(kind.pairs, PAIR_LANES)), **waits})

    @property
    def emit_key(self) -> tuple[int, str, bool]:
        return self.kind.pairs, self.kind.reduction, self.kind.counters

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        merger = Merger("runs", 2, 1, 1 << DATA_BITS, bits=VALUE_BITS, reduction=self.kind.reduction)
        m.submodules.node = node = macro(MergeNode(merger))
        going = Signal()
        memory = self.memory
        with m.If(self.start):
            m.d.sync += going.eq(1)
        fresh: Any = data.View(PAIR, memory.word)
        given: Any = data.View(PAIR, memory.data)
        m.d.comb += [given.coordinate.eq(node.o.payload.key), given.value.eq(node.o.payload.value)]
        writes = Signal()
        ends = Signal()
        m.d.comb += [ends.eq(node.o.valid & node.o.payload.key[-1]), writes.eq(node.o.valid & ~node.o.payload.key[-1]),
                     node.o.ready.eq(going), self.done.eq(going & ends)]
        if self.kind.counters:
            m.d.comb += self.late.eq(going & ~(node.x.valid & node.y.valid))
        with m.If(self.start):
            m.d.sync += self.behind.eq(self.to)
        with m.Elif(writes):
            m.d.sync += self.behind.eq(self.behind + 1)
        with m.If(self.done):
            m.d.sync += going.eq(0)
        wants = []
        for name, begin, end in (("x", self.first, self.middle), ("y", self.middle, self.last)):
            m.submodules[f"fifo_{name}"] = queue = macro(Fifo2(element(merger)))
            lead(m, queue.o, getattr(node, name))
            at = Signal(range(self.kind.pairs), name=f"at_{name}")
            came = Signal(name=f"came_{name}")       # what was read is there
            closed = Signal(name=f"closed_{name}")   # the end of the run has been given
            free = Signal(name=f"free_{name}")
            reads = Signal(name=f"reads_{name}")
            item: Any = data.View(element(merger), queue.i.payload)
            m.d.comb += [free.eq(going & queue.i.ready & ~came), queue.i.valid.eq(came | (free & (at == end) & ~closed)),
                         item.value.eq(fresh.value), item.key.eq(Mux(came, fresh.coordinate, merger.end))]
            m.d.sync += came.eq(reads)
            with m.If(self.start):
                m.d.sync += [at.eq(begin), closed.eq(0)]
            with m.Elif(reads):
                m.d.sync += at.eq(at + 1)
            with m.Elif(free & (at == end)):
                m.d.sync += closed.eq(1)
            wants.append((reads, free & (at != end), at, queue))
        (reads_x, wants_x, at_x, _), (reads_y, wants_y, at_y, queue_y) = wants
        # A result has the memory first; then the run of which less waits.
        y_first = ~queue_y.o.valid
        m.d.comb += [
            reads_x.eq(wants_x & ~writes & ~(wants_y & y_first)), reads_y.eq(wants_y & ~writes & ~reads_x),
            memory.enable.eq(writes | reads_x | reads_y), memory.write.eq(Mux(writes, ~0, 0)),
            memory.address.eq(Mux(writes, self.behind, Mux(reads_x, at_x, at_y)))]
        return m
