"""What comes before and behind the phases of an outer product: its job from memory, and the table of its rows to memory."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.dma import ADDRESS_BITS, ELEMENT_BITS, SPAN_BITS
from ...arch.outer_product import JOB, OuterProduct
from ...stream.lead import lead
from .lane_work import JOB_LAYOUT, READ, Question, ask_for_words, work_members


def fill_members(kind: OuterProduct) -> dict[str, wiring.Member]:
    """Of what fills the memory of a core, if there is one: words of memory from `base` on, from `fills` to `filled`."""
    return {"fills": In(1), "base": In(ADDRESS_BITS), "words": In(SPAN_BITS), "filled": Out(1),
            "ram": Out(stream.Signature(ELEMENT_BITS))} if kind.ram_bytes else {}


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
    job : In          With commands, in place of these two.
    fills, base, words, filled, ram       As of `fill_members`, before `goes`.

    Timing: a word a cycle, of the table one in four.
    Source: a design of its own.
    """

    def __init__(self, kind: OuterProduct) -> None:
        self.kind, self.module_name = kind, f"{kind.name.lower()}_frame"
        members = {name: member for name, member in work_members(kind).items() if name not in ("memory", "job", "error")}
        own = {"job": In(JOB_LAYOUT), **fill_members(kind)} if kind.queue else {"given": Out(JOB_LAYOUT), "known": Out(1)}
        super().__init__({**members, **own})

    @property
    def emit_key(self) -> OuterProduct:
        return self.kind

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        question, job = Question(m, self), self.job if self.kind.queue else self.given
        words = Signal(JOB_LAYOUT.size)
        row = Signal(ADDRESS_BITS)
        node = Signal(ELEMENT_BITS)
        with m.FSM():
            if not self.kind.queue:
                m.d.comb += job.eq(words)
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
                if self.kind.ram_bytes:
                    with m.If(self.fills):
                        ask_for_words(m, self.request, self.base, self.words)
                        with m.If(self.request.ready):
                            m.next = "FILL"
            if self.kind.ram_bytes:
                with m.State("FILL"):
                    lead(m, self.load, self.ram)
                    with m.If(self.ended):
                        m.d.comb += self.filled.eq(1)
                        m.next = "KNOWN"
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
