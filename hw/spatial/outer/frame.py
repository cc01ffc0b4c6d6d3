"""What comes before and behind the phases of an outer product: its job from memory, and the table of its rows to memory."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from ...arch.dma import ADDRESS_BITS, ELEMENT_BITS
from ...arch.outer_product import JOB, OuterProduct
from .lane_work import JOB_LAYOUT, READ, Question, ask_for_words, work_members


class OuterFrame(wiring.Component):
    """Reads the job at address 0, and writes the first node of each row when `goes` says so.

    Parameters
    ----------
    kind : OuterProduct

    Members
    -------
    As of `work_members`, without memory and job; `idle` when the table is written.
    given : Out       The job.
    known : Out(1)    It is complete.

    Timing: a word a cycle, of the table one in four.
    Source: a design of its own.
    """

    def __init__(self, kind: OuterProduct) -> None:
        self.kind, self.module_name = kind, f"{kind.name.lower()}_frame"
        members = {name: member for name, member in work_members(kind).items() if name not in ("memory", "job", "error")}
        super().__init__({**members, "given": Out(JOB_LAYOUT), "known": Out(1)})

    @property
    def emit_key(self) -> OuterProduct:
        return self.kind

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        question, job = Question(m, self), self.given
        words = Signal(JOB_LAYOUT.size)
        row = Signal(ADDRESS_BITS)
        node = Signal(ELEMENT_BITS)
        m.d.comb += job.eq(words)
        with m.FSM():
            with m.State("ASK"):
                ask_for_words(m, self.request, 0, len(JOB))
                with m.If(self.request.ready):
                    m.next = "JOB"
            with m.State("JOB"):
                m.d.comb += self.load.ready.eq(1)
                with m.If(self.load.valid):
                    m.d.sync += words.eq(Cat(words[ELEMENT_BITS:], self.load.payload))
                with m.If(self.ended):
                    m.d.sync += self.known.eq(1)
                    m.next = "KNOWN"
            with m.State("KNOWN"):
                with m.If(self.goes):
                    ask_for_words(m, self.request, job.table, job.height, stores=1)
                with m.If(self.goes & self.request.ready):
                    m.next = "READ"
            with m.State("READ"):
                question.ask(m, READ, row)
                with m.If(self.answered):
                    m.d.sync += node.eq(self.answer)
                    m.next = "WRITE"
            with m.State("WRITE"):
                m.d.comb += [self.store.payload.eq(node), self.store.valid.eq(1)]
                with m.If(self.store.ready):
                    m.d.sync += row.eq(row + 1)
                    m.next = "READ"
                    with m.If(row + 1 == job.height):
                        m.next = "STORED"
            with m.State("STORED"):
                with m.If(self.ended):
                    m.next = "DONE"
            with m.State("DONE"):
                m.d.comb += self.idle.eq(1)
        return m
