"""The shell: the controller behind its two buses, and which GLB tile an address belongs to."""

from __future__ import annotations

from collections.abc import Iterator

from amaranth.hdl import Cat, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from ..arch.cgra import Arch
from ..arch.glb import DYNAMIC
from ..arch.soc import DATA_ADDRESS_BITS, GLB_REGISTER_STRIDE, GLB_REGISTERS, REGISTER_ADDRESS_BITS, address_map
from ..array import shell_members
from ..clock_gate import gated_clock, lasting
from ..emit import Macro, macro
from ..glb.tile import control_members
from ..interconnect.boxes import Members
from .around import SHELL, glb_name
from .axi_data import AxiData, axi_ports
from .axi_lite import AxiLite, axi_lite_ports
from .controller import Controller

# Cycles in which what has entered the port for data goes on inside, besides those of a read: from its register slices to the
# memory and to the slices of its answers, and as many more.
PORT_MARGIN = 8


def bus_members() -> Members:
    """The ports of the machine to the outside: two buses and the interrupt."""
    return {**axi_ports(DATA_ADDRESS_BITS), **axi_lite_ports(REGISTER_ADDRESS_BITS), "irq": Out(1)}


def port_is_used(data: Macro) -> Value:
    """Whether the port for data waits for nobody: a transfer is offered or taken on the bus, or an access asks the memory."""
    offers = [getattr(data, f"s_axi_{channel}valid") for channel in ("aw", "w", "ar")]
    taken = [getattr(data, f"s_axi_{channel}valid") & getattr(data, f"s_axi_{channel}ready") for channel in ("b", "r")]
    return Cat(*offers, *taken, data.write_valid, data.read_valid).any()


