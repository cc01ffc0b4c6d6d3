"""Commands that wait in front of an accelerator, and its status."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch import command
from ...arch.soc import named
from ...emit import macro
from ...stream.fifo import Fifo
from ...stream.lead import lead
from .word import WORD, status_members

# What of a core's status is in the registers here.
TOLD = ("error", "refused", "busy", "ended")


class Waiting(wiring.Component):
    """The queue of commands, whichever way they come, and the registers that say how it is.

    Parameters
    ----------
    depth : int         Commands that wait.
    watchdog : bool     The core has one.

    Members
    -------
    i : In(stream), o : Out(stream)      `WORD`.
    error, refused, busy, ended : In     Of `Core`.
    state, cycles, ended_all : Out(32)   The registers `status`, `cycles` and `ended`.

    Timing: a command leaves in the cycle after it came.
    Source: Stellar V.
    """

    def __init__(self, depth: int, watchdog: bool = False) -> None:
        self.depth, self.watchdog = depth, watchdog
        words = stream.Signature(WORD)
        status = {name: member.flip() for name, member in status_members(watchdog).items() if name in TOLD}
        super().__init__({"i": In(words), "o": Out(words), **status, "state": Out(32), "cycles": Out(32), "ended_all": Out(32)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.queue = queue = macro(Fifo(WORD, self.depth))
        lead(m, self.i, queue.i)
        lead(m, queue.o, self.o)
        held = Signal(range(self.depth + 1))
        busy = Signal()
        status = named(command.REGISTERS)["status"]
        m.d.comb += [
            busy.eq(self.busy | queue.o.valid),
            *(self.state[status.bits(name)].eq(value) for name, value in (
                ("busy", busy), ("full", ~queue.i.ready), ("empty", ~queue.o.valid), ("room", self.depth - held),
                ("error", self.error), ("refused", self.refused)))]
        m.d.sync += [held.eq(held + (queue.i.valid & queue.i.ready) - (queue.o.valid & queue.o.ready)),
                     self.cycles.eq(self.cycles + busy), self.ended_all.eq(self.ended_all + self.ended)]
        return m
