"""The system: a machine and the host in front of it, behind memory, a serial line and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from amaranth.hdl import Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ..arch.cgra import Arch
from ..arch.system import System
from ..connectivity import RESET, End, Wire
from ..emit import Clock, macro
from .around import SHELL
from .crossing import HostSide, MachineSide, between_members, bus_ports
from .host import Host, outside_members
from .shell import bus_members
from .top import Sardonyx

HOST, HOST_SIDE, MACHINE_SIDE = Host.module_name, HostSide.module_name, MachineSide.module_name
# What has the host's clock, if that is one of its own.
BY_HOST_CLOCK = (HOST, HOST_SIDE)


# What a machine has of several regions in one.
IRQ = "irq"


def in_front(system: System, regions: int) -> Iterator[Wire]:
    """All wires between the host and the machine's ports, which are those of its shell."""
    if not system.own_clock:
        yield from _buses(HOST, SHELL, regions)
        return
    yield from _buses(HOST, HOST_SIDE, regions)
    for name, member in between_members(bus_ports(), regions).items():
        ends = End(MACHINE_SIDE, name), End(HOST_SIDE, name)
        yield Wire(*ends) if member.flow is In else Wire(*reversed(ends))
    yield from _buses(MACHINE_SIDE, SHELL, regions)


def _buses(master: str, slave: str, regions: int) -> Iterator[Wire]:
    """The machine's ports, of interrupts those of regions if there are several, and its reset, between two instances."""
    for name, member in bus_members(regions).items():
        if name == IRQ and regions > 1:
            continue
        ends = End(master, name), End(slave, name)
        yield Wire(*ends) if member.flow is In else Wire(*reversed(ends))
    yield Wire(End(master, "reset"), End(slave, RESET))


class SardonyxSystem(wiring.Component):
    """A machine and its host; the module ``sardonyx_system``.

    Parameters
    ----------
    arch : Arch      With a processor.

    Members
    -------
    m_axi_*, rx, tx, trap : as of `Host`.
    host_clk : In(1)      With `own_clock` only: the clock of all other ports, reset included; `clk` is the machine's then.

    Timing: one clock, or two that need not know of each other (`crossing`); synchronous reset, active high; a cycle of reset is
    enough, with two clocks but for the first one.
    Source: Onyx JSSC II.
    """

    module_name = "sardonyx_system"

    def __init__(self, arch: Arch) -> None:
        assert arch.system.processor, "a system has a processor"
        self.arch = arch
        super().__init__(outside_members() | ({"host_clk": In(1)} if arch.system.own_clock else {}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        own, regions = self.arch.system.own_clock, self.arch.regions
        clock = Clock(Const(1), self.host_clk) if own else None
        m.submodules.host = host = macro(Host(self.arch.system, regions), clock=clock)
        parts, reset = {HOST: host}, host.reset
        if own:
            m.submodules.host_side = parts[HOST_SIDE] = macro(HostSide(regions=regions), reset=host.reset, clock=clock)
            m.submodules.machine_side = parts[MACHINE_SIDE] = machine_side = macro(MachineSide(regions=regions))
            reset = machine_side.reset
        m.submodules.machine = parts[SHELL] = macro(Sardonyx(self.arch), reset=reset)
        for wire in in_front(self.arch.system, regions):
            if wire.sink.port != RESET:
                sink, source = (getattr(parts[end.instance], end.port) for end in (wire.sink, wire.source))
                m.d.comb += sink.eq(source)
        for name, member in outside_members().items():
            outer, inner = getattr(self, name), getattr(host, name)
            m.d.comb += inner.eq(outer) if member.flow is In else outer.eq(inner)
        return m
