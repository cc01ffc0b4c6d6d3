"""Requests to ports of a DMA, and elements between these and streams."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.accelerator import Accelerator
from ...arch.command import PITCHES
from ...arch.dma import ELEMENT_BITS, MOST_SIZE
from ...dma.dma import DmaEngine, bus
from ...emit import Macro, macro
from ...stream.lead import lead
from ..buffer.counted import RUN
from .decoder import job_layout
from .parked import Parked


class Dispatch(wiring.Component):
    """A DMA whose ports serve the streams of an accelerator.

    Behaviour: a request goes to the first port that is free, when its stream has none under way; so requests of a stream are
    done in order, and those of different streams at the same time. One for counted elements is parked until their number is
    known, and others go on; but the last port that is free is for the oldest one that is parked, or for what counts its
    elements. So a program that ends when its requests are done one by one ends with any number of ports.

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
    streams : Out               Of each stream: a request is under way, or parked.
    orphans : Out               If elements are counted, of each stream: an operand waits for what nothing under way counts, at
                                any level in front.
    stuck : Out(1)              Likewise: what is at `i` can never go, as the only port is kept for an orphan.
    forget : In(1)              Likewise: drop orphans.
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
        elements = [stream.Signature(accelerator.dma.word_bits if each.wide else ELEMENT_BITS) for each in accelerator.streams]
        sizes = {f"size{n}": Out(2) for n, each in enumerate(accelerator.streams) if each.wide and each.is_result}
        wide = {"ragged": Out(count)} if accelerator.dma.wide else {}
        counted = [n for n, each in enumerate(accelerator.streams) if each.is_counted]
        super().__init__({"i": In(stream.Signature(job_layout(accelerator))),
                          **{f"s{n}": In(elements[n]) if each.is_result else Out(elements[n])
                             for n, each in enumerate(accelerator.streams)},
                          **sizes, **wide, "narrow": Out(count), "streams": Out(count),
                          **{f"run{n}": In(stream.Signature(RUN)) for n in counted},
                          **({"orphans": Out(count), "stuck": Out(1), "forget": In(1)} if counted else {}),
                          "ended": Out(count), "failed": Out(1), **bus(accelerator.dma.bus_bytes)})

    @property
    def emit_key(self) -> str:
        return repr(self.accelerator)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        dma, streams = self.accelerator.dma, self.accelerator.streams
        m.submodules.dma = engine = macro(DmaEngine(dma))
        for name, member in bus(dma.bus_bytes).items():
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
        request, number, starts, held = job.request, job.stream, goes, Const(0)
        if self.accelerator.counts:
            number = Signal(range(len(streams)), name="number")
            request, starts, held = self._parked(m, goes, taken, allowed, number, accepts)
        else:
            m.d.comb += [allowed.eq(~taken & accepts.any()), self.i.ready.eq(allowed), goes.eq(self.i.valid & allowed)]
        for port in range(dma.ports):
            asks = getattr(engine, f"request{port}")
            mine = Signal(name=f"mine{port}")
            m.d.comb += [mine.eq(starts & free[port]), asks.payload.eq(request), asks.valid.eq(mine)]
            if dma.wide:
                whole = Cat(number == n for n, each in enumerate(streams) if each.wide).any()
                m.d.comb += getattr(engine, f"whole{port}").eq(whole)
            m.d.sync += busy[port].eq((busy[port] & ~ends[port]) | mine)
            with m.If(mine):
                m.d.sync += serves[port].eq(number)
        m.d.comb += self.failed.eq(Cat(ends[port] & getattr(engine, f"failed{port}") for port in range(dma.ports)).any())
        for n, each in enumerate(streams):
            self._join(m, n, each.is_result, engine, [busy[port] & (serves[port] == n) for port in range(dma.ports)])
            here = Cat(busy[port] & (serves[port] == n) for port in range(dma.ports)).any()
            m.d.comb += [self.streams[n].eq(here | held[n] if each.is_counted else here),
                         self.ended[n].eq(Cat(ends[port] & (serves[port] == n) for port in range(dma.ports)).any())]
            with m.If(starts & (number == n)):
                m.d.sync += self.narrow[n].eq(request.size == 0)
                if each.wide and each.is_result:
                    m.d.sync += getattr(self, f"size{n}").eq(request.size)
            if dma.wide:
                m.d.comb += self.ragged[n].eq(Cat(ends[port] & (serves[port] == n) & getattr(engine, f"ragged{port}")
                                                  for port in range(dma.ports)).any())
        return m

    def _parked(self, m: Module, goes: Signal, taken: Value, allowed: Signal, number: Signal,
                accepts: Signal) -> tuple[Any, Signal, Value]:
        """The request that is next, a parked one with what was counted in it before the one that comes; whether it starts; what
        is parked."""
        job, streams = self.i.payload, self.accelerator.streams
        m.submodules.parked = parked = macro(Parked(self.accelerator))
        counted = Cat((job.stream == n) & each.is_counted for n, each in enumerate(streams)).any()
        known = Cat(getattr(self, f"run{n}").valid if each.is_counted else Const(0) for n, each in enumerate(streams))
        counter = Signal.like(number, name="counter")       # what counts the elements of the oldest
        unknown = Signal()
        several = Signal()
        starts = Signal()
        dropped = Signal()
        with m.Switch(parked.oldest):
            for n, each in enumerate(streams):
                if each.is_counted:
                    with m.Case(n):
                        m.d.comb += [counter.eq(self.accelerator.counter(n)), unknown.eq(parked.holds.any() & ~known[n])]
        counts = Signal()       # what is at i counts the elements of the oldest
        m.d.comb += [
            several.eq((accepts & (accepts - 1)) != 0), parked.in_order.eq(~several),
            parked.known.eq(known | Mux(self.forget, self.orphans, 0)), parked.o.ready.eq(accepts.any() | dropped),
            dropped.eq(Cat(self.forget & self.orphans[n] & (parked.o.payload.stream == n) for n in range(len(streams))).any()),
            allowed.eq(accepts.any() & ~parked.o.valid & (several | ~parked.holds.any() | counts)),
            self.i.ready.eq(~taken & (counted | allowed)), goes.eq(self.i.valid & self.i.ready),
            starts.eq((parked.o.valid & accepts.any() & ~dropped) | (goes & ~counted)),
            number.eq(Mux(parked.o.valid, parked.o.payload.stream, job.stream)),
            parked.i.valid.eq(goes & counted), parked.i.payload.base.eq(job.request.base),
            parked.i.payload.size.eq(job.request.size), parked.i.payload.stream.eq(job.stream),
            # Where no stride was told, elements are one behind the other.
            parked.i.payload.shift.eq(job.request.size)]
        for shift in range(1, MOST_SIZE + max(PITCHES).bit_length()):
            with m.If(job.request.loops[0].stride[shift]):
                m.d.comb += parked.i.payload.shift.eq(shift)
        request: Any = Signal.like(job.request, name="started")
        m.d.comb += request.eq(job.request)
        with m.If(parked.o.valid):
            m.d.comb += request.as_value().eq(0)
            for loop in (request.loops[level] for level in range(self.accelerator.dma.loops)):
                m.d.comb += [loop.span.eq(1), loop.there.eq(1)]
        for n, each in enumerate(streams):
            if not each.is_counted:
                continue
            run, mine, shift = getattr(self, f"run{n}"), Signal(name=f"counted{n}"), parked.o.payload.shift
            m.d.comb += [mine.eq(parked.o.valid & (number == n)), run.ready.eq(mine & parked.o.ready)]
            with m.If(mine):
                # Of none there is one that is not in memory, as a request has an element.
                count, loop = run.payload.count, request.loops[0]
                m.d.comb += [loop.there.eq(count), loop.span.eq(Mux(count == 0, 1, count)), loop.stride.eq(1 << shift),
                             request.base.eq(parked.o.payload.base + (run.payload.first << shift)),
                             request.size.eq(parked.o.payload.size), request.stores.eq(each.is_result)]
        later = Signal(len(streams))        # a number is known in the cycle after the last of what counts was taken
        orphans, missed = list[Value](), list[Value]()
        for n, each in enumerate(streams):
            orphan: Value = Const(0)
            if each.is_counted and not each.is_result:
                # What counts may be parked itself, where it is a level behind another one, and wait for what counts that.
                *inner, root = self.accelerator.counted_by(n)
                above = inner[0] if inner else root
                orphan = parked.holds[n] & ~known[n] & (~self.streams[above] | (orphans[above] if inner else 0))
                if inner:
                    # What stands in front of all is missing while the number behind it is not known, and that alone then.
                    missed.append(self.orphans[n] & (parked.oldest == n) & (job.stream == root) & ~known[inner[-1]])
            orphans.append(orphan)
        m.d.sync += later.eq(Cat(orphans))
        m.d.comb += [self.orphans.eq(Cat(orphans) & later),
                     counts.eq((unknown & (job.stream == counter)) | (Cat(missed).any() if missed else 0))]
        if self.accelerator.dma.ports == 1:
            m.d.comb += self.stuck.eq(Cat(self.orphans[n] & (parked.oldest == n) for n in range(len(streams))).any()
                                      & ~counted & ~counts)
        return request, starts, parked.holds

    def _join(self, m: Module, n: int, is_result: bool, engine: Macro, mine: list[Value]) -> None:
        """A stream with the port that serves it."""
        own = getattr(self, f"s{n}")
        for port, here in enumerate(mine):
            with m.If(here):
                if is_result:
                    lead(m, own, getattr(engine, f"store{port}"))
                else:
                    lead(m, getattr(engine, f"load{port}"), own)
