"""Commands from a RISC-V core: instructions of custom-3, at PicoRV32's coprocessor port."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch import command
from ...emit import macro
from ...stream.lead import lead
from .waiting import TOLD, Waiting
from .word import WORD, command_word, status_members

# The port, from the side of the coprocessor.
PCPI = {"pcpi_valid": In(1), "pcpi_insn": In(32), "pcpi_rs1": In(32), "pcpi_rs2": In(32), "pcpi_wr": Out(1), "pcpi_rd": Out(32),
        "pcpi_wait": Out(1), "pcpi_ready": Out(1)}


class Coprocessor(wiring.Component):
    """Takes the instructions that are commands, and gives them to the queue.

    Behaviour: every instruction gives the register `status` of before it. The core waits while the queue is full, and for
    nothing else; `READ_STATUS` and `CLEAR` go past the queue, and where there is a watchdog `READ_GIVEN_UP`, with counters
    those from `READ_STALL` on, which give these registers. Other instructions are left to others.

    Parameters
    ----------
    depth : int         Commands that wait.
    watchdog : bool     The core has one.
    stalls : tuple      It counts why streams or lanes wait: these.

    Members
    -------
    pcpi_* : the port.
    first : In(stream)  `WORD`, commands that go before those of the core.
    o : Out(stream)     `WORD`.
    state : Out(32)     The register `status`.
    clear : Out(1); error, refused, busy, ended, given_up, operand_late, ... : In      See `Core`.

    Timing: an instruction takes a cycle here, and what the core takes for it.
    Source: Stellar V (custom instructions); PicoRV32's documentation of the port.
    """

    def __init__(self, depth: int, watchdog: bool = False, stalls: tuple[str, ...] = ()) -> None:
        self.depth, self.watchdog, self.stalls = depth, watchdog, stalls
        words = stream.Signature(WORD)
        super().__init__({**PCPI, "first": In(words), "o": Out(words), "state": Out(32),
                          **{name: member.flip() for name, member in status_members(watchdog, stalls).items()}})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.waiting = waiting = macro(Waiting(self.depth, self.watchdog))
        lead(m, waiting.o, self.o)
        m.d.comb += [*(getattr(waiting, name).eq(getattr(self, name)) for name in TOLD),
                     self.state.eq(waiting.state)]
        number = self.pcpi_insn[25:]
        mine = Signal()
        past = Signal()
        goes = Signal()
        done = Signal()
        m.d.comb += [
            mine.eq(self.pcpi_valid & (self.pcpi_insn[:7] == command.OPCODE) & (self.pcpi_insn[12:15] == 0)),
            past.eq((number == command.READ_STATUS) | (number == command.CLEAR)),
            goes.eq(mine & ~done), self.clear.eq(goes & (number == command.CLEAR)),
            # The core would take an instruction for illegal that nobody answers in 16 cycles.
            self.pcpi_wait.eq(mine), self.pcpi_ready.eq(done), self.pcpi_wr.eq(done),
        ]
        with m.If(self.first.valid):
            lead(m, self.first, waiting.i)
        with m.Else():
            m.d.comb += [waiting.i.payload.as_value().eq(command_word(self.pcpi_rs1, self.pcpi_rs2, number)),
                         waiting.i.valid.eq(goes & ~past)]
        m.d.sync += done.eq(goes & (past | (waiting.i.ready & ~self.first.valid)))
        with m.If(goes):
            m.d.sync += self.pcpi_rd.eq(waiting.state)
        if self.watchdog:
            with m.If(number == command.READ_GIVEN_UP):
                m.d.comb += past.eq(1)
                with m.If(goes):
                    m.d.sync += self.pcpi_rd.eq(self.given_up)
        for nth, name in enumerate(self.stalls):
            with m.If(number == command.READ_STALL + nth):
                m.d.comb += past.eq(1)
                with m.If(goes):
                    m.d.sync += self.pcpi_rd.eq(getattr(self, name))
        return m
