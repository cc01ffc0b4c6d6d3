"""AXI4 slave for data: bursts of 64-bit words to and from the global buffer."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .axi_lite import OKAY, SLVERR
from .register_slice import sliced

ID_BITS = 4
FIXED_BURST = 0


def axi_ports(address_bits: int) -> dict[str, wiring.Member]:
    """The 64-bit AXI4 slave port as flat members with the bus's own names."""
    ports: dict[str, wiring.Member] = {}
    for channel in ("aw", "ar"):
        ports |= {f"s_axi_{channel}{name}": In(bits) for name, bits in (
            ("id", ID_BITS), ("addr", address_bits), ("len", 8), ("size", 3), ("burst", 2), ("lock", 1), ("cache", 4),
            ("prot", 3), ("valid", 1))}
        ports[f"s_axi_{channel}ready"] = Out(1)
    return ports | {
        "s_axi_wdata": In(64), "s_axi_wstrb": In(8), "s_axi_wlast": In(1), "s_axi_wvalid": In(1), "s_axi_wready": Out(1),
        "s_axi_bid": Out(ID_BITS), "s_axi_bresp": Out(2), "s_axi_bvalid": Out(1), "s_axi_bready": In(1),
        "s_axi_rid": Out(ID_BITS), "s_axi_rdata": Out(64), "s_axi_rresp": Out(2), "s_axi_rlast": Out(1),
        "s_axi_rvalid": Out(1), "s_axi_rready": In(1)}


class AxiData(wiring.Component):
    """One burst at a time; incrementing bursts of full 64-bit beats. Other bursts and addresses beyond the memory are
    answered with SLVERR and change nothing.

    A write burst ends with the beat that its address announced as the last or with the one that says it is, whichever comes
    first. If they are not the same beat, the answer is SLVERR: what was taken until then is written, and beats that a master
    sends beyond the end are those of its next burst. A burst whose beats do not come, or whose answers nobody takes, keeps the
    port, for writes and reads, until it goes on or until reset: AXI4 has no way to give a burst up.

    Members
    -------
    s_axi_* : the bus.
    valid, write, line, data, strobe : Out    Access to a 64-bit word of the global buffer.
    ready : In(1)                             It is done (write), or its word follows `read_latency` cycles later (read).
    word : In(64)

    Timing: one beat per cycle for writes; one beat every `read_latency` + 1 cycles for reads. Every output of the bus comes
    from a register (`sliced`).
    Source: Arm IHI 0022, AXI4.
    """

    def __init__(self, memory_bytes: int, address_bits: int = 32, read_latency: int = 1) -> None:
        self.memory_bytes, self.address_bits, self.read_latency = memory_bytes, address_bits, read_latency
        self.line_bits = (memory_bytes // 8 - 1).bit_length()
        super().__init__({**axi_ports(address_bits), "valid": Out(1), "write": Out(1), "line": Out(self.line_bits),
                          "data": Out(64), "strobe": Out(8), "ready": In(1), "word": In(64)})

    module_name = "axi_data"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus = sliced(m, self, axi_ports(self.address_bits), "s_axi_")
        line = Signal(self.address_bits - 3)
        beats = Signal(8)
        bad = Signal()
        refused = Signal()
        identity = Signal(ID_BITS)
        m.d.comb += [self.line.eq(line), self.data.eq(bus.wdata), self.strobe.eq(bus.wstrb),
                     bad.eq(refused | (line >= self.memory_bytes // 8)),
                     bus.bid.eq(identity), bus.rid.eq(identity)]

        def accept(channel: str) -> list[object]:
            """Take a burst's address; what cannot be served is marked and answered with an error."""
            def port(name: str) -> Signal:
                found: Signal = getattr(bus, channel + name)
                return found

            return [line.eq(port("addr")[3:]), beats.eq(port("len")), identity.eq(port("id")),
                    refused.eq((port("size") != 3) | ((port("burst") == FIXED_BURST) & port("len").any()) | port("burst")[1])]

        fresh = Signal()
        held = Signal(64)
        with m.FSM(name="state"):
            with m.State("IDLE"):
                m.d.comb += [bus.awready.eq(1), bus.arready.eq(~bus.awvalid)]
                with m.If(bus.awvalid):
                    m.d.sync += [*accept("aw"), bus.bresp.eq(OKAY)]
                    m.next = "WRITE"
                with m.Elif(bus.arvalid):
                    m.d.sync += accept("ar")
                    m.next = "READ"
            with m.State("WRITE"):
                m.d.comb += [self.valid.eq(bus.wvalid & ~bad), self.write.eq(1),
                             bus.wready.eq(self.ready | bad)]
                with m.If(bus.wvalid & bus.wready):
                    m.d.sync += [line.eq(line + 1), beats.eq(beats - 1)]
                    with m.If(bad | (bus.wlast != (beats == 0))):
                        m.d.sync += bus.bresp.eq(SLVERR)
                    with m.If(bus.wlast | (beats == 0)):
                        m.next = "RESPOND"
            with m.State("RESPOND"):
                m.d.comb += bus.bvalid.eq(1)
                with m.If(bus.bready):
                    m.next = "IDLE"
            with m.State("READ"):
                m.d.comb += self.valid.eq(~bad)
                with m.If(self.ready | bad):
                    m.d.sync += [fresh.eq(1), bus.rresp.eq(Mux(bad, SLVERR, OKAY))]
                    m.next = "SEND" if self.read_latency == 1 else "WAIT1"
            for cycle in range(1, self.read_latency):
                with m.State(f"WAIT{cycle}"):
                    m.next = f"WAIT{cycle + 1}" if cycle + 1 < self.read_latency else "SEND"
            with m.State("SEND"):
                m.d.comb += [bus.rvalid.eq(1), bus.rlast.eq(beats == 0),
                             bus.rdata.eq(Mux(fresh, self.word, held))]
                m.d.sync += fresh.eq(0)
                with m.If(fresh):
                    m.d.sync += held.eq(self.word)
                with m.If(bus.rready):
                    m.d.sync += [line.eq(line + 1), beats.eq(beats - 1)]
                    m.next = "READ"
                    with m.If(beats == 0):
                        m.next = "IDLE"
        return m
