"""A bank of the global buffer: SRAMs, which of them an address means, and registers for what they take longer than a cycle."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import wiring

from ..arch.glb import LINE_BYTES, Glb
from ..emit import macro
from ..memory.sram import Sram, SramPort


class Bank(wiring.Component):
    """A bank as its users see it: one SRAM, whose word comes when the description says.

    Parameters
    ----------
    lines : int          64-bit words.
    macros : int         SRAMs that it is made of, one behind the other in its addresses.
    read_latency : int   Cycles from an access to its word, 1..3. From 2 on, a register behind the SRAMs and what chooses one of
                         them; with 3, also one in front of them.

    Members
    -------
    enable, address, write, data, word : as of `Sram`, with strobes for 8 bytes.

    Timing: one access per cycle, in order; `word` is that of the read `read_latency` cycles before, if there was one.
    Source: Onyx JSSC II (banks of 128 KB); how one is cut is left to the compiler of memories.
    """

    def __init__(self, lines: int, macros: int, read_latency: int) -> None:
        self.lines, self.macros, self.read_latency = lines, macros, read_latency
        assert lines % macros == 0 and lines // macros > 1, "the parts of a bank have addresses"
        port = SramPort(lines, LINE_BYTES, 8)
        super().__init__({name: member.flip() for name, member in port.members.items()})

    @classmethod
    def of(cls, glb: Glb) -> Bank:
        """The bank of a description."""
        return cls(glb.bank_bytes // LINE_BYTES, glb.bank_macros, glb.read_latency)

    @staticmethod
    def margin(read_latency: int) -> int:
        """Cycles after one with an access in which registers still take what it reads: the first is in the SRAM."""
        return read_latency - 1

    @property
    def module_name(self) -> str:
        return f"bank_{self.lines}_{self.macros}_{self.read_latency}"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        asked = {name: getattr(self, name) for name in ("enable", "address", "write", "data")}
        if self.read_latency == 3:
            for name, value in asked.items():
                asked[name] = register = Signal(value.shape(), name=f"{name}_taken", reset_less=name != "enable")
                m.d.sync += register.eq(value)
        lines = self.lines // self.macros
        inside = (lines - 1).bit_length()
        chosen = Signal(range(max(2, self.macros)), reset_less=True)
        words = []
        for number in range(self.macros):
            m.submodules[f"sram{number}"] = sram = macro(Sram(lines, LINE_BYTES, 8))
            here = asked["enable"] & (asked["address"][inside:] == number) if self.macros > 1 else asked["enable"]
            m.d.comb += [sram.enable.eq(here), *(getattr(sram, name).eq(asked[name]) for name in ("address", "write", "data"))]
            words.append(sram.word)
        with m.If(asked["enable"]):
            m.d.sync += chosen.eq(asked["address"][inside:])
        word = Array(words)[chosen] if self.macros > 1 else words[0]
        if self.read_latency > 1:
            register = Signal(len(self.word), name="word_read", reset_less=True)
            m.d.sync += register.eq(word)
            word = register
        m.d.comb += self.word.eq(word)
        return m
