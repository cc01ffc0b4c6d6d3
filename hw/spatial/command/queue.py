"""Commands from a bus: registers, and the queue in front of an accelerator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch import command
from ...arch.soc import offsets
from ...emit import macro
from ...soc.axi_lite import AxiLite, axi_lite_ports
from ...stream.lead import lead
from .waiting import TOLD, Waiting
from .word import WORD, command_word, status_members


def queue_ports(stalls: Iterable[str] = ()) -> dict[str, wiring.Member]:
    """The bus of registers, with counters of these causes."""
    return axi_lite_ports(command.register_bits(stalls))


class CommandQueue(wiring.Component):
    """The registers `arch.command.REGISTERS` behind an AXI4-Lite bus.

    Behaviour: a write of `command` puts a command into the queue, or is answered with SLVERR while it is full.

    Parameters
    ----------
    depth : int         Commands that wait.
    watchdog : bool     The core has one.
    stalls : tuple      It counts why streams or lanes wait: these.

    Members
    -------
    s_axil_* : the bus.
    o : Out(stream)     `WORD`.
    clear : Out(1); error, refused, busy, ended, given_up, operand_late, ... : In      See `Core`.

    Timing: as of `AxiLite`; a command leaves in the cycle after it came.
    Source: Arm IHI 0022, AXI4-Lite.
    """

    module_name = "command_queue"

    def __init__(self, depth: int, watchdog: bool = False, stalls: tuple[str, ...] = ()) -> None:
        self.depth, self.watchdog, self.stalls = depth, watchdog, stalls
        status = {name: member.flip() for name, member in status_members(watchdog, stalls).items()}
        super().__init__({**queue_ports(stalls), "o": Out(stream.Signature(WORD)), **status})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.bus = bus = macro(AxiLite(command.register_bits(self.stalls)))
        for name, member in queue_ports(self.stalls).items():
            own, inner = getattr(self, name), getattr(bus, name)
            m.d.comb += inner.eq(own) if member.flow is In else own.eq(inner)
        m.submodules.waiting = waiting = macro(Waiting(self.depth, self.watchdog))
        lead(m, waiting.o, self.o)
        m.d.comb += [getattr(waiting, name).eq(getattr(self, name)) for name in TOLD]
        rs1 = Signal(32)
        rs2 = Signal(32)
        at = offsets(command.REGISTERS)
        m.d.comb += waiting.i.payload.as_value().eq(command_word(rs1, rs2, bus.data))
        with m.Switch(bus.address):
            for name, value in (("rs1", rs1), ("rs2", rs2)):
                with m.Case(at[name]):
                    m.d.comb += bus.value.eq(value)
                    with m.If(bus.write):
                        m.d.sync += value.eq(bus.data)
            more = [("given_up", self.given_up)] if self.watchdog else []
            more += [(name, getattr(self, name)) for name in self.stalls]
            for name, value in (("status", waiting.state), ("cycles", waiting.cycles), ("ended", waiting.ended_all), *more):
                with m.Case(at[name]):
                    m.d.comb += [bus.value.eq(value), bus.error.eq(bus.write)]
            with m.Case(at["command"]):
                known = bus.data >> command.NUMBER_BITS == 0
                m.d.comb += [waiting.i.valid.eq(bus.write & known), bus.error.eq(~waiting.i.ready | ~known)]
            with m.Case(at["clear"]):
                m.d.comb += [bus.value.eq(self.error != 0), self.clear.eq(bus.write & bus.data[0])]
            with m.Default():
                m.d.comb += bus.error.eq(1)
        return m


assert all(each.offset < 1 << command.REGISTER_BITS for each in command.REGISTERS if each.name not in command.LANE_STALLS), \
    "each register that is always there has an address"
