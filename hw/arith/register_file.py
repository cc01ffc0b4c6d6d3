"""Register file of a PE: words that wait beside the ALU."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..arch.register_file import (
    ADDRESS_BITS,
    CHANNELS,
    CYCLE_BITS,
    DELAY,
    EXTENT_BITS,
    FIELDS,
    LOOPS,
    MODES,
    WRITES,
)
from ..arch.token import DATA_BITS
from ..emit import Macro, macro
from ..memory.controller import Controller

LAYOUT = data.StructLayout({field.name: field.bits for field in FIELDS})


class RegisterFile(wiring.Component):
    """Words written and read through two channels, each of which writes and reads at most one word a cycle.

    Behaviour: in mode `delay` a channel uses depth + 1 words from base on in turn, one a cycle: it shows the word and then
    overwrites it, so what it writes is shown depth + 1 cycles later, for ever.

        depth 2, written ``1 2 3 4 5 6``      shown ``0 0 0 0 2 3``

    In cycle 0 it writes nothing. In mode `scheduled` it writes in the cycles of schedule wr{n} and reads in those of rd{n};
    from two cycles after a read on it shows the word at that address, whatever is written there, until the next read is shown;
    word 0 before the first. A schedule that has ended, or is off, does nothing more.

        Sums of three (``op`` adc, a a word, b what channel 0 shows): it writes res, wr0 has addresses 1 2 3 1 2 3 .., rd0 has
        0 1 2 0 1 2 .. two cycles earlier, so that a sum starts at word 0, which is never written, and the third res is the sum.

    A word is 0 until it is written. Channels share the words. If both write one in the same cycle, that of channel 1 stays.

    Parameters
    ----------
    words : int        A power of two, 2..32; addresses count modulo this number.

    Members
    -------
    enable : In(1)                Whether delay lines advance and words are written.
    cfg : In                      Fields of `hw/arch/register_file.py`.
    a, b, c, res : In(16)         What a channel may write.
    next0, next1 : Out(16)        What each channel shows in the next cycle: who takes it has the register.

    Timing: cycle 0 is the first after reset. What is shown in the next cycle is read in this one, at an address from a
    register, and what is written there in this one is forwarded, so `next0` and `next1` follow what is written.
    Source: Amber JSSC IV and VI. Departure: mode `delay`, which needs no schedule and never ends.
    """

    def __init__(self, words: int) -> None:
        if words not in (2, 4, 8, 16, 32):
            raise ValueError(f"a register file has 2, 4, 8, 16 or 32 words, not {words}")
        self.words = words
        members = {"enable": In(1), "cfg": In(LAYOUT), **{name: In(DATA_BITS) for name in WRITES}}
        super().__init__(members | {f"next{n}": Out(DATA_BITS) for n in range(CHANNELS)})

    module_name = "register_file"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=DATA_BITS, depth=self.words, init=[])
        reads = [memory.read_port(domain="comb") for _ in range(CHANNELS)]
        writes = [memory.write_port() for _ in range(CHANNELS)]
        stores = [Signal(name=f"stores{n}") for n in range(CHANNELS)]
        written = Signal(self.words)
        begun = Signal()    # cycle 0 is over
        with m.If(self.enable):
            m.d.sync += begun.eq(1)
        for n, (read, write) in enumerate(zip(reads, writes, strict=True)):
            m.d.comb += stores[n].eq(self.enable & self._addresses(m, n, begun, read.addr, write.addr))
            with m.Switch(self.cfg[f"write{n}"]):
                for code, name in enumerate(WRITES):
                    with m.Case(code):
                        m.d.comb += write.data.eq(getattr(self, name))
        m.d.sync += written.eq(written | (stores[0] << writes[0].addr) | (stores[1] << writes[1].addr))
        # Two writes of one word would race.
        m.d.comb += [writes[0].en.eq(stores[0] & ~(stores[1] & (writes[0].addr == writes[1].addr))),
                     writes[1].en.eq(stores[1])]
        for n, read in enumerate(reads):
            following = getattr(self, f"next{n}")
            m.d.comb += following.eq(Mux(written.bit_select(read.addr, 1), read.data, 0))
            for store, write in zip(stores, writes, strict=True):
                with m.If(store & (write.addr == read.addr)):
                    m.d.comb += following.eq(write.data)
        return m

    def _addresses(self, m: Module, n: int, begun: Value, read: Signal, write: Signal) -> Value:
        """Drive the addresses of a channel: of the word that it shows in the next cycle, from a register, because the way
        through the words is long, and of the one that it writes in this. Returns whether it writes."""
        base, depth = self.cfg[f"base{n}"], self.cfg[f"depth{n}"]
        delays = Signal(name=f"delays{n}")
        last = Signal(ADDRESS_BITS, name=f"last{n}")
        read_at = Signal(ADDRESS_BITS, name=f"read_at{n}")
        write_at = Signal(ADDRESS_BITS, name=f"write_at{n}")
        wr, rd = (self._controller(m, f"{port}{n}") for port in ("wr", "rd"))
        m.d.comb += [delays.eq(self.cfg[f"mode{n}"] == MODES.index(DELAY)), last.eq(base + depth), read.eq(read_at),
                     write.eq(Mux(delays, write_at, wr.address))]
        with m.If(delays & self.enable):
            # The word that is shown in a cycle is overwritten in it.
            with m.If(begun):
                m.d.sync += [write_at.eq(read_at), read_at.eq(Mux(read_at == last, base, read_at + 1))]
            with m.Else():
                m.d.sync += [write_at.eq(base), read_at.eq(Mux(depth == 0, base, base + 1))]
        with m.If(~delays & rd.fire):
            m.d.sync += read_at.eq(rd.address)
        return Mux(delays, begun, wr.fire)

    def _controller(self, m: Module, port: str) -> Macro:
        """The controller of a schedule."""
        m.submodules[port] = controller = macro(Controller(LOOPS, EXTENT_BITS, CYCLE_BITS, ADDRESS_BITS))
        m.d.comb += [controller.cfg[part].eq(self.cfg[f"{port}_{part}"]) for part in ("on", "cycle", "address")]
        m.d.comb += [controller.cfg[part][loop].eq(self.cfg[f"{port}_{part}{loop}"])
                     for part in ("extent", "gap", "delta") for loop in range(LOOPS)]
        return controller
