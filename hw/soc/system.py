"""The system: a machine and the host in front of it, behind memory, a serial line and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ..arch.cgra import Arch
from ..connectivity import RESET, End, Wire
from ..emit import macro
from .around import SHELL
from .host import Host, outside_members
from .shell import bus_members
from .top import Sardonyx

HOST = Host.module_name


def in_front() -> Iterator[Wire]:
    """All wires between the host and the machine's ports, which are those of its shell."""
    for name, member in bus_members().items():
        ends = End(HOST, name), End(SHELL, name)
        yield Wire(*ends) if member.flow is In else Wire(*reversed(ends))
    yield Wire(End(HOST, "reset"), End(SHELL, RESET))


class SardonyxSystem(wiring.Component):
    """The module ``sardonyx_system``.

    Parameters
    ----------
    arch : Arch      With a processor.

    Members
    -------
    m_axi_*, rx, tx, trap : as of `Host`.

    Timing: one clock, synchronous reset, active high; a cycle of reset is enough.
    Source: Onyx JSSC II.
    """

    module_name = "sardonyx_system"

    def __init__(self, arch: Arch) -> None:
        assert arch.system.processor, "a system has a processor"
        self.arch = arch
        super().__init__(outside_members())

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.host = host = macro(Host(self.arch.system))
        m.submodules.machine = machine = macro(Sardonyx(self.arch), reset=host.reset)
        for wire in in_front():
            if wire.sink.port != RESET:
                source, sink = (machine, host) if wire.source.instance == SHELL else (host, machine)
                m.d.comb += getattr(sink, wire.sink.port).eq(getattr(source, wire.source.port))
        for name, member in outside_members().items():
            outer, inner = getattr(self, name), getattr(host, name)
            m.d.comb += inner.eq(outer) if member.flow is In else outer.eq(inner)
        return m
