"""A DMA: request ports that share one AXI4 bus."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.dma import ADDRESS_BITS, LEAST_BUS, Dma
from ..emit import Macro, macro
from ..soc.axi_data import axi_part
from ..soc.axi_lite import OKAY
from ..soc.burst import INCREMENTING
from ..stream.fifo import Fifo, Fifo2
from ..stream.lead import lead
from .port import BURST, Port
from .request import request_layout
from .turns import Turns


def bus(bus_bytes: int = LEAST_BUS) -> dict[str, wiring.Member]:
    """The AXI4 master of so many bytes a word, as flat members with the bus's own names."""
    found = {name: member.flip() for name, member in axi_part(("aw", "w", "b", "ar", "r"), ADDRESS_BITS, "m_axi_").items()}
    return found | {"m_axi_wdata": Out(8 * bus_bytes), "m_axi_wstrb": Out(bus_bytes), "m_axi_rdata": In(8 * bus_bytes)}


# Bursts whose words are not all sent.
ORDERED = 16


class DmaEngine(wiring.Component):
    """Moves elements between memory and streams, as requests say, each port one at a time and all ports at once.

    Behaviour: bursts of all ports take turns. Each has the number of its port for its identity, so that memory may answer ports
    in any order; the words of a burst, and the bursts of a port, come in order. Bursts are of whole words, incrementing, of up
    to `beats`, and cross no multiple of their bytes, so no border of 4 KB.

    Parameters
    ----------
    dma : Dma

    Members
    -------
    request0, ... : In(stream)       `request_layout`, for each port.
    load0, ... : Out(stream)         Its elements from memory.
    store0, ... : In(stream)         Its elements to memory.
    ended0, failed0, ... : Out(1)    As of `Port`, and with `Dma.wide` whole0 : In(1) and ragged0 : Out(1).
    m_axi_* : the bus. What is read always has room: `m_axi_rready` is 1.

    Timing: a burst a cycle is asked for in each direction, a word a cycle comes and one leaves; every port an element a cycle.
    Addresses, words to write and all of their validity come from registers. An access of a request is on the bus six cycles
    behind it.
    Source: Stellar VI-C: "up to 16" requests in place of one against scattered pointers.
    """

    module_name = "dma"

    def __init__(self, dma: Dma) -> None:
        self.dma = dma
        elements = stream.Signature(dma.stream_bits)
        wide = {"whole": In(1), "ragged": Out(1)} if dma.wide else {}
        members = {**wide, "request": In(stream.Signature(request_layout(dma.loops))), "load": Out(elements),
                   "store": In(elements), "ended": Out(1), "failed": Out(1)}
        super().__init__({**{f"{name}{n}": member for n in range(dma.ports) for name, member in members.items()},
                          **bus(dma.bus_bytes)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.reads = reads = macro(Turns(self.dma.ports, BURST, "dma_turns"))
        m.submodules.writes = writes = macro(Turns(self.dma.ports, BURST, "dma_turns"))
        m.submodules.read_slice = read_slice = macro(Fifo2(len(reads.o.payload.as_value())))
        m.submodules.write_slice = write_slice = macro(Fifo2(len(writes.o.payload.as_value())))
        # Which words follow: those of bursts in the order of their addresses.
        m.submodules.order = order = macro(Fifo(len(writes.o.payload.as_value()), ORDERED))
        ports = [macro(Port(self.dma)) for _ in range(self.dma.ports)]
        for n, port in enumerate(ports):
            m.submodules[f"port{n}"] = port
            self._port(m, n, port)
            for turns, burst in ((reads, port.read), (writes, port.write)):
                lead(m, burst, getattr(turns, f"i{n}"))
        lead(m, reads.o, read_slice.i)
        m.d.comb += [
            write_slice.i.payload.eq(writes.o.payload), write_slice.i.valid.eq(writes.o.valid & order.i.ready),
            order.i.payload.eq(writes.o.payload), order.i.valid.eq(writes.o.valid & write_slice.i.ready),
            writes.o.ready.eq(write_slice.i.ready & order.i.ready),
        ]
        low = exact_log2(self.dma.bus_bytes)
        for channel, taken in (("ar", read_slice), ("aw", write_slice)):
            burst = Signal.like(reads.o.payload, name=f"{channel}_burst")
            m.d.comb += [
                burst.eq(taken.o.payload), getattr(self, f"m_axi_{channel}valid").eq(taken.o.valid),
                taken.o.ready.eq(getattr(self, f"m_axi_{channel}ready")), getattr(self, f"m_axi_{channel}id").eq(burst.of),
                getattr(self, f"m_axi_{channel}addr").eq(burst.word.line << low),
                getattr(self, f"m_axi_{channel}len").eq(burst.word.beats),
                getattr(self, f"m_axi_{channel}size").eq(low), getattr(self, f"m_axi_{channel}burst").eq(INCREMENTING)]
        self._words(m, order, ports, Signal.like(writes.o.payload, name="current"))
        m.d.comb += [self.m_axi_rready.eq(1), self.m_axi_bready.eq(1)]
        return m

    def _port(self, m: Module, n: int, port: Macro) -> None:
        """A port between its streams and the answers of the bus."""
        for name in ("request", "store"):
            lead(m, getattr(self, f"{name}{n}"), getattr(port, name))
        lead(m, port.load, getattr(self, f"load{n}"))
        if self.dma.wide:
            m.d.comb += [port.whole.eq(getattr(self, f"whole{n}")), getattr(self, f"ragged{n}").eq(port.ragged)]
        m.d.comb += [
            getattr(self, f"ended{n}").eq(port.ended), getattr(self, f"failed{n}").eq(port.failed),
            port.came.eq(self.m_axi_rvalid & (self.m_axi_rid == n)), port.came_word.eq(self.m_axi_rdata),
            port.came_error.eq(self.m_axi_rresp != OKAY),
            port.answered.eq(self.m_axi_bvalid & (self.m_axi_bid == n)), port.answered_error.eq(self.m_axi_bresp != OKAY)]

    def _words(self, m: Module, order: Macro, ports: list[Macro], burst: Signal) -> None:
        """The words of bursts in the order of their addresses, through a register slice."""
        sent = Signal(range(self.dma.beats))
        ends = Signal()
        word = ports[0].word.payload.shape()
        m.submodules.word_slice = words = macro(Fifo2(word.size + 1))
        m.d.comb += [burst.eq(order.o.payload), ends.eq(sent == burst.word.beats), words.i.payload[-1].eq(ends),
                     order.o.ready.eq(words.i.valid & words.i.ready & ends)]
        for n, port in enumerate(ports):
            with m.If(burst.of == n):
                m.d.comb += [words.i.payload[:-1].eq(port.word.payload), words.i.valid.eq(order.o.valid & port.word.valid),
                             port.word.ready.eq(order.o.valid & words.i.ready)]
        with m.If(words.i.valid & words.i.ready):
            m.d.sync += sent.eq(sent + 1)
            with m.If(ends):
                m.d.sync += sent.eq(0)
        m.d.comb += [Cat(self.m_axi_wdata, self.m_axi_wstrb, self.m_axi_wlast).eq(words.o.payload),
                     self.m_axi_wvalid.eq(words.o.valid), words.o.ready.eq(self.m_axi_wready)]
