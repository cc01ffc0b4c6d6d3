"""Whether anything is under way on the bus of a DMA."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .dma import bus

# Bursts that are under way in a direction are fewer than 2^16: 16 ports, of up to 256 words each.
COUNT_BITS = 16
# What tells it; the DMA takes answers in the cycle in which they come.
WATCHED = ("arvalid", "arready", "rvalid", "rlast", "awvalid", "awready", "wvalid", "bvalid")


class Quiet(wiring.Component):
    """Looks at a bus.

    Behaviour: no burst is offered, none that was taken waits for words or for its answer. In such a cycle the DMA may be reset:
    no offer is withdrawn, and no answer comes later that nobody asked for.

    Members
    -------
    m_axi_arvalid, ... : In(1)     `WATCHED`, of the bus.
    quiet : Out(1)

    Timing: combinational; offers and answers of a cycle count in it.
    Source: Arm IHI 0022, A3.2.1 (an offer stays until it is taken).
    """

    module_name = "dma_quiet"

    def __init__(self) -> None:
        super().__init__({**{f"m_axi_{name}": In(1) for name in WATCHED}, "quiet": Out(1)})
        assert {f"m_axi_{name}" for name in WATCHED} <= bus().keys(), "signals are those of the bus"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        reads = Signal(COUNT_BITS)
        writes = Signal(COUNT_BITS)
        m.d.comb += self.quiet.eq((reads == 0) & (writes == 0) & ~self.m_axi_arvalid & ~self.m_axi_awvalid & ~self.m_axi_wvalid)
        m.d.sync += [reads.eq(reads + (self.m_axi_arvalid & self.m_axi_arready) - (self.m_axi_rvalid & self.m_axi_rlast)),
                     writes.eq(writes + (self.m_axi_awvalid & self.m_axi_awready) - self.m_axi_bvalid)]
        return m
