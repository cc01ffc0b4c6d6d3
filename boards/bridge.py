"""Bridge: requests of a host as bytes, to accesses of the two buses of a machine."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.crc import catalog
from amaranth.lib.wiring import In, Out

from ..hw.arch.soc import DATA_ADDRESS_BITS, REGISTER_ADDRESS_BITS
from ..hw.soc.axi_data import axi_ports
from ..hw.soc.axi_lite import axi_lite_ports
from ..hw.soc.burst import FULL_SIZE, INCREMENTING
from .protocol import HEADER_BYTES, LINE_BYTES, PAIR_BYTES, VALUE_BYTES, Code, Status

WRITES, READS = (Code.WRITE, Code.STORE), (Code.READ, Code.LOAD)
CODE, COUNT, ADDRESS = slice(0, 8), slice(8, 24), slice(24, 56)     # of a header as one number


class Bridge(wiring.Component):
    """Does what requests of `boards/protocol.py` say, one after the other, and answers them.

    Behaviour: a request is read to its end before it is answered, and its payload is written while it comes: 8 bytes, then one
    access. An answer is sent as fast as it is taken, an access for every 4 or 8 bytes of it.

        R 1, address 0      read of register 0 (fingerprint_high)      R, its 4 bytes, status 0

    Parameters
    ----------
    patience : int     Cycles without a byte after which a request that has begun is dropped, and a refused one is answered.

    Members
    -------
    i : In(stream)     Bytes from the host. It may wait for an access to end, tens of cycles.
    o : Out(stream)    Bytes to the host.
    irq : In(1)        Of the machine.
    s_axi_*, s_axil_*  Master of the machine's buses; bursts have one beat.

    Timing: one byte a cycle at best; nothing follows combinationally from the buses.
    """

    def __init__(self, patience: int) -> None:
        self.patience = patience
        byte = stream.Signature(8)
        buses = axi_ports(DATA_ADDRESS_BITS) | axi_lite_ports(REGISTER_ADDRESS_BITS)
        super().__init__({"i": In(byte), "o": Out(byte), "irq": In(1),
                          **{name: member.flip() for name, member in buses.items()}})

    module_name = "bridge"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.crc = crc = catalog.CRC16_XMODEM(8).create()
        header, word = Signal(8 * HEADER_BYTES), Signal(8 * LINE_BYTES)
        code, count, address = (header[part] for part in (CODE, COUNT, ADDRESS))
        got, left, status = Signal(range(HEADER_BYTES)), Signal(range(LINE_BYTES)), Signal(8)
        taken, sent, late = Signal(), Signal(), Signal()
        asked, given = Signal(), Signal()     # an address, or a word to write, was accepted; the answer is awaited
        m.d.comb += [taken.eq(self.i.valid & self.i.ready), sent.eq(self.o.valid & self.o.ready),
                     crc.valid.eq(taken | sent), crc.data.eq(Mux(taken, self.i.payload, self.o.payload)),
                     late.eq(self._late(m, taken))]
        is_memory = (code == Code.STORE) | (code == Code.LOAD)
        m.d.comb += self._constants(address, word)

        def send(byte: Value | int, then: str) -> None:
            m.d.comb += [self.o.payload.eq(byte), self.o.valid.eq(1)]
            with m.If(self.o.ready):
                m.next = then

        def advance(step: Value | int, more: str, end: str) -> None:
            """On to the next address, or to the end."""
            m.d.sync += [count.eq(count - 1), address.eq(address + step)]
            m.next = end
            with m.If(count != 1):
                m.next = more

        with m.FSM(name="state"):
            with m.State("HEADER"):
                m.d.comb += [self.i.ready.eq(1), crc.start.eq(got == 0)]
                with m.If(taken):
                    m.d.sync += [header.eq(Cat(header[8:], self.i.payload)), got.eq(got + 1)]
                    with m.If(got == HEADER_BYTES - 1):
                        m.d.sync += got.eq(0)
                        m.next = "CHECK"
                with m.Elif(late):
                    m.d.sync += got.eq(0)
            with m.State("CHECK"):
                m.d.comb += crc.start.eq(1)
                m.d.sync += [status.eq(0), left.eq(LINE_BYTES - 1)]
                with m.If((crc.crc != 0) | ~_is_one(code, *WRITES, *READS, Code.WAIT)):
                    m.d.sync += [code.eq(Code.REFUSED), status.eq(Status.HEADER)]
                    m.next = "QUIET"
                with m.Elif(code == Code.WAIT):
                    m.next = "WAIT"
                with m.Elif(_is_one(code, *WRITES) & (count != 0)):
                    m.next = "PAYLOAD"
                with m.Else():
                    m.next = "CODE"
            with m.State("QUIET"):
                m.d.comb += [self.i.ready.eq(1), crc.start.eq(1)]
                with m.If(late):
                    m.next = "CODE"
            with m.State("WAIT"):
                m.d.comb += crc.start.eq(1)
                m.d.sync += [word.eq(self.irq), address.eq(address - 1)]
                with m.If(self.irq | (address == 0)):
                    m.next = "CODE"

            with m.State("PAYLOAD"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(taken):
                    m.d.sync += [word.eq(Cat(word[8:], self.i.payload)), left.eq(left - 1)]
                    with m.If(left == 0):
                        m.d.sync += [left.eq(LINE_BYTES - 1), asked.eq(0), given.eq(0)]
                        m.next = "WRITE"
                with m.Elif(late):
                    m.next = "HEADER"
            with m.State("WRITE"):
                self._write(m, is_memory, word, asked, given, status)
                with m.If((self.s_axi_bvalid | self.s_axil_bvalid) | (~is_memory & _is_beyond(word))):
                    advance(LINE_BYTES, "PAYLOAD", "PAYLOAD CHECK")
            with m.State("PAYLOAD CHECK"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(taken):
                    m.d.sync += got.eq(got + 1)
                    with m.If(got == 1):
                        m.d.sync += got.eq(0)
                        m.next = "JUDGE"
                with m.Elif(late):
                    m.d.sync += got.eq(0)
                    m.next = "HEADER"
            with m.State("JUDGE"):
                m.d.comb += crc.start.eq(1)
                with m.If(crc.crc != 0):
                    m.d.sync += status.eq(status | Status.PAYLOAD)
                m.next = "CODE"

            with m.State("CODE"):
                send(code, "STATUS")
                m.d.sync += [left.eq(0), asked.eq(0)]
                with m.If(self.o.ready & (code == Code.WAIT)):
                    m.next = "DATA"
                with m.If(self.o.ready & _is_one(code, *READS) & (count != 0)):
                    m.next = "READ"
            with m.State("READ"):
                self._read(m, is_memory, address, word, asked, status)
                with m.If(self.s_axi_rvalid | self.s_axil_rvalid | (~is_memory & _is_beyond(address))):
                    m.d.sync += left.eq(Mux(is_memory, LINE_BYTES - 1, VALUE_BYTES - 1))
                    m.next = "DATA"
            with m.State("DATA"):
                send(word[:8], "DATA")
                with m.If(self.o.ready):
                    m.d.sync += [word.eq(word >> 8), left.eq(left - 1), asked.eq(0)]
                    with m.If(left == 0):
                        advance(Mux(is_memory, LINE_BYTES, VALUE_BYTES), "READ", "STATUS")
                        with m.If(code == Code.WAIT):
                            m.next = "STATUS"
            with m.State("STATUS"):
                send(status, "HIGH")
            with m.State("HIGH"):
                # Sent, it would change the check that the low byte is taken from.
                send(crc.crc[8:], "LOW")
                m.d.comb += crc.valid.eq(0)
            with m.State("LOW"):
                send(crc.crc[:8], "HEADER")
                m.d.comb += crc.valid.eq(0)
        return m

    def _late(self, m: Module, taken: Value) -> Value:
        """Whether the host was waited for too long."""
        quiet = Signal(range(self.patience + 1))
        with m.If(taken | ~self.i.ready):
            m.d.sync += quiet.eq(0)
        with m.Elif(quiet != self.patience):
            m.d.sync += quiet.eq(quiet + 1)
        return quiet == self.patience

    def _constants(self, address: Value, word: Value) -> list[object]:
        """What is the same in every access, and addresses and words, which count when valid."""
        return [self.s_axi_awaddr.eq(address), self.s_axi_araddr.eq(address), self.s_axi_wdata.eq(word),
                self.s_axi_awsize.eq(FULL_SIZE), self.s_axi_arsize.eq(FULL_SIZE), self.s_axi_awburst.eq(INCREMENTING),
                self.s_axi_arburst.eq(INCREMENTING),
                self.s_axi_wstrb.eq(~0), self.s_axi_wlast.eq(1), self.s_axil_wstrb.eq(~0),
                self.s_axil_awaddr.eq(word), self.s_axil_wdata.eq(word[8 * PAIR_BYTES // 2:]), self.s_axil_araddr.eq(address)]

    def _write(self, m: Module, is_memory: Value, word: Value, asked: Signal, given: Signal, status: Signal) -> None:
        """Offer address and word to a bus until both are taken, then take the answer."""
        for bus, meant in ((self._bus("s_axi_"), is_memory), (self._bus("s_axil_"), ~is_memory & ~_is_beyond(word))):
            with m.If(meant):
                m.d.comb += [bus("awvalid").eq(~asked), bus("wvalid").eq(~given), bus("bready").eq(1)]
                m.d.sync += [asked.eq(asked | bus("awready")), given.eq(given | bus("wready"))]
                with m.If(bus("bvalid") & bus("bresp").any()):
                    m.d.sync += status.eq(status | Status.BUS)
        with m.If(~is_memory & _is_beyond(word)):
            m.d.sync += status.eq(status | Status.BUS)

    def _read(self, m: Module, is_memory: Value, address: Value, word: Signal, asked: Signal, status: Signal) -> None:
        """Offer the address to a bus until it is taken, then take the word."""
        for bus, meant in ((self._bus("s_axi_"), is_memory), (self._bus("s_axil_"), ~is_memory & ~_is_beyond(address))):
            with m.If(meant):
                m.d.comb += [bus("arvalid").eq(~asked), bus("rready").eq(1)]
                m.d.sync += [asked.eq(asked | bus("arready")), word.eq(bus("rdata"))]
                with m.If(bus("rvalid") & bus("rresp").any()):
                    m.d.sync += status.eq(status | Status.BUS)
        with m.If(~is_memory & _is_beyond(address)):
            m.d.sync += [word.eq(0), status.eq(status | Status.BUS)]

    def _bus(self, prefix: str) -> Callable[[str], Signal]:
        """The signals of a bus by their names without prefix."""
        def port(name: str) -> Signal:
            found: Signal = getattr(self, prefix + name)
            return found

        return port


def _is_one(code: Value, *codes: Code) -> Value:
    return Cat(code == each for each in codes).any()


def _is_beyond(register: Value) -> Value:
    """Whether the address of a register, the low half of what is given, is none of the register bus."""
    return register[REGISTER_ADDRESS_BITS:8 * VALUE_BYTES].any()
