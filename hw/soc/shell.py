"""The shell: the controllers of the regions behind two buses, and which region or GLB tile an address belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from ..arch.cgra import Arch
from ..arch.glb import DYNAMIC
from ..arch.soc import (
    CONTROLLER,
    DATA_ADDRESS_BITS,
    GLB_REGISTER_STRIDE,
    GLB_REGISTERS,
    GROUP,
    GROUP_REGISTERS,
    REGION_STRIDE,
    REGISTER_ADDRESS_BITS,
    address_map,
    controller_name,
    controller_registers,
    glb_registers,
    named,
)
from ..array import shell_members
from ..clock_gate import gated_clock, lasting
from ..connectivity import flush_name, open_name, stall_name
from ..emit import Macro, macro
from ..glb.tile import control_members
from ..interconnect.boxes import Members
from .around import SHELL, glb_name
from .axi_data import AxiData, axi_ports
from .axi_lite import AxiLite, axi_lite_ports
from .controller import COMMANDS, Controller
from .owners import Owners

# Cycles in which what has entered a port goes on inside, besides those of a read of the memory: from its register slices to the
# memory or the registers and to the slices of its answers, and as many more.
PORT_MARGIN = 8


def bus_members(regions: int) -> Members:
    """The ports of the machine to the outside: two buses and the interrupts."""
    lines: Members = {"region_irq": Out(regions)} if regions > 1 else {}
    return {**axi_ports(DATA_ADDRESS_BITS), **axi_lite_ports(REGISTER_ADDRESS_BITS), "irq": Out(1), **lines}


def port_is_used(data: Macro) -> Value:
    """Whether the port for data waits for nobody: a transfer is offered or taken on the bus, or an access asks the memory."""
    offers = [getattr(data, f"s_axi_{channel}valid") for channel in ("aw", "w", "ar")]
    taken = [getattr(data, f"s_axi_{channel}valid") & getattr(data, f"s_axi_{channel}ready") for channel in ("b", "r")]
    return Cat(*offers, *taken, data.write_valid, data.read_valid).any()


def registers_are_used(registers: Macro | AxiLite) -> Value:
    """The same of the port for registers, behind which nobody waits: a transfer is offered or taken on the bus."""
    def both(channel: str) -> Value:
        return getattr(registers, f"s_axil_{channel}valid") & getattr(registers, f"s_axil_{channel}ready")

    return Cat(*(getattr(registers, f"s_axil_{channel}valid") for channel in ("aw", "w", "ar")), both("b"), both("r")).any()


class Shell(wiring.Component):
    """The controllers of the regions behind the two buses of a machine; the module ``shell``.

    Parameters
    ----------
    arch : Arch

    Members
    -------
    s_axi_* : AXI4 slave, 64 bits, the global buffer: tile t at t * glb.tile_bytes.
    s_axil_* : AXI4-Lite slave, 32 bits, the registers of `arch.soc`.
    irq : Out(1)             An event of any region is to be answered.
    region_irq : Out(regions)    With `Arch.regions` of 2 or more: of region r, on its own line r.
    config{x}, flush, open{t}, stall{x}, reset, active, overflow, walled : the other side of the ports of `Array`.
    glb{t}_* : the other side of `glb.tile.control_members`.

    reset : Out(1)           Of the array and the GLB tiles.

    Timing: flush, open{t} and stall{x} follow registers, reset is `rst` of the cycle before; the configuration channels and
    what goes to the GLB tiles follow the registers behind the buses.
    Source: a design of its own, around what Onyx JSSC II describes.
    """

    module_name = SHELL

    def __init__(self, arch: Arch) -> None:
        self.arch = arch
        control = {f"{glb_name(tile)}_{name}": member.flip() for tile in range(arch.glb_tiles)
                   for name, member in control_members(arch.glb).items()}
        array = {name: member.flip() for name, member in shell_members(arch).items()}
        super().__init__({**bus_members(arch.regions), **array, **control})

    @property
    def emit_key(self) -> object:
        return (self.arch.fingerprint, self.arch.glb, self.arch.regions, self.arch.column_stall,
                self.arch.column_stall and self.arch.memory_readback)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        arch = self.arch
        names = [controller_name(region, arch.regions) for region in range(arch.regions)]
        controllers = [macro(Controller(arch)) for _ in names]
        for name, each in zip(names, controllers):
            m.submodules[name] = each
        gated = arch.glb.gates(DYNAMIC)
        register_clock = gated_clock(m, "registers", arch.glb.clock_gates, platform) if gated else None
        m.submodules.registers = registers = macro(AxiLite(REGISTER_ADDRESS_BITS), clock=register_clock)
        if register_clock is not None:
            m.d.comb += register_clock.on.eq(lasting(m, "registers", registers_are_used(registers), PORT_MARGIN))
        clock = gated_clock(m, "data", arch.glb.clock_gates, platform) if gated else None
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
        owners = self._owners(m, controllers)
        self._control(m, controllers)
        self._configure(m, controllers)
        self._registers(m, registers, controllers, owners)
        if arch.column_stall:
            self._statics(m, controllers)
        self._memory(m, data)
        return m

    def _every(self, name: str) -> Iterator[Value]:
        """A port of every GLB tile."""
        return (self._glb(tile, name) for tile in range(self.arch.glb_tiles))

    def _glb(self, tile: int, name: str) -> Value:
        return Value.cast(getattr(self, f"{glb_name(tile)}_{name}"))

    def _owners(self, m: Module, controllers: Sequence[Macro]) -> Macro | None:
        """Tell regions what is theirs; None if there is one, which has all."""
        arch = self.arch
        if arch.regions == 1:
            m.d.comb += [controllers[0].mine.eq((1 << arch.glb_tiles) - 1), controllers[0].foreign.eq(0)]
            return None
        m.submodules.owners = owners = macro(Owners(arch.glb_tiles, arch.regions))
        m.d.comb += [getattr(self, open_name(tile)).eq(owners.open[tile]) for tile in range(1, arch.glb_tiles)]
        m.d.comb += owners.occupied.eq(Cat(each.occupied for each in controllers))
        for region, each in enumerate(controllers):
            mine = getattr(owners, f"tiles{region}")
            m.d.comb += [each.mine.eq(mine), each.foreign.eq((~self._columns(mine)).bit_select(each.cfg_address[24:], 1))]
        return owners

    def _columns(self, tiles: Value) -> Value:
        """A bit for each column, of one for each GLB tile."""
        return Cat(tiles[tile].replicate(self.arch.glb.columns_per_tile) for tile in range(self.arch.glb_tiles))

    def _control(self, m: Module, controllers: Sequence[Macro]) -> None:
        """Run control and events: each region is told of what is its own, and what it says goes there."""
        arch = self.arch
        m.d.comb += self.irq.eq(Cat(each.irq for each in controllers).any())
        m.d.comb += [self.region_irq.eq(Cat(each.irq for each in controllers))] if arch.regions > 1 else []
        asked = {"beyond": "beyond", "lost": "lost"}
        each_tile = ("load_ends", "store_ends", *(("load_queued", "store_queued") if arch.glb.queue else ()))
        commands = ["start", "again", "stop"]
        if arch.glb.configuration_dma:
            asked |= {"configuring": "config_busy", "astray": "config_astray"}
            commands += ["configure", "config_stop"]
        for number, each in enumerate(controllers):
            columns = self._columns(each.mine)
            active = Signal.like(self.active, name=f"active_{number}")
            m.d.comb += [active.eq(self.active & columns), each.active.eq(active), each.overflow.eq(self.overflow & columns),
                         *([each.walled.eq(self.walled & columns)] if arch.regions > 1 else []),
                         *(getattr(each, name).eq(Cat(self._every(name)) & each.mine) for name in each_tile),
                         each.running.eq((Cat(self._every("busy")) & each.mine).any()),
                         each.moving.eq(active.any() | (Cat(self._every("moved")) & each.mine).any()),
                         *([each.crossed.eq((Cat(self._every("moved")) & each.mine).any())] if arch.column_stall else [])]
            m.d.comb += [getattr(each, port).eq((Cat(self._every(name)) & each.mine).any()) for port, name in asked.items()]
        for name in commands:
            m.d.comb += [port.eq(self._of_owner(controllers, tile, name)) for tile, port in enumerate(self._every(name))]
        if arch.column_stall:
            m.d.comb += [getattr(self, stall_name(x)).eq(Cat(each.stall[x] for each in controllers).any())
                         for x in range(arch.columns)]
        flushes = {flush_name(arch, x): x // arch.glb.columns_per_tile for x in range(arch.columns)}
        m.d.comb += [getattr(self, name).eq(self._of_owner(controllers, tile, "flush")) for name, tile in flushes.items()]

    def _of_owner(self, controllers: Sequence[Macro], tile: int, name: str) -> Value:
        """What the owner of a GLB tile says."""
        return Cat(getattr(each, name) & each.mine[tile] for each in controllers).any()

    def _configure(self, m: Module, controllers: Sequence[Macro]) -> None:
        """The configuration channels: the host asks over the registers of one region at a time, and answers go to it."""
        arch = self.arch
        asked = {name: getattr(controllers[0], f"cfg_{name}") for name in ("valid", "write", "address", "data")}
        for each in controllers[1:]:
            asked = {name: Mux(each.cfg_valid, getattr(each, f"cfg_{name}"), value) for name, value in asked.items()}
        answers = []
        for x in range(arch.columns):
            channel = getattr(self, f"config{x}")
            meant = Signal(name=f"config_meant{x}")
            m.d.comb += [meant.eq(asked["address"][24:] == x), channel.valid.eq(asked["valid"] & meant),
                         channel.write.eq(asked["write"]), channel.addr.eq(asked["address"]), channel.wdata.eq(asked["data"])]
            answers.append(channel)
        for each in controllers:
            mine = [channel.rvalid & each.mine[x // arch.glb.columns_per_tile] for x, channel in enumerate(answers)]
            value = reduce(or_, (answered.replicate(32) & channel.rdata for answered, channel in zip(mine, answers)))
            m.d.comb += [each.cfg_answer.eq(Cat(mine).any()), each.cfg_value.eq(value)]

    def _registers(self, m: Module, bus: Macro, controllers: Sequence[Macro], owners: Macro | None) -> None:
        """Which register file an address belongs to."""
        arch = self.arch
        files = address_map(arch)
        claims = named(CONTROLLER)["claim"].offset // 4
        # Decoded before the address is in its register, so that a read has the cycle for itself.
        regions = [Signal(name=f"controls{number}") for number in range(self.arch.regions)]
        inside = Signal()       # as far as it is one of a GLB tile
        tiles = [Signal(name=f"chosen{number}") for number in range(self.arch.glb_tiles)]
        place, at = bus.next[REGION_STRIDE.bit_length() - 1:], bus.next[:REGION_STRIDE.bit_length() - 1]
        with m.If(bus.accepts):
            m.d.sync += [*(controls.eq((place == number) & (at < 4 * len(controller_registers(arch))))
                           for number, controls in enumerate(regions)),
                         inside.eq(bus.next[:8] < 4 * len(files[-1][2])),
                         *(chosen.eq(bus.next[8:] == GLB_REGISTERS + number * GLB_REGISTER_STRIDE >> 8)
                           for number, chosen in enumerate(tiles))]
        m.d.comb += bus.error.eq(~Cat(regions).any())
        index = Signal(range(REGION_STRIDE // 4))
        claim = Signal()
        m.d.comb += [index.eq(bus.address[2:]), claim.eq(index == claims)]
        for number, (controls, controller) in enumerate(zip(regions, controllers)):
            m.d.comb += [controller.register_index.eq(index), controller.register_data.eq(bus.data)]
            refused = Const(1) if owners is None else owners.refused[number]
            with m.If(controls & (controller.refused | (claim & refused))):
                m.d.comb += bus.error.eq(1)
            m.d.comb += controller.register_write.eq(bus.write & controls)
            with m.If(controls):
                m.d.comb += bus.value.eq(controller.register_value)
            if owners is not None:
                m.d.comb += owners.claims[number].eq(bus.write & controls & claim & ~refused)
        if owners is not None:
            m.d.comb += owners.mask.eq(bus.data)
            self._group(m, bus, controllers)
        for number, chosen in enumerate(tiles):
            with m.If(chosen & inside):
                m.d.comb += [bus.error.eq(0), bus.value.eq(self._glb(number, "register_value"))]
            # Nothing toggles in tiles that are not meant.
            m.d.comb += [self._glb(number, "register_index").eq(Mux(chosen, bus.address[2:8], 0)),
                         self._glb(number, "register_data").eq(Mux(chosen, bus.data, 0)),
                         self._glb(number, "register_write").eq(bus.write & chosen & inside)]

    def _statics(self, m: Module, controllers: Sequence[Macro]) -> None:
        """Tell regions whether their program is static, as one of their stores is: from what is written to their registers."""
        control = named(glb_registers(self.arch.glb))["store_control"]
        statics = Signal(self.arch.glb_tiles)
        for tile in range(self.arch.glb_tiles):
            index, data = (self._glb(tile, f"register_{name}") for name in ("index", "data"))
            with m.If(self._glb(tile, "register_write") & (index == control.offset // 4)):
                m.d.sync += statics[tile].eq(data[control.bits("enable")].any() & data[control.bits("static")].any())
        m.d.comb += [each.whole.eq((statics & each.mine).any()) for each in controllers]

    def _group(self, m: Module, bus: Macro, controllers: Sequence[Macro]) -> None:
        """Commands for several regions in one cycle. What is at no region's place no region's registers reach."""
        group, chosen = named(GROUP)["group"], Signal(name="controls_group")
        with m.If(bus.accepts):
            m.d.sync += chosen.eq(bus.next[2:] == GROUP_REGISTERS + group.offset >> 2)
        meant = bus.data[group.bits("regions")]
        others = meant[len(controllers):].any()
        with m.If(chosen):
            m.d.comb += bus.error.eq(others)
        commands = Cat(bus.data[group.bits(name)] for name in COMMANDS)
        for number, each in enumerate(controllers):
            m.d.comb += each.commands.eq(Mux(bus.write & chosen & meant[number] & ~others, commands, 0))

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
