"""Commands from a bus: registers, and the queue in front of an accelerator."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch import command
from ..arch.soc import named, offsets
from ..emit import macro
from ..soc.axi_lite import AxiLite, axi_lite_ports
from ..stream.fifo import Fifo
from ..stream.lead import lead
from .core import STATUS, command_word
from .decoder import WORD

PORTS = axi_lite_ports(command.REGISTER_BITS)


class CommandQueue(wiring.Component):
    """The registers `arch.command.REGISTERS` behind an AXI4-Lite bus.

    Behaviour: a write of `command` puts a command into the queue, or is answered with SLVERR while it is full.

    Parameters
    ----------
    depth : int         Commands that wait.

    Members
    -------
    s_axil_* : the bus.
    o : Out(stream)     `WORD`.
    clear : Out(1); error, refused, busy, ended : In      See `Core`.

    Timing: as of `AxiLite`; a command leaves in the cycle after it came.
    Source: Arm IHI 0022, AXI4-Lite; the facts' second form of commands.
    """

    module_name = "command_queue"

    def __init__(self, depth: int) -> None:
        self.depth = depth
        status = {name: member.flip() for name, member in STATUS.items()}
        super().__init__({**PORTS, "o": Out(stream.Signature(WORD)), **status})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.bus = bus = macro(AxiLite(command.REGISTER_BITS))
        for name, member in PORTS.items():
            own, inner = getattr(self, name), getattr(bus, name)
            m.d.comb += inner.eq(own) if member.flow is In else own.eq(inner)
        m.submodules.queue = queue = macro(Fifo(WORD, self.depth))
        lead(m, queue.o, self.o)
        words = [Signal(32, name=name) for name in ("rs1", "rs2")]
        cycles = Signal(32)
        ended = Signal(32)
        held = Signal(range(self.depth + 1))
        status = named(command.REGISTERS)["status"]
        state = Signal(32)
        at = offsets(command.REGISTERS)
        busy = Signal()
        came = queue.i.valid & queue.i.ready
        m.d.comb += [
            busy.eq(self.busy | queue.o.valid), queue.i.payload.as_value().eq(command_word(words[0], words[1], bus.data)),
            *(state[status.bits(name)].eq(value) for name, value in (
                ("busy", busy), ("full", ~queue.i.ready), ("empty", ~queue.o.valid), ("room", self.depth - held),
                ("error", self.error), ("refused", self.refused))),
        ]
        m.d.sync += [held.eq(held + came - (queue.o.valid & queue.o.ready)), cycles.eq(cycles + busy),
                     ended.eq(ended + self.ended)]
        with m.Switch(bus.address):
            for name, value in (("rs1", words[0]), ("rs2", words[1]), ("status", state), ("cycles", cycles), ("ended", ended)):
                with m.Case(at[name]):
                    m.d.comb += [bus.value.eq(value), bus.error.eq(bus.write if name not in ("rs1", "rs2") else 0)]
                    if name in ("rs1", "rs2"):
                        with m.If(bus.write):
                            m.d.sync += value.eq(bus.data)
            with m.Case(at["command"]):
                m.d.comb += [queue.i.valid.eq(bus.write), bus.error.eq(~queue.i.ready | (bus.data >> command.NUMBER_BITS != 0))]
            with m.Case(at["clear"]):
                m.d.comb += [bus.value.eq(self.error != 0), self.clear.eq(bus.write & bus.data[0])]
            with m.Default():
                m.d.comb += bus.error.eq(1)
        return m


assert 4 * len(command.REGISTERS) <= 1 << command.REGISTER_BITS, "each register has an address"
