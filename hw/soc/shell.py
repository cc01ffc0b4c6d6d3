"""The shell: everything of the machine but the array, that is, global buffer and controller behind their two buses."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from ..arch.cgra import Arch
from ..arch.soc import DATA_ADDRESS_BITS, GLB_REGISTER_STRIDE, GLB_REGISTERS, REGISTER_ADDRESS_BITS, address_map
from ..array import border
from ..emit import Macro, macro
from ..glb.tile import GlbTile
from ..interconnect.boxes import Members
from .axi_data import AxiData, axi_ports
from .axi_lite import AxiLite, axi_lite_ports
from .controller import Controller


def bus_members() -> Members:
    """The ports of the machine to the outside: two buses and the interrupt."""
    return {**axi_ports(DATA_ADDRESS_BITS), **axi_lite_ports(REGISTER_ADDRESS_BITS), "irq": Out(1)}


class Shell(wiring.Component):
    """The module ``shell``.

    Parameters
    ----------
    arch : Arch
    columns : ints             For the specialised form: the columns whose IO tile is used; GLB tiles without one are left out
                               and their registers read as 0. None: all.

    Members
    -------
    s_axi_* : AXI4 slave, 64 bits, the global buffer: tile t at t * glb.tile_bytes.
    s_axil_* : AXI4-Lite slave, 32 bits, the registers of `arch.soc`.
    irq : Out(1)
    g2f{x}, f2g{x}, f2g_bit{x}, config{x}, flush, active, overflow : the other side of the ports of `Array`.

    Timing: what goes to the array comes from registers, except for the readiness of f2g, which says whether a bank has a cycle
    left, and the configuration channels, which follow the register bus.
    """

    module_name = "shell"

    def __init__(self, arch: Arch, columns: Collection[int] | None = None) -> None:
        self.arch, self.columns = arch, None if columns is None else tuple(sorted(columns))
        super().__init__({**bus_members(), **{name: member.flip() for name, member in border(arch).items()}})

    @property
    def emit_key(self) -> object:
        return self.arch.fingerprint, self.columns

    def elaborate(self, platform: object) -> Module:
        m = Module()
        arch = self.arch
        m.submodules.controller = controller = macro(Controller(arch))
        m.submodules.registers = registers = macro(AxiLite(REGISTER_ADDRESS_BITS))
        m.submodules.data = data = macro(AxiData(arch.glb_tiles * arch.glb.tile_bytes, DATA_ADDRESS_BITS))
        for bus, ports in ((registers, axi_lite_ports(REGISTER_ADDRESS_BITS)), (data, axi_ports(DATA_ADDRESS_BITS))):
            for name, port in ports.items():
                outer, inner = getattr(self, name), getattr(bus, name)
                m.d.comb += outer.eq(inner) if port.flow is Out else inner.eq(outer)

        tiles: dict[int, Macro] = {}
        for number in range(arch.glb_tiles):
            first = number * arch.glb.columns_per_tile
            columns = range(first, first + arch.glb.columns_per_tile)
            if self.columns is None or any(x in columns for x in self.columns):
                m.submodules[f"glb{number}"] = tiles[number] = tile = macro(GlbTile(arch.glb))
                for way, x in enumerate(columns):
                    wiring.connect(m, getattr(tile, f"g2f{way}"), wiring.flipped(getattr(self, f"g2f{x}")))
                    wiring.connect(m, wiring.flipped(getattr(self, f"f2g{x}")), getattr(tile, f"f2g{way}"))
                    wiring.connect(m, wiring.flipped(getattr(self, f"f2g_bit{x}")), getattr(tile, f"f2g_bit{way}"))
        self._control(m, controller, tiles)
        self._registers(m, registers, controller, tiles)
        self._memory(m, data, tiles)
        return m

    def _control(self, m: Module, controller: Macro, tiles: Mapping[int, Macro]) -> None:
        """Run control, events, and the configuration channels."""
        m.d.comb += [
            self.irq.eq(controller.irq), self.flush.eq(controller.flush), controller.overflow.eq(self.overflow),
            controller.active.eq(self.active),
            controller.running.eq(Cat(tile.busy for tile in tiles.values()).any()),
            controller.moving.eq(self.active.any() | Cat(tile.moved for tile in tiles.values()).any()),
            controller.beyond.eq(Cat(tile.beyond for tile in tiles.values()).any()),
            controller.lost.eq(Cat(tile.lost for tile in tiles.values()).any()),
        ]
        for tile in tiles.values():
            m.d.comb += [tile.start.eq(controller.start), tile.stop.eq(controller.stop)]
        answers, value = [], 0
        for x in range(self.arch.columns):
            channel = getattr(self, f"config{x}")
            m.d.comb += [channel.valid.eq(controller.cfg_valid & (controller.cfg_address[24:] == x)),
                         channel.write.eq(controller.cfg_write), channel.addr.eq(controller.cfg_address),
                         channel.wdata.eq(controller.cfg_data)]
            answers.append(channel.rvalid)
            value |= channel.rvalid.replicate(32) & channel.rdata
        m.d.comb += [controller.cfg_answer.eq(Cat(answers).any()), controller.cfg_value.eq(value)]

    def _registers(self, m: Module, bus: Macro, controller: Macro, tiles: Mapping[int, Macro]) -> None:
        """Which register file an address belongs to."""
        m.d.comb += [controller.register_index.eq(bus.address[2:12]), controller.register_data.eq(bus.data)]
        files = address_map(self.arch)
        controls = Signal()
        m.d.comb += [controls.eq(bus.address < 4 * len(files[0][2])), bus.error.eq(~controls)]
        with m.If(controls):
            m.d.comb += [bus.value.eq(controller.register_value), controller.register_write.eq(bus.write)]
        for number in range(self.arch.glb_tiles):
            chosen, inside = Signal(name=f"chosen{number}"), Signal(name=f"inside{number}")
            base = GLB_REGISTERS + number * GLB_REGISTER_STRIDE
            m.d.comb += [chosen.eq(bus.address[8:] == base >> 8), inside.eq(bus.address[:8] < 4 * len(files[1][2]))]
            with m.If(chosen & inside):
                m.d.comb += bus.error.eq(0)
            if number in tiles:
                tile = tiles[number]
                m.d.comb += [tile.register_index.eq(bus.address[2:8]), tile.register_data.eq(bus.data),
                             tile.register_write.eq(bus.write & chosen)]
                with m.If(chosen & inside):
                    m.d.comb += bus.value.eq(tile.register_value)

    def _memory(self, m: Module, data: Macro, tiles: Mapping[int, Macro]) -> None:
        """Which GLB tile a 64-bit word is in; words of tiles left out are written to nowhere and read as 0."""
        bits = (self.arch.glb.tile_bytes // 8 - 1).bit_length()
        was = Signal(range(max(2, self.arch.glb_tiles)))
        m.d.comb += data.ready.eq(1)
        m.d.sync += was.eq(data.line[bits:])
        for number, tile in tiles.items():
            here = Signal(name=f"here{number}")
            m.d.comb += [here.eq(data.line[bits:] == number), tile.host_valid.eq(data.valid & here),
                         tile.host_write.eq(data.write), tile.host_line.eq(data.line), tile.host_data.eq(data.data),
                         tile.host_strobe.eq(data.strobe)]
            with m.If(here):
                m.d.comb += data.ready.eq(tile.host_ready)
            with m.If(was == number):
                m.d.comb += data.word.eq(tile.host_word)


assert GLB_REGISTER_STRIDE == 1 << 8 and GLB_REGISTERS % GLB_REGISTER_STRIDE == 0, "a register window is an address prefix"
