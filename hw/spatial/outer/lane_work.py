"""What a lane of an outer product has around it, whatever it does: a request port, a memory, and the ledger of rows."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.dma import ADDRESS_BITS, ELEMENT_BITS
from ...arch.outer_product import ERRORS, LOOPS, MERGE, MULTIPLY, VALUE_BITS, WORD_BYTES, OuterProduct
from ...arch.token import DATA_BITS
from ...dma.request import request_layout
from ...memory.sram import SramPort

ERROR_BITS = (len(ERRORS) - 1).bit_length()
# What is asked of the ledger: the next number; `value` bytes of memory; to make `value` the first node of a row, for which
# the one before is the answer; the first node of a row.
NEXT, ALLOCATE, EXCHANGE, READ = range(4)
# With nodes that runs fill up: room for `value` pairs, or some of them, in the first node of the row, or in a new one.
APPEND = 4
ASK = data.StructLayout({"kind": 2, "row": DATA_BITS, "value": ADDRESS_BITS})
USED_BITS = 16      # of pairs in a node
# A pair in a lane's memory, in lanes of 16 bits.
PAIR = data.StructLayout({"value": VALUE_BITS, "coordinate": DATA_BITS})
PAIR_LANES = PAIR.size // DATA_BITS


def job_layout(kind: OuterProduct) -> data.StructLayout:
    """The words of a job."""
    return data.StructLayout(dict.fromkeys(kind.job, ADDRESS_BITS))


def ask_layout(kind: OuterProduct) -> data.StructLayout:
    """A question."""
    return data.StructLayout({**ASK.members, "kind": 3}) if kind.node else ASK


def node_members(kind: OuterProduct, flow: Any) -> dict[str, wiring.Member]:
    """What an answer says of the first node of a row, if runs fill nodes: whether it is `fresh`, with the address of the one
    `previous` to it; how many pairs it has, `used`."""
    return {"fresh": flow(1), "previous": flow(ADDRESS_BITS), "used": flow(USED_BITS)} if kind.node else {}


def port_members() -> dict[str, wiring.Member]:
    """A request port of a DMA, from the side of its user."""
    elements = stream.Signature(ELEMENT_BITS)
    return {"request": Out(stream.Signature(request_layout(LOOPS))), "load": In(elements), "store": Out(elements),
            "ended": In(1)}


def work_members(kind: OuterProduct) -> dict[str, wiring.Member]:
    """Of what a lane does: `goes` while it is its turn, `idle` when all is done; `answered` with an `answer` of the ledger."""
    return {**port_members(), "ask": Out(stream.Signature(ask_layout(kind))), "answered": In(1), "answer": In(ADDRESS_BITS),
            "memory": Out(SramPort(kind.pairs, PAIR_LANES)), "job": In(job_layout(kind)), "goes": In(1), "idle": Out(1),
            "error": Out(ERROR_BITS)}


class LaneWork(wiring.Component):
    """What a lane does in a phase, with `work_members`: it takes one number after the other.

    Parameters
    ----------
    kind : OuterProduct

    Members
    -------
    As of `work_members`, and what it needs of `node_members`; `lane : In`, its own number, if it does not take the next one;
    `run_late : Out(1)`, where it merges, if waits are counted: one of two runs has no element.
    """

    phase = ""
    needs: tuple[str, ...] = ()     # of `node_members`

    def __init__(self, kind: OuterProduct) -> None:
        self.kind, self.module_name = kind, f"{kind.name.lower()}_{self.phase}"
        self.takes = kind.takes_columns if self.phase == MULTIPLY else kind.takes_rows
        answers = node_members(kind, In)
        waits = {"run_late": Out(1)} if kind.counters and self.phase == MERGE else {}
        super().__init__({**work_members(kind), **waits, **({} if self.takes else {"lane": In(range(kind.lanes))}),
                          **{name: answers[name] for name in self.needs if name in answers}})

    @property
    def emit_key(self) -> OuterProduct:
        return self.kind


class PairsIn:
    """Pairs of words that come from memory, a part of a component with `load`."""

    def __init__(self, m: Module, load: Any) -> None:
        self.coordinate = Signal(DATA_BITS, name="coordinate", reset_less=True)
        self.value = load.payload
        self._second = Signal(name="second")
        self.whole = Signal(name="whole_pair")      # the second word is there
        m.d.comb += self.whole.eq(self._second & load.valid)
        with m.If(load.valid & load.ready):
            m.d.sync += self._second.eq(~self._second)
            with m.If(~self._second):
                m.d.sync += self.coordinate.eq(load.payload[:DATA_BITS])


class Question:
    """What a component with `work_members` asks of the ledger, one question at a time."""

    def __init__(self, m: Module, work: Any) -> None:
        self._work, self._asked = work, Signal(name="asked")
        with m.If(work.ask.valid & work.ask.ready):
            m.d.sync += self._asked.eq(1)
        with m.If(work.answered):
            m.d.sync += self._asked.eq(0)

    def ask(self, m: Module, kind: int, row: Any = 0, value: Any = 0) -> None:
        """Ask, in a state that ends when it is answered."""
        payload = self._work.ask.payload
        m.d.comb += [self._work.ask.valid.eq(~self._asked), payload.kind.eq(kind), payload.row.eq(row), payload.value.eq(value)]

    def next(self, m: Module, number: Signal, then: str) -> None:
        """The state in which a lane waits for its turn and asks for the next number, and the one behind it.

        With lanes that have numbers of their own nothing is asked."""
        work = self._work
        with m.State("NEXT"):
            if work.takes:
                with m.If(work.goes):
                    self.ask(m, NEXT)
                with m.If(work.answered):
                    m.d.sync += number.eq(work.answer)
                    m.next = then
            else:
                begun = Signal(name="begun")
                with m.If(work.goes):
                    m.d.sync += [begun.eq(1), number.eq(Mux(begun, number + work.kind.lanes, work.lane))]
                    m.next = then


def ask_for_words(m: Module, request: Any, address: Any, count: Any, stores: int = 0) -> None:
    """A request for words that lie one behind the other; of one time so many."""
    payload = request.payload
    m.d.comb += [request.valid.eq(1), payload.base.eq(address), payload.size.eq(WORD_BYTES.bit_length() - 1),
                 payload.stores.eq(stores), payload.loops[0].span.eq(count), payload.loops[0].there.eq(count),
                 payload.loops[0].stride.eq(WORD_BYTES), payload.loops[1].span.eq(1), payload.loops[1].there.eq(1)]
