"""Single-port SRAM: the one place where a memory macro is substituted for the behavioural array."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..arch.tile import TileSpec
from ..emit_platform import EmitPlatform


class SramPort(wiring.Signature):
    """The port of an SRAM, from the side of its user; members as of `Sram`."""

    def __init__(self, lines: int, lanes: int, lane_bits: int = 16) -> None:
        super().__init__({"enable": Out(1), "address": Out((lines - 1).bit_length()), "write": Out(lanes),
                          "data": Out(lanes * lane_bits), "word": In(lanes * lane_bits)})


def contents_members(spec: TileSpec) -> dict[str, wiring.Member]:
    """The port through which configuration fills the SRAM of a tile, ``contents``; tiles without one have none."""
    if not spec.has_memory:
        return {}
    return {"contents": In(SramPort(spec.sram_lines, spec.sram_lanes))}


class Sram(wiring.Component):
    """One port, synchronous read, writes masked by lane.

    Parameters
    ----------
    lines, lanes, lane_bits : int   Words, lanes in a word, bits a lane.

    Members
    -------
    enable : In(1)       An access takes place: a write if any lane of `write` is set, else a read.
    address : In
    write : In(lanes)    Lanes to write.
    data : In            Word to write.
    word : Out           The word read; valid in the cycle after the read, and undefined after a write.

    Timing: one access per cycle, read data one cycle later. Contents are not reset.
    Source: the ports that compiled single-port memories have.

    Place of a macro: replace the body of this module, and of no other, by an instance of a compiled single-port SRAM of
    `lines` words of `lanes` x `lane_bits` bits with a write mask and a registered address (read latency 1). Chip select is
    `enable`, write enable is any bit of `write`, each bit of `write` masks `lane_bits` bits. What `word` is after a write
    and before the first read does not matter, nor what the memory holds at power-up. A macro without a mask is made of
    `lanes` narrower ones; banks of fewer lines need the upper bits of `address` of the cycle before to choose `word`.
    """

    # Nothing changes in a cycle without it: what gates the clock of an SRAM by enables may gate this input.
    clock_enable = "enable"

    def __init__(self, lines: int, lanes: int, lane_bits: int = 16) -> None:
        self.lines, self.lanes, self.lane_bits = lines, lanes, lane_bits
        self.emit_key = lines, lanes, lane_bits
        super().__init__({name: member.flip() for name, member in SramPort(lines, lanes, lane_bits).members.items()})

    @property
    def module_name(self) -> str:
        return f"sram_{self.lines}x{self.lanes}x{self.lane_bits}"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=self.lanes * self.lane_bits, depth=self.lines, init=[])
        if isinstance(platform, EmitPlatform):
            _leave_out_contents(memory)
        write = memory.write_port(granularity=self.lane_bits)
        read = memory.read_port(transparent_for=())
        m.d.comb += [
            write.addr.eq(self.address), write.data.eq(self.data),
            read.addr.eq(self.address), read.en.eq(self.enable & ~self.write.any()), self.word.eq(read.data),
        ]
        with m.If(self.enable):
            m.d.comb += write.en.eq(self.write)
        return m


def _leave_out_contents(memory: Memory) -> None:
    """Emit a memory without the zeros that Amaranth gives it, which `rtlil.readable` would take out again.

    For a bank of the global buffer these are a million bits, each an object of Amaranth's: a fifth of the time that all of the
    largest machine takes. Amaranth has no memory without contents, so this reaches into it.
    """
    memory.data.init._raw = ()
