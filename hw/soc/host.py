"""The host: a processor with its memory, a system DMA and a serial line, master of a machine's buses."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arch.soc import DATA_ADDRESS_BITS, REGISTER_ADDRESS_BITS
from ..arch.system import (
    ASTRAY_FAULT,
    HOST_REGISTERS,
    IN_FAULT,
    MACHINE_IRQ,
    MACHINE_REGISTERS,
    OUT_FAULT,
    REGISTER_FAULT,
    SET_FAULT,
    System,
)
from ..emit import Macro, macro
from ..interconnect.boxes import Members
from ..memory.sram import Sram
from .axi_data import AxiData, axi_part, axi_ports
from .axi_lite import axi_lite_ports
from .crossing import flipped, interrupts, lines
from .fork import HIGH, LOW, READ, WRITE, Fork
from .lite_master import LiteMaster
from .mover import ADDRESS_BITS, Mover
from .peripherals import Peripherals
from .picorv32 import PicoRv32
from .setter import Setter
from .uart import Receiver, Transmitter

OUTSIDE = axi_part(("aw", "w", "b", "ar", "r"), ADDRESS_BITS, "m_axi_")
# Which of the processor's addresses mean what, by their highest four bits.
RAM_PAGE, HOST_PAGE, MACHINE_PAGE = 0, HOST_REGISTERS >> 28, MACHINE_REGISTERS >> 28


def outside_members() -> Members:
    """The ports of a system to the outside: memory, serial line, and whether the processor stands still."""
    return {**{name: member.flip() for name, member in OUTSIDE.items()}, "rx": In(1, init=1), "tx": Out(1, init=1),
            "trap": Out(1)}


class Host(wiring.Component):
    """A processor with its memory, a system DMA and a serial line, master of a machine's buses; the module ``host``.

    Behaviour: after reset the system DMA brings the first `ram_bytes` bytes of memory outside into the processor's memory; then
    the processor begins at address 0. If that fails it never begins, and `trap` is 1.

    Parameters
    ----------
    system : System
    regions : int        Of the machine.

    Members
    -------
    m_axi_* : AXI4 master, 64 bits, memory outside: bursts of up to 64 beats, of one identity.
    s_axi_*, s_axil_*, irq : the other side of the machine's ports; of several regions `region_irq`, each on a line of the
                           processor's, from MACHINE_IRQ on.
    rx : In(1)           Serial line, of any clock.
    tx : Out(1)          Serial line, from a register.
    trap : Out(1)        The processor has stopped for good.
    reset : Out(1)       Of the machine: `rst` of the cycle before.

    Timing: the processor reads its memory in a cycle, for it says a cycle ahead where; it writes there and to the registers
    beside it in two, and reads one of the machine in seven. A write to the machine takes two, unless the access before it goes
    on. The memory has one port, which the processor has first, then the lists of registers, then what the DMA brings.
    Source: Onyx JSSC II (a processor, memory and buses around the array); the parts are of our own.
    """

    module_name = "host"

    def __init__(self, system: System, regions: int = 1) -> None:
        self.system = system
        buses = axi_ports(DATA_ADDRESS_BITS) | axi_lite_ports(REGISTER_ADDRESS_BITS)
        super().__init__({**outside_members(), **{name: member.flip() for name, member in buses.items()},
                          **flipped(interrupts(regions)), "reset": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        reset = Signal(reset_less=True)
        m.d.sync += reset.eq(ResetSignal())
        m.d.comb += self.reset.eq(reset)
        m.submodules.processor = processor = macro(PicoRv32(self.system.ram_bytes))
        m.submodules.bring = bring = macro(Mover())
        m.submodules.take = take = macro(Mover())
        m.submodules.memory_port = port = macro(AxiData(self.system.ram_bytes, ADDRESS_BITS, of="ram"))
        m.submodules.registers = registers = macro(LiteMaster())
        m.submodules.peripherals = peripherals = macro(Peripherals())
        m.submodules.setter = setter = macro(Setter(self.system.ram_bytes))
        self._buses(m, bring, take, port, registers)
        self._line(m, peripherals)
        reads = Signal()        # the processor reads its memory, in this cycle
        writes = Signal()
        sram = self._memory(m, processor, port, setter, reads, writes)
        self._accesses(m, processor, sram, reads, writes, registers, setter, peripherals)
        self._moves(m, processor, bring, take, peripherals)
        return m

    def _buses(self, m: Module, bring: Macro, take: Macro, port: Macro, registers: Macro) -> None:
        """What is read outside is written to the chip, and what is read on the chip to the outside."""
        m.submodules.write_fork = writes = macro(Fork(WRITE))
        m.submodules.read_fork = reads = macro(Fork(READ))
        _join(m, (bring, "m_axi_"), (self, "m_axi_"), READ)
        _join(m, (take, "m_axi_"), (self, "m_axi_"), WRITE)
        _join(m, (bring, "m_axi_"), (writes, "s_axi_"), WRITE)
        _join(m, (take, "m_axi_"), (reads, "s_axi_"), READ)
        for fork in (writes, reads):
            _join(m, (fork, LOW), (port, "s_axi_"), fork.channels)
            _join(m, (fork, HIGH), (self, "s_axi_"), fork.channels)
        for name, member in axi_lite_ports(REGISTER_ADDRESS_BITS).items():
            outer, inner = getattr(self, name), getattr(registers, name)
            m.d.comb += outer.eq(inner) if member.flow is In else inner.eq(outer)

    def _line(self, m: Module, peripherals: Macro) -> None:
        """The serial line."""
        m.submodules.transmitter = transmitter = macro(Transmitter(self.system.serial_cycles))
        m.submodules.receiver = receiver = macro(Receiver(self.system.serial_cycles))
        m.d.comb += [self.tx.eq(transmitter.pin), receiver.pin.eq(self.rx)]
        for source, sink in ((peripherals.send, transmitter.i), (receiver.o, peripherals.received)):
            m.d.comb += [sink.payload.eq(source.payload), sink.valid.eq(source.valid), source.ready.eq(sink.ready)]

    def _memory(self, m: Module, processor: Macro, port: Macro, setter: Macro, reads: Signal, writes: Signal) -> Macro:
        """The processor's memory: one access a cycle."""
        m.submodules.sram = sram = macro(Sram(self.system.ram_bytes // 8, 8, 8))
        high = processor.mem_addr[2]
        with m.If(reads):
            m.d.comb += [sram.enable.eq(1), sram.address.eq(processor.mem_la_addr[3:])]
        with m.Elif(writes):
            m.d.comb += [sram.enable.eq(1), sram.address.eq(processor.mem_addr[3:]),
                         sram.data.eq(processor.mem_wdata.replicate(2)),
                         sram.write.eq(Mux(high, processor.mem_wstrb << 4, processor.mem_wstrb))]
        with m.Elif(setter.read):
            m.d.comb += [sram.enable.eq(1), sram.address.eq(setter.at[1:])]
        with m.Elif(port.write_valid):
            m.d.comb += [sram.enable.eq(port.write_strobe.any()), sram.address.eq(port.write_line),
                         sram.data.eq(port.write_data), sram.write.eq(port.write_strobe)]
        with m.Elif(port.read_valid):
            m.d.comb += [sram.enable.eq(1), sram.address.eq(port.read_line)]
        own = reads | writes
        second = Signal()       # of a line
        m.d.sync += second.eq(setter.at[0])
        m.d.comb += [setter.grant.eq(setter.read & ~own), setter.word.eq(sram.word.word_select(second, 32))]
        own = own | setter.read
        m.d.comb += [port.write_ready.eq(~own), port.read_ready.eq(~own & ~port.write_valid), port.read_word.eq(sram.word)]
        return sram

    def _accesses(self, m: Module, processor: Macro, sram: Macro, reads: Signal, writes: Signal, registers: Macro,
                  setter: Macro, peripherals: Macro) -> None:
        """What an address of the processor means; while a list of registers is set its accesses to registers wait."""
        page, rest = processor.mem_addr[28:], processor.mem_addr[:28]
        answered = Signal()
        from_memory = Signal()
        astray = Signal()
        m.d.comb += reads.eq(processor.mem_la_read & (processor.mem_la_addr < self.system.ram_bytes))
        m.d.sync += [answered.eq(reads), from_memory.eq(reads)]
        setting = setter.left != 0
        of_list = Signal()      # what the registers beside the processor have done is a pair of a list
        m.d.sync += of_list.eq(setter.beside)
        m.d.comb += [setter.i.valid.eq(peripherals.pairs.valid), setter.i.payload.eq(peripherals.pairs.payload),
                     peripherals.pairs.ready.eq(setter.i.ready),
                     setter.done.eq(registers.done | (peripherals.done & of_list))]
        for part in (registers, peripherals):
            m.d.comb += [part.address.eq(processor.mem_addr), part.word.eq(processor.mem_wdata),
                         part.strobes.eq(processor.mem_wstrb)]
        legal = Signal()
        with m.Switch(page):
            with m.Case(RAM_PAGE):
                m.d.comb += [legal.eq(rest < self.system.ram_bytes), writes.eq(processor.mem_valid & ~answered & legal)]
                with m.If(writes):
                    m.d.sync += answered.eq(1)
            for number, part in ((HOST_PAGE, peripherals), (MACHINE_PAGE, registers)):
                with m.Case(number):
                    m.d.comb += [legal.eq(rest[REGISTER_ADDRESS_BITS:] == 0), part.valid.eq(processor.mem_valid & legal)]
        with m.If(setting):
            m.d.comb += [registers.valid.eq(setter.valid), peripherals.valid.eq(setter.beside)]
            for part in (registers, peripherals):
                m.d.comb += [part.address.eq(setter.address), part.word.eq(setter.value), part.strobes.eq(0xF)]
        with m.If(processor.mem_valid & ~answered & ~legal):
            m.d.comb += astray.eq(1)
            m.d.sync += answered.eq(1)
        word = sram.word.word_select(processor.mem_addr[2], 32)
        m.d.comb += [
            processor.mem_ready.eq(answered | (registers.done & ~setting) | (peripherals.done & ~of_list)),
            processor.mem_rdata.eq(Mux(from_memory, word, registers.value | peripherals.value)),
            processor.irq[MACHINE_IRQ:MACHINE_IRQ + len(lines(self))].eq(lines(self)),
            peripherals.happens[REGISTER_FAULT].eq(registers.fault), peripherals.happens[ASTRAY_FAULT].eq(astray),
            peripherals.happens[SET_FAULT].eq(setter.astray),
        ]

    def _moves(self, m: Module, processor: Macro, bring: Macro, take: Macro, peripherals: Macro) -> None:
        """What the system DMA moves: first all of the processor's memory."""
        filled = Signal()
        asked = Signal()
        runs = ((bring, peripherals.move_in), (take, peripherals.move_out))
        for mover, run in runs:
            m.d.comb += [mover.i.payload.eq(run.payload), mover.i.valid.eq(run.valid), run.ready.eq(mover.i.ready)]
        m.d.comb += [
            peripherals.ended_in.eq(bring.ended & filled), peripherals.ended_out.eq(take.ended),
            peripherals.happens[IN_FAULT].eq(bring.fault), peripherals.happens[OUT_FAULT].eq(take.fault),
            processor.resetn.eq(filled & ~ResetSignal()),
            self.trap.eq(processor.trap | (peripherals.failed & ~filled)),
        ]
        with m.If(~asked):
            m.d.comb += [bring.i.payload.source.eq(0), bring.i.payload.destination.eq(0),
                         bring.i.payload.lines.eq(self.system.ram_bytes // 8), bring.i.payload.skip.eq(0),
                         bring.i.payload.rest.eq(0), bring.i.payload.more.eq(0), bring.i.valid.eq(1)]
            with m.If(bring.i.ready):
                m.d.sync += asked.eq(1)
        with m.If(bring.ended & ~bring.fault & ~peripherals.failed):
            m.d.sync += filled.eq(1)


def _join(m: Module, master: tuple[Macro, str], slave: tuple[wiring.Component | Macro, str], channels: tuple[str, ...]) -> None:
    """Join some channels of a bus, each side with its prefix; what is outside is a slave, too."""
    (one, left), (other, right) = master, slave
    for name, member in axi_part(channels, ADDRESS_BITS, "").items():
        source, sink = getattr(one, left + name), getattr(other, right + name)
        m.d.comb += sink.eq(source) if member.flow is In else source.eq(sink)
