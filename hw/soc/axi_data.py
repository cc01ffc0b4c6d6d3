"""AXI4 slave for data: bursts to and from the global buffer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from types import SimpleNamespace

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..emit import Macro, macro
from ..stream.fifo import Fifo
from .axi_lite import OKAY, SLVERR
from .burst import ID_BITS, Burst
from .register_slice import sliced


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


def axi_part(channels: Sequence[str], address_bits: int, prefix: str) -> dict[str, wiring.Member]:
    """Some channels of such a port, with a prefix of their own in place of ``s_axi_``."""
    return {prefix + name: member for name, member in
            ((full.removeprefix("s_axi_"), member) for full, member in axi_ports(address_bits).items())
            if name.startswith(tuple(channels))}


class AxiData(wiring.Component):
    """Reads and writes at the same time, each in the order of its addresses: incrementing, wrapping and fixed bursts of beats
    of 1, 2, 4 or 8 bytes, aligned or not. A burst that AXI4 forbids (see `Burst`), or of which a beat is beyond the memory, has
    all its beats, is answered with SLVERR and changes nothing.

    A write burst ends with the beat that its address announced as the last or with the one that says it is, whichever comes
    first. If they are not the same beat, the answer is SLVERR: what was taken until then is written, and beats that a master
    sends beyond the end are those of its next burst. A burst whose beats do not come, or whose answers nobody takes, keeps its
    direction of the port until it goes on or until reset: AXI4 has no way to give a burst up. What is read before a write of it
    is answered may be old or new. There are no exclusive accesses: `lock` plays no part.

    Parameters
    ----------
    memory_bytes, address_bits : int   As of `Burst`.
    read_latency : int                 Cycles from a read of the memory to its word.
    of : str                           What the name of the module begins with, where a design has several memories.

    Members
    -------
    s_axi_* : the bus.
    write_valid, write_line, write_data, write_strobe : Out    Write of a 64-bit word of the memory, byte strobes.
    write_ready : In(1)                                        It is done.
    read_valid, read_line : Out                                Read of a 64-bit word.
    read_ready : In(1)                                         It is done: its word follows `read_latency` cycles later.
    read_word : In(64)

    Timing: one beat a cycle and direction while the memory is ready, and no cycle between bursts whose addresses came two
    cycles ahead. The first word leaves `read_latency` + 3 cycles after its address came, the answer of a write 2 cycles after
    its last beat. Every output of the bus comes from a register (`sliced`). Words that the master does not take have room;
    more are not asked for.
    Source: Arm IHI 0022, AXI4.
    """

    def __init__(self, memory_bytes: int, address_bits: int = 32, read_latency: int = 1, of: str = "") -> None:
        self.memory_bytes, self.address_bits, self.read_latency, self.of = memory_bytes, address_bits, read_latency, of
        line_bits = (memory_bytes // 8 - 1).bit_length()
        super().__init__({**axi_ports(address_bits),
                          "write_valid": Out(1), "write_line": Out(line_bits), "write_data": Out(64), "write_strobe": Out(8),
                          "write_ready": In(1), "read_valid": Out(1), "read_line": Out(line_bits), "read_ready": In(1),
                          "read_word": In(64)})

    @property
    def module_name(self) -> str:
        return f"{self.of}_axi_data".lstrip("_")

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus = sliced(m, self, axi_ports(self.address_bits), "s_axi_")
        self._write(m, self._burst(m, bus, "aw"), bus)
        self._read(m, self._burst(m, bus, "ar"), bus)
        return m

    def _burst(self, m: Module, bus: SimpleNamespace, channel: str) -> Macro:
        """The beats of what an address channel asks for."""
        m.submodules[f"{channel}_burst"] = burst = macro(Burst(self.memory_bytes, self.address_bits, self.of))
        asked = burst.i.payload
        m.d.comb += [burst.i.valid.eq(getattr(bus, f"{channel}valid")), getattr(bus, f"{channel}ready").eq(burst.i.ready),
                     *(asked[name].eq(getattr(bus, channel + name)) for name, _ in asked.shape())]
        return burst

    def _write(self, m: Module, writes: Macro, bus: SimpleNamespace) -> None:
        """Write a beat when its word and its address are there, and the last when there is room for the answer, too."""
        beat = writes.o.payload
        ends = Signal()
        goes = Signal()
        m.d.comb += [
            ends.eq(beat.last | bus.wlast), goes.eq(writes.o.valid & (~ends | bus.bready)), writes.cut.eq(bus.wlast),
            bus.wready.eq(goes & (self.write_ready | beat.refused)), writes.o.ready.eq(bus.wvalid & bus.wready),
            self.write_valid.eq(bus.wvalid & goes & ~beat.refused),
            self.write_line.eq(beat.line), self.write_data.eq(bus.wdata), self.write_strobe.eq(bus.wstrb),
            bus.bvalid.eq(writes.o.ready & ends), bus.bid.eq(beat.id),
            bus.bresp.eq(Mux(beat.refused | (beat.last != bus.wlast), SLVERR, OKAY)),
        ]

    def _read(self, m: Module, reads: Macro, bus: SimpleNamespace) -> None:
        """Ask for words as long as there is room for them.

        As many beats may be under way as a read takes cycles, for memories do not wait: so a word can be asked for in each
        cycle, and what comes while the register slice takes none has a place.
        """
        beat = reads.o.payload
        under_way = Signal(range(self.read_latency + 1))
        leaves = Signal()
        room = Signal()
        m.d.comb += [
            leaves.eq(bus.rvalid & bus.rready), room.eq((under_way != self.read_latency) | leaves),
            self.read_valid.eq(reads.o.valid & room & ~beat.refused), self.read_line.eq(beat.line),
            reads.o.ready.eq(room & (self.read_ready | beat.refused)),
        ]
        asks = reads.o.valid & reads.o.ready
        m.d.sync += under_way.eq(under_way + asks - leaves)

        # What is known of a beat goes beside its word.
        known: list[Value] = [Cat(asks, beat.id, beat.last, beat.refused)]
        for cycle in range(1, self.read_latency + 1):
            known.append(Signal(len(known[0]), name=f"known_{cycle}"))
        for now, later in pairwise(known):
            m.d.sync += later.eq(now)
        comes, arrives = known[-1][0], Cat(known[-1][1:], self.read_word)
        m.submodules.queue = queue = macro(Fifo(len(arrives), self.read_latency))
        refused = Signal()
        m.d.comb += [
            queue.i.payload.eq(arrives), queue.i.valid.eq(comes & (queue.o.valid | ~bus.rready)), queue.o.ready.eq(bus.rready),
            bus.rvalid.eq(queue.o.valid | comes),
            Cat(bus.rid, bus.rlast, refused, bus.rdata).eq(Mux(queue.o.valid, queue.o.payload, arrives)),
            bus.rresp.eq(Mux(refused, SLVERR, OKAY)),
        ]
