"""A machine behind a serial line: what is the same on every board, and what a simulation of a board has."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..hw.arch.cgra import Arch
from ..hw.emit import macro
from ..hw.soc.shell import bus_members
from ..hw.soc.top import Sardonyx
from ..hw.soc.uart import Receiver, Transmitter
from .bridge import Bridge


class SerialMachine(wiring.Component):
    """The module ``serial_machine``: line, bridge and machine.

    Parameters
    ----------
    arch : Arch
    divisor : int      Cycles a bit of the line: clock / baud rate, 4 or more.
    patience : int     As of `Bridge`.

    Members
    -------
    rx : In(1)         Line from the host.
    tx : Out(1)        Line to the host, from a register.
    irq : Out(1)       Interrupt of the machine, for a light.

    Timing: one clock, synchronous reset, active high.
    """

    module_name = "serial_machine"

    def __init__(self, arch: Arch, divisor: int, patience: int) -> None:
        self.arch, self.divisor, self.patience = arch, divisor, patience
        super().__init__({"rx": In(1, init=1), "tx": Out(1, init=1), "irq": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.receiver = receiver = macro(Receiver(self.divisor))
        m.submodules.transmitter = transmitter = macro(Transmitter(self.divisor))
        m.submodules.bridge = bridge = macro(Bridge(self.patience))
        m.submodules.machine = machine = macro(Sardonyx(self.arch))
        m.d.comb += [receiver.pin.eq(self.rx), self.tx.eq(transmitter.pin),
                     self.irq.eq(machine.irq), bridge.irq.eq(machine.irq)]
        for source, sink in ((receiver.o, bridge.i), (bridge.o, transmitter.i)):
            m.d.comb += [sink.payload.eq(source.payload), sink.valid.eq(source.valid), source.ready.eq(sink.ready)]
        for name, member in bus_members(1).items():
            if name != "irq":
                master, slave = getattr(bridge, name), getattr(machine, name)
                m.d.comb += slave.eq(master) if member.flow is In else master.eq(slave)
        return m
