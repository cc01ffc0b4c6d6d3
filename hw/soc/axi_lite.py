"""AXI4-Lite slave: turns bus accesses into single register reads and writes."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .register_slice import sliced

OKAY, SLVERR = 0, 2


def axi_lite_ports(address_bits: int) -> dict[str, wiring.Member]:
    """The 32-bit AXI4-Lite slave port as flat members with the bus's own names."""
    return {
        "s_axil_awaddr": In(address_bits), "s_axil_awprot": In(3), "s_axil_awvalid": In(1), "s_axil_awready": Out(1),
        "s_axil_wdata": In(32), "s_axil_wstrb": In(4), "s_axil_wvalid": In(1), "s_axil_wready": Out(1),
        "s_axil_bresp": Out(2), "s_axil_bvalid": Out(1), "s_axil_bready": In(1),
        "s_axil_araddr": In(address_bits), "s_axil_arprot": In(3), "s_axil_arvalid": In(1), "s_axil_arready": Out(1),
        "s_axil_rdata": Out(32), "s_axil_rresp": Out(2), "s_axil_rvalid": Out(1), "s_axil_rready": In(1),
    }


class AxiLite(wiring.Component):
    """One access at a time; writes go before reads. Writes must be of whole words (else SLVERR, nothing is written).

    Members
    -------
    s_axil_* : the bus.
    accepts, next : Out   In the next cycle there is an access, at this byte address: for a decoder with a register behind it.
    address : Out         Byte address of the access, word aligned.
    write, data : Out     A write of a whole word in this cycle, of a register or not: who has the address says so, and takes it
                          or not.
    value : In(32)        The register at address, in the same cycle.
    error : In(1)         There is no register at address, or it refuses the access.

    Timing: a write is answered four cycles after address and data came, a read likewise; one access a cycle for a master that
    goes on before the answer. Every output of the bus comes from a register (`sliced`), and so do address, write and data.
    Source: Arm IHI 0022, AXI4-Lite.
    """

    def __init__(self, address_bits: int = 16) -> None:
        self.address_bits = address_bits
        super().__init__({**axi_lite_ports(address_bits), "accepts": Out(1), "next": Out(address_bits),
                          "address": Out(address_bits), "write": Out(1), "data": Out(32),
                          "value": In(32), "error": In(1)})

    module_name = "axi_lite"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus = sliced(m, self, axi_lite_ports(self.address_bits), "s_axil_")
        # An access is chosen in one cycle and done in the next, or later while its answer has no place.
        writes = Signal()
        writing = Signal()
        reads = Signal()
        reading = Signal()
        whole = Signal()
        step = Signal()
        m.d.comb += [
            writes.eq(writing & (~bus.bvalid | bus.bready)),
            reads.eq(reading & (~bus.rvalid | bus.rready)),
            step.eq(writes | reads | ~(writing | reading)),
            bus.awready.eq(step & bus.awvalid & bus.wvalid), bus.wready.eq(bus.awready),
            bus.arready.eq(step & ~bus.awready),
            # Without `error`, which comes late: the net of writes reaches all registers of the machine.
            self.write.eq(writes & whole),
            self.accepts.eq(bus.awready | (bus.arvalid & bus.arready)),
            self.next[2:].eq(Mux(bus.awready, bus.awaddr[2:], bus.araddr[2:])),
        ]
        with m.If(step):
            m.d.sync += [writing.eq(bus.awready), reading.eq(bus.arvalid & bus.arready)]
        with m.If(self.accepts):
            m.d.sync += self.address.eq(self.next)
        with m.If(bus.awready):
            m.d.sync += [self.data.eq(bus.wdata), whole.eq(bus.wstrb.all())]
        with m.If(writes):
            m.d.sync += [bus.bvalid.eq(1), bus.bresp.eq(Mux(whole & ~self.error, OKAY, SLVERR))]
        with m.Elif(bus.bready):
            m.d.sync += bus.bvalid.eq(0)
        with m.If(reads):
            m.d.sync += [bus.rvalid.eq(1), bus.rdata.eq(self.value),
                         bus.rresp.eq(Mux(self.error, SLVERR, OKAY))]
        with m.Elif(bus.rready):
            m.d.sync += bus.rvalid.eq(0)
        return m
