"""Delay lines of a PE: the register file without schedules, small enough for the LUTs of an FPGA."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..arch.register_file import ADDRESS_BITS, CHANNELS, DELAY, LINE_FIELDS, MODES, WRITES
from ..arch.token import DATA_BITS

LAYOUT = data.StructLayout({field.name: field.bits for field in LINE_FIELDS})


class DelayLines(wiring.Component):
    """The channels of `RegisterFile` in mode `delay` alone, each with words of its own.

    Behaviour: a channel uses depth + 1 words from base on in turn, one a cycle: it shows the word and then overwrites it, so
    what it writes is shown depth + 1 cycles later, for ever. In cycle 0 it writes nothing, and a word is 0 until it is written.
    In mode `scheduled` it does nothing and shows 0.

        depth 2, written ``1 2 3 4 5 6``      shown ``0 0 0 0 2 3``

    Parameters
    ----------
    words : int        Of each channel, a power of two, 2..32; addresses count modulo this number.

    Members
    -------
    enable : In(1)                Whether they advance and words are written.
    cfg : In                      Fields of `hw/arch/register_file.py` but those of schedules.
    a, b, c, res : In(16)         What a channel may write.
    next0, next1 : Out(16)        What each channel shows in the next cycle.

    Timing: as of `RegisterFile`.
    Source: Amber JSSC IV (register file at the inputs of a PE). One write port and one read port, so that 16 words are four
    16 x 4 RAMs of an FPGA: a quarter of the LUTs of `RegisterFile`, its configuration included.
    """

    def __init__(self, words: int) -> None:
        if words not in (2, 4, 8, 16, 32):
            raise ValueError(f"a delay line has 2, 4, 8, 16 or 32 words, not {words}")
        self.words = words
        members = {"enable": In(1), "cfg": In(LAYOUT), **{name: In(DATA_BITS) for name in WRITES}}
        super().__init__(members | {f"next{n}": Out(DATA_BITS) for n in range(CHANNELS)})

    module_name = "delay_lines"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        begun = Signal()    # cycle 0 is over
        with m.If(self.enable):
            m.d.sync += begun.eq(1)
        for n in range(CHANNELS):
            self._channel(m, n, begun)
        return m

    def _channel(self, m: Module, n: int, begun: Value) -> None:
        m.submodules[f"memory{n}"] = memory = Memory(shape=DATA_BITS, depth=self.words, init=[])
        read, write = memory.read_port(domain="comb"), memory.write_port()
        base, depth = self.cfg[f"base{n}"], self.cfg[f"depth{n}"]
        following = getattr(self, f"next{n}")
        last = Signal(ADDRESS_BITS, name=f"last{n}")
        # Of the word that is shown in the next cycle, and of the one that is shown and overwritten in this.
        read_at = Signal(ADDRESS_BITS, name=f"read_at{n}")
        write_at = Signal(ADDRESS_BITS, name=f"write_at{n}")
        written = Signal(self.words, name=f"written{n}")
        moves = Signal(name=f"moves{n}")
        m.d.comb += [moves.eq(self.enable & (self.cfg[f"mode{n}"] == MODES.index(DELAY))), last.eq(base + depth),
                     read.addr.eq(read_at), write.addr.eq(write_at), write.en.eq(moves & begun)]
        # The result comes late in the cycle, so all else is chosen before it.
        arrived = Signal(DATA_BITS, name=f"arrived{n}")
        takes_res = self.cfg[f"write{n}"] == WRITES.index("res")
        passes = write.en & (write.addr == read.addr)
        early = Mux(passes, arrived, read.data & written.bit_select(read.addr, 1).replicate(DATA_BITS))
        with m.Switch(self.cfg[f"write{n}"]):
            for code, name in enumerate(WRITES):
                if name != "res":
                    with m.Case(code):
                        m.d.comb += arrived.eq(getattr(self, name))
        m.d.comb += [write.data.eq(Mux(takes_res, self.res, arrived)),
                     following.eq(Mux(takes_res & passes, self.res, early))]
        with m.If(moves):
            with m.If(begun):
                m.d.sync += [written.eq(written | (1 << write.addr)), write_at.eq(read_at),
                             read_at.eq(Mux(read_at == last, base, read_at + 1))]
            with m.Else():
                m.d.sync += [write_at.eq(base), read_at.eq(Mux(depth == 0, base, base + 1))]
