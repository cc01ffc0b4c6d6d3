"""What the lanes of an outer product share: the next number, free memory, and the first nodes of rows."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.dma import ADDRESS_BITS
from ...arch.outer_product import OuterProduct
from ...arch.token import DATA_BITS
from ...dma.turns import Turns
from ...emit import macro
from ...memory.sram import Sram
from ...stream.lead import lead
from .lane_work import ALLOCATE, APPEND, EXCHANGE, NEXT, USED_BITS, ask_layout, node_members


class Ledger(wiring.Component):
    """Answers the questions of lanes, one after the other (`lane_work`).

    Parameters
    ----------
    kind : OuterProduct

    Members
    -------
    i0, ... : In(stream)    `ASK`, of each lane.
    answered : Out          Of each lane: `answer` is for it.
    answer : Out(32), fresh, previous, used      As of `node_members`.
    free : In(32), limit : In(32)   Memory for nodes, from `free` on as of `starts`.
    starts : In(1)
    again : In(1)           Numbers begin with 0 again.
    ready : Out(1)          All rows are empty.
    full : Out(1)           Memory was asked for that there is not.

    Timing: an answer a cycle after its question, a question in two cycles; after reset a cycle for each row.
    Source: a design of its own.
    """

    def __init__(self, kind: OuterProduct) -> None:
        self.kind, self.module_name = kind, f"{kind.name.lower()}_ledger"
        address = ADDRESS_BITS
        asks = {f"i{n}": In(stream.Signature(ask_layout(kind))) for n in range(kind.lanes)}
        super().__init__({**asks, "answered": Out(kind.lanes), "answer": Out(address), **node_members(kind, Out),
                          "free": In(address), "limit": In(address), "starts": In(1), "again": In(1), "ready": Out(1),
                          "full": Out(1)})

    @property
    def emit_key(self) -> OuterProduct:
        return self.kind

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.turns = turns = macro(Turns(self.kind.lanes, ask_layout(self.kind), f"{self.kind.name.lower()}_turns"))
        packed = self.kind.node > 0
        m.submodules.sram = sram = macro(Sram(self.kind.rows, (ADDRESS_BITS + packed * USED_BITS) // DATA_BITS, DATA_BITS))
        for n in range(self.kind.lanes):
            lead(m, getattr(self, f"i{n}"), getattr(turns, f"i{n}"))
        number = Signal(ADDRESS_BITS)
        unused = Signal(ADDRESS_BITS)       # where memory for nodes goes on
        behind = Signal(ADDRESS_BITS + 1)
        empty = Signal(range(self.kind.rows + 1))
        question: Any = Signal(ask_layout(self.kind))
        lane = Signal.like(turns.o.payload.of)
        m.d.comb += [self.ready.eq(empty == self.kind.rows), behind.eq(unused + question.value), sram.data.eq(question.value)]
        if packed:
            m.d.comb += [self.previous.eq(sram.word[:ADDRESS_BITS]), self.used.eq(sram.word[ADDRESS_BITS:]),
                         self.fresh.eq((self.previous == 0) | (self.used == self.kind.node))]
        with m.FSM():
            with m.State("EMPTY"):
                with m.If(self.ready):
                    m.next = "ASKED"
                with m.Else():
                    m.d.comb += [sram.enable.eq(1), sram.write.eq(~0), sram.address.eq(empty), sram.data.eq(0)]
                    m.d.sync += empty.eq(empty + 1)
            with m.State("ASKED"):
                m.d.comb += [turns.o.ready.eq(1), sram.enable.eq(turns.o.valid), sram.address.eq(turns.o.payload.word.row)]
                m.d.sync += [question.eq(turns.o.payload.word), lane.eq(turns.o.payload.of)]
                with m.If(turns.o.valid):
                    m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += [self.answered.eq(1 << lane), self.answer.eq(sram.word[:ADDRESS_BITS]),
                             sram.address.eq(question.row)]
                with m.Switch(question.kind):
                    with m.Case(NEXT):
                        m.d.comb += self.answer.eq(number)
                        m.d.sync += number.eq(number + 1)
                    with m.Case(ALLOCATE):
                        m.d.comb += self.answer.eq(unused)
                        m.d.sync += unused.eq(behind)
                        with m.If(behind > self.limit):
                            m.d.sync += self.full.eq(1)
                    with m.Case(EXCHANGE):
                        m.d.comb += [sram.enable.eq(1), sram.write.eq(~0)]
                    if packed:
                        with m.Case(APPEND):
                            self._append(m, sram, question, unused)
                m.next = "ASKED"
        with m.If(self.again):
            m.d.sync += number.eq(0)
        with m.If(self.starts):
            m.d.sync += unused.eq(self.free)
        return m

    def _append(self, m: Module, sram: Any, question: Any, unused: Signal) -> None:
        """As many pairs as there is room for go behind those of the first node of a row; to a new node if that is full."""
        node = self.kind.node
        behind = Signal(ADDRESS_BITS + 1, name="behind_node")
        wanted = Signal(ADDRESS_BITS, name="wanted")
        m.d.comb += [
            wanted.eq(question.value + Mux(self.fresh, 0, self.used)),
            self.answer.eq(Mux(self.fresh, unused, self.previous)), behind.eq(unused + self.kind.node_bytes(node)),
            sram.enable.eq(1), sram.write.eq(~0), sram.data.eq(Cat(self.answer, Mux(wanted > node, node, wanted)))]
        with m.If(self.fresh):
            m.d.sync += unused.eq(behind)
            with m.If(behind > self.limit):
                m.d.sync += self.full.eq(1)
