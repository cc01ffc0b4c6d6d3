"""A spatial accelerator: commands over AXI4-Lite, operands and results over AXI4."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ..arch.accelerator import Accelerator
from ..arch.outer_product import OuterProduct
from ..dma.dma import bus
from ..emit import macro
from ..stream.lead import lead
from .command.queue import CommandQueue, queue_ports
from .command.word import status_members
from .core import Core
from .outer.core import OuterCore


def core_of(accelerator: Accelerator | OuterProduct) -> Core | OuterCore:
    """What does the commands."""
    return OuterCore(accelerator) if isinstance(accelerator, OuterProduct) else Core(accelerator)


class SpatialAccelerator(wiring.Component):
    """The top of an accelerator.

    Parameters
    ----------
    accelerator : Accelerator | OuterProduct

    Members
    -------
    s_axil_* : commands and status, `arch.command.REGISTERS`.
    m_axi_* : memory.

    Timing: one clock; synchronous reset, active high.
    Source: Stellar IV-A and V.
    """

    def __init__(self, accelerator: Accelerator | OuterProduct) -> None:
        self.accelerator, self.module_name = accelerator, accelerator.name.lower()
        super().__init__({**queue_ports(accelerator.stalls), **bus(accelerator.dma.bus_bytes)})

    @property
    def emit_key(self) -> str | OuterProduct:
        # The text of an outer product leaves out what most of them have.
        return self.accelerator if isinstance(self.accelerator, OuterProduct) else repr(self.accelerator)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        stalls = tuple(self.accelerator.stalls)
        m.submodules.queue = queue = macro(CommandQueue(self.accelerator.queue, self.accelerator.watchdog, stalls))
        m.submodules.core = core = macro(core_of(self.accelerator))
        lead(m, queue.o, core.i)
        for name, member in status_members(self.accelerator.watchdog, stalls).items():
            front, behind = getattr(queue, name), getattr(core, name)
            m.d.comb += behind.eq(front) if member.flow is In else front.eq(behind)
        for part, ports in ((queue, queue_ports(stalls)), (core, bus(self.accelerator.dma.bus_bytes))):
            for name, member in ports.items():
                own, inner = getattr(self, name), getattr(part, name)
                m.d.comb += inner.eq(own) if member.flow is In else own.eq(inner)
        return m
