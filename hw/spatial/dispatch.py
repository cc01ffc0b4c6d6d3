"""Requests to ports of a DMA, and elements between these and streams."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.accelerator import Accelerator
from ..arch.dma import ELEMENT_BITS, WORD_BITS
from ..dma.dma import BUS, DmaEngine
from ..emit import Macro, macro
from ..stream.lead import lead
from .counted import RUN
from .decoder import job_layout


class Dispatch(wiring.Component):
    """A DMA whose ports serve the streams of an accelerator.

    Behaviour: a request goes to the first port that is free, when its stream has none under way; so requests of a stream are
    done in order, and those of different streams at the same time.

    Parameters
    ----------
    accelerator : Accelerator

    Members
    -------
    i : In(stream)              `job_layout`.
    s0, ... : Out or In(stream) Elements of each stream, from memory or to it.
    narrow : Out                Of each stream: elements are bytes.
    size0, ... : Out(2)         Of each wide result: the logarithm of the bytes of its elements in memory.
    ragged : Out                Of each stream, with `ended`: its request was no whole number of words.
    streams : Out               Of each stream: a request is under way.
    ended : Out                 Of each stream: its request ends.
    run0, ... : In(stream)      `RUN` of the tensors of each stream that is counted: a request waits for one, and moves this.
    failed : Out(1)             A request ends that met an error response.
    m_axi_* : the bus.

    Timing: a request a cycle; elements pass in their cycle.
    Source: Stellar VI-C.
    """

    def __init__(self, accelerator: Accelerator) -> None:
        self.accelerator, self.module_name = accelerator, f"{accelerator.name.lower()}_dispatch"
        count = len(accelerator.streams)
        elements = [stream.Signature(WORD_BITS if each.wide else ELEMENT_BITS) for each in accelerator.streams]
        sizes = {f"size{n}": Out(2) for n, each in enumerate(accelerator.streams) if each.wide and each.is_result}
        wide = {"ragged": Out(count)} if accelerator.dma.wide else {}
        counted = [n for n, each in enumerate(accelerator.streams) if each.is_counted]
        super().__init__({"i": In(stream.Signature(job_layout(accelerator))),
                          **{f"s{n}": In(elements[n]) if each.is_result else Out(elements[n])
                             for n, each in enumerate(accelerator.streams)},
                          **sizes, **wide, "narrow": Out(count), "streams": Out(count),
                          **{f"run{n}": In(stream.Signature(RUN)) for n in counted},
                          "ended": Out(count), "failed": Out(1), **BUS})

    @property
    def emit_key(self) -> str:
        return repr(self.accelerator)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        dma, streams = self.accelerator.dma, self.accelerator.streams
        m.submodules.dma = engine = macro(DmaEngine(dma))
        for name, member in BUS.items():
            own, inner = getattr(self, name), getattr(engine, name)
            m.d.comb += own.eq(inner) if member.flow is Out else inner.eq(own)
        job = self.i.payload
        busy = Signal(dma.ports)
        serves = [Signal(range(len(streams)), name=f"serves{port}") for port in range(dma.ports)]
        ends = Signal(dma.ports)
        accepts = Signal(dma.ports)
        m.d.comb += [ends.eq(Cat(getattr(engine, f"ended{port}") for port in range(dma.ports))),
                     accepts.eq(Cat(getattr(engine, f"request{port}").ready for port in range(dma.ports)) & ~busy)]
        free = accepts & (~accepts + 1)
        allowed = Signal()
        goes = Signal()
        taken = Cat(self.streams[n] & (job.stream == n) for n in range(len(streams))).any()
        request = job.request
        if self.accelerator.counts:
            request, waits = self._counted(m, goes)
            taken = taken | waits
        m.d.comb += [allowed.eq(~taken & accepts.any()), self.i.ready.eq(allowed), goes.eq(self.i.valid & allowed)]
        for port in range(dma.ports):
            asks = getattr(engine, f"request{port}")
            mine = Signal(name=f"mine{port}")
            m.d.comb += [mine.eq(goes & free[port]), asks.payload.eq(request), asks.valid.eq(mine)]
            if dma.wide:
                whole = Cat(job.stream == n for n, each in enumerate(streams) if each.wide).any()
                m.d.comb += getattr(engine, f"whole{port}").eq(whole)
            m.d.sync += busy[port].eq((busy[port] & ~ends[port]) | mine)
            with m.If(mine):
                m.d.sync += serves[port].eq(job.stream)
        m.d.comb += self.failed.eq(Cat(ends[port] & getattr(engine, f"failed{port}") for port in range(dma.ports)).any())
        for n, each in enumerate(streams):
            self._join(m, n, each.is_result, engine, [busy[port] & (serves[port] == n) for port in range(dma.ports)])
            m.d.comb += [self.streams[n].eq(Cat(busy[port] & (serves[port] == n) for port in range(dma.ports)).any()),
                         self.ended[n].eq(Cat(ends[port] & (serves[port] == n) for port in range(dma.ports)).any())]
            with m.If(goes & (job.stream == n)):
                m.d.sync += self.narrow[n].eq(job.request.size == 0)
                if each.wide and each.is_result:
                    m.d.sync += getattr(self, f"size{n}").eq(job.request.size)
            if dma.wide:
                m.d.comb += self.ragged[n].eq(Cat(ends[port] & (serves[port] == n) & getattr(engine, f"ragged{port}")
                                                  for port in range(dma.ports)).any())
        return m

    def _counted(self, m: Module, goes: Signal) -> tuple[Any, Signal]:
        """The request with what was counted in it; whether that is not known yet."""
        job = self.i.payload
        request: Any = Signal.like(job.request, name="counted_request")
        waits = Signal()
        m.d.comb += request.eq(job.request)
        for n, each in enumerate(self.accelerator.streams):
            if not each.is_counted:
                continue
            run, mine = getattr(self, f"run{n}"), Signal(name=f"counted{n}")
            m.d.comb += [mine.eq(job.stream == n), run.ready.eq(goes & mine)]
            with m.If(mine):
                # Of none there is one that is not in memory, as a request has an element.
                count, loop = run.payload.count, request.loops[0]
                m.d.comb += [waits.eq(~run.valid), loop.there.eq(count), loop.span.eq(Mux(count == 0, 1, count)),
                             loop.stride.eq(1 << job.request.size),
                             request.base.eq(job.request.base + (run.payload.first << job.request.size))]
        return request, waits

    def _join(self, m: Module, n: int, is_result: bool, engine: Macro, mine: list[Value]) -> None:
        """A stream with the port that serves it."""
        own = getattr(self, f"s{n}")
        for port, here in enumerate(mine):
            with m.If(here):
                if is_result:
                    lead(m, own, getattr(engine, f"store{port}"))
                else:
                    lead(m, getattr(engine, f"load{port}"), own)
