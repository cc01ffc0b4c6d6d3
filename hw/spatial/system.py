"""A spatial accelerator with a RISC-V core, which gives its commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Module, Mux, ResetSignal, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch import command
from ..arch.accelerator import Accelerator
from ..arch.dma import ELEMENT_BITS
from ..arch.outer_product import OuterProduct
from ..dma.dma import bus
from ..emit import Macro, macro
from ..memory.sram import Sram
from ..soc.picorv32 import PicoRv32
from ..stream.lead import lead
from .accelerator import core_of
from .command.coprocessor import PCPI, Coprocessor
from .command.stalls import stall_members
from .command.word import WORD, status_members

WORD_BYTES = 4


class CommandingCore(PicoRv32):
    """PicoRV32 with its coprocessor port."""

    @property
    def parameters(self) -> Mapping[str, int]:
        """What the module is set to."""
        return {**super().parameters, "ENABLE_PCPI": 1, "ENABLE_IRQ": 0}


class Boot(wiring.Component):
    """The commands that fill the core's memory, and what does it.

    Behaviour: after reset a request brings memory from address 0 on. The words of this one and of any later one are written
    from address 0 of the core's memory on, in order.

    Parameters
    ----------
    ram_bytes : int
    stream : int        The index of the stream of the core's memory.

    Members
    -------
    o : Out(stream)     Commands, `WORD`.
    i : In(stream)      Words of 32 bits.
    over : In(1), failed : In(1)     `ram_over` and `ram_failed` of `ram_members`.
    write : Out(1), at : Out     A word is written, and where.
    filled : Out(1)     The first request has not failed, and the core may begin.

    Timing: a command and a word a cycle.
    Source: a design of its own.
    """

    def __init__(self, ram_bytes: int, stream_index: int) -> None:
        self.ram_bytes, self.stream_index = ram_bytes, stream_index
        self.words = ram_bytes // WORD_BYTES
        super().__init__({"o": Out(stream.Signature(WORD)), "i": In(stream.Signature(ELEMENT_BITS)), "over": In(1),
                          "failed": In(1), "write": Out(1), "at": Out(range(self.words)), "filled": Out(1)})

    module_name = "boot"

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        commands = [
            (command.SET_SRC_AND_DST, command.region(command.MEMORY), command.region(command.BUFFER, self.stream_index)),
            (command.SET_CONSTANT, command.ELEMENT, 2), (command.SET_SPAN, command.BOTH, self.words),
            (command.SET_STRIDE, command.SOURCE, 1), (command.ISSUE, 0, 0)]
        step = Signal(range(len(commands) + 1))
        with m.Switch(step):
            for at, (number, rs1, rs2) in enumerate(commands):
                with m.Case(at):
                    m.d.comb += [self.o.payload.number.eq(number), self.o.payload.rs1.eq(rs1), self.o.payload.rs2.eq(rs2),
                                 self.o.valid.eq(1)]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += step.eq(step + 1)
        m.d.comb += [self.i.ready.eq(1), self.write.eq(self.i.valid)]
        with m.If(self.i.valid):
            m.d.sync += self.at.eq(self.at + 1)
            with m.If(self.at == self.words - 1):
                m.d.sync += self.at.eq(0)
        with m.If(self.over):
            m.d.sync += self.at.eq(0)
            with m.If(~self.failed):
                m.d.sync += self.filled.eq(1)
        return m


class SpatialSystem(wiring.Component):
    """The top of an accelerator with a core.

    Behaviour: after reset the core's memory is filled with the first bytes of memory outside; then the core begins at its
    address 0. It has no way to memory outside but the commands.

    Parameters
    ----------
    accelerator : Accelerator      With `ram_bytes`.

    Members
    -------
    m_axi_* : memory.
    status : Out(32)     The register `status`.
    operand_late, ... : Out(32)     If there are counters: the registers of what is counted.
    trap : Out(1)        The core stands still for good, has read or written beyond its memory, or could not begin.

    Timing: the core reads its memory in a cycle and writes it in two, where no word of a request for it comes.
    One clock; synchronous reset, active high.
    Source: Stellar IV-A and V: RISC-V hosts.
    """

    def __init__(self, accelerator: Accelerator | OuterProduct) -> None:
        assert accelerator.ram_bytes, "the core has memory"
        self.accelerator, self.module_name = accelerator, f"{accelerator.name.lower()}_system"
        super().__init__({**bus(accelerator.dma.bus_bytes), "status": Out(32), "trap": Out(1),
                          **stall_members(accelerator.stalls)})

    @property
    def emit_key(self) -> str | OuterProduct:
        # The text of an outer product leaves out what most of them have.
        return self.accelerator if isinstance(self.accelerator, OuterProduct) else repr(self.accelerator)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        size = self.accelerator.ram_bytes
        m.submodules.core = core = macro(core_of(self.accelerator))
        stalls = tuple(self.accelerator.stalls)
        m.submodules.coprocessor = coprocessor = macro(Coprocessor(self.accelerator.queue, self.accelerator.watchdog, stalls))
        m.submodules.boot = boot = macro(Boot(size, len(self.accelerator.streams) - 1))
        m.submodules.processor = processor = macro(CommandingCore(size))
        for name, member in bus(self.accelerator.dma.bus_bytes).items():
            own, inner = getattr(self, name), getattr(core, name)
            m.d.comb += inner.eq(own) if member.flow is In else own.eq(inner)
        for name, member in status_members(self.accelerator.watchdog, stalls).items():
            front, behind = getattr(coprocessor, name), getattr(core, name)
            m.d.comb += behind.eq(front) if member.flow is In else front.eq(behind)
        for name, member in PCPI.items():
            here, there = getattr(coprocessor, name), getattr(processor, name)
            m.d.comb += here.eq(there) if member.flow is In else there.eq(here)
        lead(m, coprocessor.o, core.i)
        lead(m, boot.o, coprocessor.first)
        lead(m, core.ram, boot.i)
        m.d.comb += [boot.over.eq(core.ram_over), boot.failed.eq(core.ram_failed)]
        astray = self._accesses(m, processor, boot)
        m.d.comb += [getattr(self, name).eq(getattr(core, name)) for name in stalls]
        m.d.comb += [
            processor.resetn.eq(boot.filled & ~ResetSignal()), self.status.eq(coprocessor.state),
            self.trap.eq(processor.trap | astray | (~boot.filled & (core.error != 0)))]
        return m

    def _accesses(self, m: Module, processor: Macro, boot: Macro) -> Signal:
        """The core's memory, of one access a cycle; whether the core has been anywhere else."""
        m.submodules.sram = sram = macro(Sram(boot.words, WORD_BYTES, 8))
        size = self.accelerator.ram_bytes
        answered = Signal()
        astray = Signal()
        inside = Signal()
        asks = Signal()
        reads = Signal()        # the core says a cycle ahead what it reads
        m.d.comb += [inside.eq(processor.mem_addr < size), asks.eq(processor.mem_valid & ~answered),
                     reads.eq(processor.mem_la_read & (processor.mem_la_addr < size)),
                     processor.mem_ready.eq(answered), processor.mem_rdata.eq(Mux(astray, 0, sram.word))]
        # A word that comes is written first; what the core asks for stays until it is answered.
        m.d.sync += answered.eq((reads | asks) & ~boot.write)
        with m.If(asks & ~inside):
            m.d.sync += astray.eq(1)
        with m.If(boot.write):
            m.d.comb += [sram.enable.eq(1), sram.address.eq(boot.at), sram.data.eq(boot.i.payload), sram.write.eq(0xF)]
        with m.Elif(reads):
            m.d.comb += [sram.enable.eq(1), sram.address.eq(processor.mem_la_addr[2:])]
        with m.Elif(asks & inside):
            m.d.comb += [sram.enable.eq(1), sram.address.eq(processor.mem_addr[2:]), sram.data.eq(processor.mem_wdata),
                         sram.write.eq(processor.mem_wstrb)]
        return astray