class Shell(wiring.Component):
    """The module ``shell``.

    Parameters
    ----------
    arch : Arch

    Members
    -------
    s_axi_* : AXI4 slave, 64 bits, the global buffer: tile t at t * glb.tile_bytes.
    s_axil_* : AXI4-Lite slave, 32 bits, the registers of `arch.soc`.
    irq : Out(1)
    config{x}, flush, reset, active, overflow : the other side of the ports of `Array`.
    glb{t}_* : the other side of `glb.tile.control_members`.

    reset : Out(1)           Of the array and the GLB tiles.

    Timing: flush comes from registers, reset is `rst` of the cycle before; the configuration channels and what goes to the GLB
    tiles follow the registers behind the buses.
    Source: a design of its own, around what Onyx JSSC II describes.
    """

    module_name = SHELL

    def __init__(self, arch: Arch) -> None:
        self.arch = arch
        control = {f"{glb_name(tile)}_{name}": member.flip() for tile in range(arch.glb_tiles)
                   for name, member in control_members(arch.glb).items()}
        array = {name: member.flip() for name, member in shell_members(arch).items()}
        super().__init__({**bus_members(), **array, **control})

    @property
    def emit_key(self) -> object:
        return self.arch.fingerprint, self.arch.glb

    def elaborate(self, platform: object) -> Module:
        m = Module()
        arch = self.arch
        m.submodules.controller = controller = macro(Controller(arch))
        m.submodules.registers = registers = macro(AxiLite(REGISTER_ADDRESS_BITS))
        clock = gated_clock(m, "data", arch.glb.clock_gates, platform) if arch.glb.gates(DYNAMIC) else None
        m.submodules.data = data = macro(AxiData(arch.glb_tiles * arch.glb.tile_bytes, DATA_ADDRESS_BITS,
                                                 arch.glb.read_latency), clock=clock)
        if clock is not None:
            m.d.comb += clock.on.eq(lasting(m, "data", port_is_used(data), PORT_MARGIN + arch.glb.read_latency))
        for bus, ports in ((registers, axi_lite_ports(REGISTER_ADDRESS_BITS)), (data, axi_ports(DATA_ADDRESS_BITS))):
            for name, port in ports.items():
                outer, inner = getattr(self, name), getattr(bus, name)
                m.d.comb += outer.eq(inner) if port.flow is Out else inner.eq(outer)

        reset = Signal(reset_less=True)
        m.d.sync += reset.eq(ResetSignal())
        m.d.comb += self.reset.eq(reset)
        self._control(m, controller)
        self._registers(m, registers, controller)
        self._memory(m, data)
        return m

    def _every(self, name: str) -> Iterator[Value]:
        """A port of every GLB tile."""
        return (self._glb(tile, name) for tile in range(self.arch.glb_tiles))

    def _glb(self, tile: int, name: str) -> Value:
        return Value.cast(getattr(self, f"{glb_name(tile)}_{name}"))

    def _control(self, m: Module, controller: Macro) -> None:
        """Run control, events, and the configuration channels."""
        arch = self.arch
        m.d.comb += [
            self.irq.eq(controller.irq), self.flush.eq(controller.flush), controller.overflow.eq(self.overflow),
            controller.active.eq(self.active),
            controller.running.eq(Cat(self._every("busy")).any()),
            controller.moving.eq(self.active.any() | Cat(self._every("moved")).any()),
            controller.beyond.eq(Cat(self._every("beyond")).any()),
            controller.lost.eq(Cat(self._every("lost")).any()),
        ]
        commands = ["start", "again", "stop"]
        if arch.glb.configuration_dma:
            commands += ["configure", "config_stop"]
            m.d.comb += [controller.configuring.eq(Cat(self._every("config_busy")).any()),
                         controller.astray.eq(Cat(self._every("config_astray")).any())]
        for name in commands:
            m.d.comb += [port.eq(getattr(controller, name)) for port in self._every(name)]
        answers, value = [], 0
        for x in range(arch.columns):
            channel = getattr(self, f"config{x}")
            meant = Signal(name=f"config_meant{x}")
            m.d.comb += [meant.eq(controller.cfg_address[24:] == x), channel.valid.eq(controller.cfg_valid & meant),
                         channel.write.eq(controller.cfg_write), channel.addr.eq(controller.cfg_address),
                         channel.wdata.eq(controller.cfg_data)]
            answers.append(channel.rvalid)
            value |= channel.rvalid.replicate(32) & channel.rdata
        m.d.comb += [controller.cfg_answer.eq(Cat(answers).any()), controller.cfg_value.eq(value)]

    def _registers(self, m: Module, bus: Macro, controller: Macro) -> None:
        """Which register file an address belongs to."""
        m.d.comb += [controller.register_index.eq(bus.address[2:12]), controller.register_data.eq(bus.data)]
        files = address_map(self.arch)
        # Decoded before the address is in its register, so that a read has the cycle for itself.
        controls = Signal()
        inside = Signal()       # as far as it is one of a GLB tile
        tiles = [Signal(name=f"chosen{number}") for number in range(self.arch.glb_tiles)]
        with m.If(bus.accepts):
            m.d.sync += [controls.eq(bus.next < 4 * len(files[0][2])), inside.eq(bus.next[:8] < 4 * len(files[1][2])),
                         *(chosen.eq(bus.next[8:] == GLB_REGISTERS + number * GLB_REGISTER_STRIDE >> 8)
                           for number, chosen in enumerate(tiles))]
        m.d.comb += bus.error.eq(~controls)
        with m.If(controls & controller.refused):
            m.d.comb += bus.error.eq(1)
        with m.If(controls):
            m.d.comb += [bus.value.eq(controller.register_value), controller.register_write.eq(bus.write)]
        for number, chosen in enumerate(tiles):
            with m.If(chosen & inside):
                m.d.comb += [bus.error.eq(0), bus.value.eq(self._glb(number, "register_value"))]
            # Nothing toggles in tiles that are not meant.
            m.d.comb += [self._glb(number, "register_index").eq(Mux(chosen, bus.address[2:8], 0)),
                         self._glb(number, "register_data").eq(Mux(chosen, bus.data, 0)),
                         self._glb(number, "register_write").eq(bus.write & chosen)]

    def _memory(self, m: Module, data: Macro) -> None:
        """Which GLB tile a 64-bit word is in."""
        bits = len(self._glb(0, "host_read_line"))
        was: Value = data.read_line[bits:]
        for cycle in range(self.arch.glb.read_latency):
            later = Signal(range(max(2, self.arch.glb_tiles)), name=f"was_{cycle}" if cycle else "was")
            m.d.sync += later.eq(was)
            was = later
        for access, fields in (("write", ("line", "data", "strobe")), ("read", ("line",))):
            valid, line, ready = (getattr(data, f"{access}_{part}") for part in ("valid", "line", "ready"))
            m.d.comb += ready.eq(1)
            for number in range(self.arch.glb_tiles):
                here = Signal(name=f"{access}_here{number}")
                meant = self._glb(number, f"host_{access}_valid")
                m.d.comb += [here.eq(line[bits:] == number), meant.eq(valid & here)]
                for name in (f"{access}_{field}" for field in fields):
                    m.d.comb += self._glb(number, f"host_{name}").eq(Mux(meant, getattr(data, name), 0))
                with m.If(here):
                    m.d.comb += ready.eq(self._glb(number, f"host_{access}_ready"))
        for number in range(self.arch.glb_tiles):
            with m.If(was == number):
                m.d.comb += data.read_word.eq(self._glb(number, "host_read_word"))


assert GLB_REGISTER_STRIDE == 1 << 8 and GLB_REGISTERS % GLB_REGISTER_STRIDE == 0, "a register window is an address prefix"
