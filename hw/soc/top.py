"""The machine: a page of instances, array, global buffer and shell, behind one AXI4 and one AXI4-Lite port."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Module
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring

from ..arch.cgra import Arch
from ..array import Array
from ..connectivity import Wire
from ..emit import macro, ports
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
    s_axi_*, s_axil_*, irq : as of `Shell`.

    Timing: one clock, synchronous reset, active high.
    """

    module_name = "sardonyx"

    def __init__(self, arch: Arch, program: Mapping[tuple[int, int], int] | None = None) -> None:
        self.arch, self.program = arch, program
        super().__init__(bus_members())

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parts: dict[str, wiring.Component] = {ARRAY: Array(self.arch, self.program), SHELL: Shell(self.arch)}
        parts |= {glb_name(tile): GlbTile(self.arch.glb) for tile in range(self.arch.glb_tiles)}
        for name, part in parts.items():
            m.submodules[name] = macro(part)
        of = {name: ports(part) for name, part in parts.items()}
        for wire in around(self.arch):
            sink, _ = of[wire.sink.instance][wire.sink.port]
            m.d.comb += sink.eq(of[wire.source.instance][wire.source.port][0] if isinstance(wire, Wire) else wire.value)
        for name, (port, direction) in ports(self).items():
            inner, _ = of[SHELL][name]
            m.d.comb += inner.eq(port) if direction is PortDirection.Input else port.eq(inner)
        return m

