"""What comes before and behind the phases of an outer product: its job from memory, and tables of rows from it and to it."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.dma import ADDRESS_BITS, ELEMENT_BITS, SPAN_BITS
from ...arch.outer_product import MERGE, OuterProduct
from ...stream.lead import lead
from .lane_work import EXCHANGE, READ, Question, ask_for_words, job_layout, work_members


def fill_members(kind: OuterProduct) -> dict[str, wiring.Member]:
    """Of what fills the memory of a core, if there is one: words of memory from `base` on, from `fills` to `filled`."""
    return {"fills": In(1), "base": In(ADDRESS_BITS), "words": In(SPAN_BITS), "filled": Out(1),
            "ram": Out(stream.Signature(ELEMENT_BITS))} if kind.ram_bytes else {}


class OuterFrame(wiring.Component):
    """Reads the job at address 0, and writes the first node of each row when `goes` says so.

    Behaviour: where nothing is multiplied it gives the ledger the first nodes that stand in memory before the job is `known`.

    Parameters
    ----------
    kind : OuterProduct

    Members
    -------
    As of `work_members`, without memory and job; `idle` when the table is written.
    given : Out       The job.
    known : Out(1)    It is complete.
    job : In          With commands, in place of these two.
    begins : In(1)    With commands, where nothing is multiplied: the job is there, and stays; `known` follows when lists are.
    fills, base, words, filled, ram       As of `fill_members`, before `goes`.

    Timing: a word a cycle, of the table one in four.
    Source: a design of its own.
    """

    def __init__(self, kind: OuterProduct) -> None:
        self.kind, self.module_name = kind, f"{kind.name.lower()}_frame"
        members = {name: member for name, member in work_members(kind).items() if name not in ("memory", "job", "error")}
        own = ({"job": In(job_layout(kind)), **fill_members(kind)} if kind.queue
               else {"given": Out(job_layout(kind)), "known": Out(1)})
        if kind.queue and kind.phases == MERGE:
            own |= {"begins": In(1), "known": Out(1)}
        super().__init__({**members, **own})

    @property
    def emit_key(self) -> OuterProduct:
        return self.kind

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        question, job = Question(m, self), self.job if self.kind.queue else self.given
        words = Signal(job_layout(self.kind).size)
        row = Signal(ADDRESS_BITS)
        node = Signal(ELEMENT_BITS)
        with m.FSM(init="KNOWN" if self.kind.queue else "ASK"):
            if not self.kind.queue:
                m.d.comb += job.eq(words)
                with m.State("ASK"):
                    ask_for_words(m, self.request, 0, len(self.kind.job))
                    with m.If(self.request.ready):
                        m.next = "JOB"
                with m.State("JOB"):
                    m.d.comb += self.load.ready.eq(1)
                    with m.If(self.load.valid):
                        m.d.sync += words.eq(Cat(words[ELEMENT_BITS:], self.load.payload))
                    with m.If(self.ended):
                        if self.kind.phases == MERGE:
                            m.next = "ASK LISTS"
                        else:
                            m.d.sync += self.known.eq(1)
                            m.next = "KNOWN"
            if self.kind.phases == MERGE:
                self._lists(m, question, job, row, node)
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
                if self.kind.queue and self.kind.phases == MERGE:
                    with m.If(self.begins & ~self.known):
                        m.next = "ASK LISTS"
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

    def _lists(self, m: Module, question: Question, job: Any, row: Signal, node: Signal) -> None:
        """The first nodes that stand in memory, one after the other, to the ledger; then the job is known."""
        with m.State("ASK LISTS"):
            ask_for_words(m, self.request, job.lists, job.height)
            with m.If(job.height > self.kind.rows):
                # It is known at once, and refused.
                m.d.comb += self.request.valid.eq(0)
                m.d.sync += self.known.eq(1)
                m.next = "KNOWN"
            with m.Elif(self.request.ready):
                m.next = "LIST"
        with m.State("LIST"):
            m.d.comb += self.load.ready.eq(1)
            m.d.sync += node.eq(self.load.payload)
            with m.If(self.load.valid):
                m.next = "FIRST"
        with m.State("FIRST"):
            question.ask(m, EXCHANGE, row, node)
            with m.If(self.answered):
                m.d.sync += row.eq(row + 1)
                m.next = "LIST"
                with m.If(row + 1 == job.height):
                    m.d.sync += [row.eq(0), self.known.eq(1)]
                    m.next = "KNOWN"
