"""The machine: the array and its shell, behind one AXI4 and one AXI4-Lite port."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from ..arch.cgra import Arch
from ..array import Array, border
from ..emit import macro
from .shell import Shell, bus_members


class Sardonyx(wiring.Component):
    """The top module, called ``sardonyx``.

    Parameters
    ----------
    arch : Arch
    program : {(x, y): int}     The array specialised to a configuration (see `hw.array`); GLB tiles whose columns it does
                                not use are left out and their registers read as 0.

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
        columns = None if self.program is None else {x for x, y in self.program if y == 0}
        m.submodules.array = array = macro(Array(self.arch, self.program))
        m.submodules.shell = shell = macro(Shell(self.arch, columns))
        for name, port in bus_members().items():
            ours, theirs = getattr(self, name), getattr(shell, name)
            m.d.comb += ours.eq(theirs) if port.flow is Out else theirs.eq(ours)
        for name, member in border(self.arch).items():
            ours, theirs = getattr(array, name), getattr(shell, name)
            if not member.is_port:
                wiring.connect(m, ours, theirs)
            elif member.flow is Out:
                m.d.comb += theirs.eq(ours)
            else:
                m.d.comb += ours.eq(theirs)
        return m
