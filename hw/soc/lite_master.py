"""Accesses of a processor, one at a time, to registers on an AXI4-Lite bus."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arch.soc import REGISTER_ADDRESS_BITS
from .axi_lite import OKAY, axi_lite_ports


def access_members(address_bits: int) -> dict[str, wiring.Member]:
    """An access from the side of what answers it: offered until `done`, in which cycle `value` is what was read; a read has no
    strobes."""
    return {"valid": In(1), "address": In(address_bits), "word": In(32), "strobes": In(4), "done": Out(1), "value": Out(32)}


class LiteMaster(wiring.Component):
    """Does what a processor asks of a bus.

    Members
    -------
    valid, address, word, strobes, done, value : see `access_members`.
    s_axil_* : Out        Master of the bus.
    fault : Out(1)        An answer was an error; what is read is 0.

    Timing: a read is done a cycle after its answer; a write in the next cycle, before its answer, which the next access waits
    for. All outputs come from registers.
    Source: Arm IHI 0022, AXI4-Lite.
    """

    def __init__(self) -> None:
        bus = {name: member.flip() for name, member in axi_lite_ports(REGISTER_ADDRESS_BITS).items()}
        super().__init__({**access_members(REGISTER_ADDRESS_BITS), **bus, "fault": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        going = Signal()
        # What a write brings, which is offered when the access itself is over.
        address = Signal(REGISTER_ADDRESS_BITS, reset_less=True)
        word = Signal(32, reset_less=True)
        strobes = Signal(4, reset_less=True)
        m.d.comb += [self.s_axil_awaddr.eq(address), self.s_axil_araddr.eq(address), self.s_axil_wdata.eq(word),
                     self.s_axil_wstrb.eq(strobes), self.s_axil_bready.eq(1), self.s_axil_rready.eq(1)]
        m.d.sync += [self.done.eq(0), self.value.eq(0), self.fault.eq(0)]
        for channel in ("aw", "w", "ar"):
            with m.If(getattr(self, f"s_axil_{channel}ready")):
                m.d.sync += getattr(self, f"s_axil_{channel}valid").eq(0)
        with m.If(self.valid & ~going & ~self.done):
            write = self.strobes.any()
            m.d.sync += [going.eq(1), address.eq(self.address), word.eq(self.word), strobes.eq(self.strobes),
                         self.done.eq(write), self.s_axil_awvalid.eq(write), self.s_axil_wvalid.eq(write),
                         self.s_axil_arvalid.eq(~write)]
        with m.If(self.s_axil_bvalid):
            m.d.sync += [going.eq(0), self.fault.eq(self.s_axil_bresp != OKAY)]
        with m.If(self.s_axil_rvalid):
            refused = self.s_axil_rresp != OKAY
            m.d.sync += [going.eq(0), self.done.eq(1), self.fault.eq(refused)]
            with m.If(~refused):
                m.d.sync += self.value.eq(self.s_axil_rdata)
        return m
