"""The fibers of the ports of a result, one after the other."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import Component, In, Out

from ...arch.dma import SPAN_BITS
from ...arch.token import DONE, stop
from ...arch.written import Written
from ...emit import macro
from ...stream.fifo import Fifo
from ...stream.lead import lead
from ..array.elastic_pe import pair
from .fiber_bank import FiberBank


def fiber_members(written: Written, gives: dict[str, wiring.Member]) -> dict[str, wiring.Member]:
    """What takes the fibers of a result: its ports, what it gives, and of how many operations it is the sum, if it is one."""
    pairs = stream.Signature(pair(written.tensor.bits))
    parts = {"parts": In(SPAN_BITS)} if written.sums else {}
    return {**{f"i{n}": In(pairs) for n in range(len(written.ports))}, **gives, **parts}


class FiberCollector(Component):
    """Takes a fiber from each port in turn.

    Behaviour: of two ports ``(0, 7) S0`` and ``S0`` become ``(0, 7) S0 S0 D``. Any control token ends a fiber. PEs that hand
    their words on do not go on before all of them can, so a fiber waits in front of each port. Of several ports that give the
    parts of a fiber the last end counts: ``(0, 7) S0`` and ``(4, 1) S0`` become ``(0, 7) (4, 1) S0 D``.

    Parameters
    ----------
    written : Written

    Members
    -------
    i0, ... : In(stream)     `pair`s, of each port.
    o : Out(stream)          `pair`s; done behind the last fiber of a tensor.
    parts : In(16)           If the result is a sum: of how many operations, as of `FiberBank`.

    Timing: a pair a cycle, and one for done and for the end of each part. `i.ready` and `o.valid` come from registers.
    Source: a design of its own.
    """

    def __init__(self, written: Written) -> None:
        self.written = written
        super().__init__(fiber_members(written, {"o": Out(stream.Signature(pair(written.tensor.bits)))}))

    @property
    def module_name(self) -> str:
        return f"collect_{self.written.tensor.name.lower()}"

    @property
    def emit_key(self) -> Written:
        return self.written

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        written = self.written
        ports, spans = len(written.ports), written.spans
        turn = Signal(range(ports))
        operation = Signal(range(written.operations))
        over = Signal()         # done is next
        head = Signal.like(self.o.payload)
        ends = Signal()
        for n in range(ports):
            bits, span = len(Value.cast(head)), spans[n % len(spans)]
            fifo = macro(FiberBank(span, written.tensor.bits) if written.sums else Fifo(bits, span + 1))
            m.submodules[f"fiber{n}"] = fifo
            if written.sums:
                m.d.comb += fifo.parts.eq(self.parts)
            lead(m, getattr(self, f"i{n}"), fifo.i)
            with m.If((turn == n) & ~over):
                m.d.comb += [Value.cast(head).eq(fifo.o.payload), self.o.valid.eq(fifo.o.valid), fifo.o.ready.eq(self.o.ready)]
                if (n + 1) % len(spans):
                    with m.If(fifo.o.valid & head.crd.control):
                        m.d.comb += [self.o.valid.eq(0), fifo.o.ready.eq(1)]
                        m.d.sync += turn.eq(turn + 1)
        m.d.comb += [ends.eq(over | head.crd.control), self.o.payload.eq(head)]
        with m.If(over):
            m.d.comb += [self.o.payload.crd.eq(DONE), self.o.valid.eq(1)]
        with m.Elif(ends):
            m.d.comb += self.o.payload.crd.eq(stop(0))
        with m.If(self.o.valid & self.o.ready & ends):
            last = turn == ports - 1
            m.d.sync += [turn.eq(Mux(over | last, 0, turn + 1)), over.eq(0)]
            with m.If(last & ~over):
                m.d.sync += [over.eq(operation == written.operations - 1),
                             operation.eq(Mux(operation == written.operations - 1, 0, operation + 1))]
        return m
