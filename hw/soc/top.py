"""The machine: a page of instances, array, global buffer and shell, behind one AXI4 and one AXI4-Lite port."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Module, Signal
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring

from ..arch.cgra import Arch
from ..array import Array
from ..component import ports
from ..connectivity import RESET, Wire
from ..emit import macro
from ..glb.tile import GlbTile
from .around import ARRAY, SHELL, around, glb_name
from .shell import Shell, bus_members


class Sardonyx(wiring.Component):
    """The top module, called ``sardonyx``.

    Parameters
    ----------
    arch : Arch
    program : {(x, y): int}     The array under one configuration, see `Array`.

    Members
    -------
    s_axi_*, s_axil_*, irq, region_irq : as of `Shell`.

    Timing: one clock, synchronous reset, active high; a cycle of reset is enough. It resets the shell at once, which has a
    register for that of all else: the global buffer is reset a cycle later, and the tiles of segment n of a column n + 2 cycles
    later, over the registers that configuration takes (`ConfigChannel`). Buses may be used in the first cycle after reset: no
    access is at its place before the reset there has ended.
    Source: Onyx JSSC II.
    """

    module_name = "sardonyx"

    def __init__(self, arch: Arch, program: Mapping[tuple[int, int], int] | None = None) -> None:
        self.arch, self.program = arch, program
        super().__init__(bus_members(arch.regions))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parts: dict[str, wiring.Component] = {ARRAY: Array(self.arch, self.program), SHELL: Shell(self.arch)}
        parts |= {glb_name(tile): GlbTile(self.arch.glb) for tile in range(self.arch.glb_tiles)}
        wires = [*around(self.arch)]
        resets = {wire.sink.instance: Signal(name=f"{wire.sink.instance}_reset") for wire in wires if wire.sink.port == RESET}
        for name, part in parts.items():
            m.submodules[name] = macro(part, reset=resets.get(name))
        of = {name: ports(part) for name, part in parts.items()}
        for wire in wires:
            reset = wire.sink.port == RESET
            sink = resets[wire.sink.instance] if reset else of[wire.sink.instance][wire.sink.port][0]
            m.d.comb += sink.eq(of[wire.source.instance][wire.source.port][0] if isinstance(wire, Wire) else wire.value)
        for name, (port, direction) in ports(self).items():
            inner, _ = of[SHELL][name]
            m.d.comb += inner.eq(port) if direction is PortDirection.Input else port.eq(inner)
        return m

