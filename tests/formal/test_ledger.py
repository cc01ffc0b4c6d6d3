"""The ledger that lanes of an outer product share answers each question once, to who asked, and gives nothing twice."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data
from prover import Harness, Verdict, always, assume, cover, free, prove, reachable

from sardonyx.hw.arch.outer_product import OuterProduct
from sardonyx.hw.emit import macro
from sardonyx.hw.spatial.outer.lane_work import ALLOCATE, APPEND, ASK, EXCHANGE, NEXT, USED_BITS, ask_layout
from sardonyx.hw.spatial.outer.ledger import Ledger

KIND = OuterProduct("outer", lanes=2, ports=1, rows=16, pairs=16)
NODES = replace(KIND, node=4)
WORD = 32


class Asked(Harness):
    """Any questions of two lanes about rows that there are, whenever they come; one row is followed."""

    def __init__(self) -> None:
        super().__init__({"number": ("ledger.number", WORD), "unused": ("ledger.unused", WORD),
                          "empty": ("ledger.empty", KIND.rows.bit_length()), "state": ("ledger.fsm_state", 2),
                          "word": ("ledger.sram.word", WORD), "question": ("ledger.question", ASK.size),
                          "lane": ("ledger.lane", 1)}
                         | {f"row{n}": (f"ledger.sram.memory[{n}]", WORD) for n in range(KIND.rows)})

    def build(self, m: Module) -> None:
        m.submodules.ledger = ledger = macro(Ledger(KIND))
        probe: Any = self
        question: Any = Signal(ASK)
        asks = [getattr(ledger, f"i{n}") for n in range(KIND.lanes)]
        begun, grows = free(m, WORD, "begun"), free(m, 1, "starts")
        again, limit = free(m, 1, "again"), free(m, WORD, "limit")
        m.d.comb += [ledger.free.eq(begun), ledger.starts.eq(grows), ledger.again.eq(again), ledger.limit.eq(limit)]
        taken = []
        for n, ask in enumerate(asks):
            m.d.comb += [ask.valid.eq(free(m, 1, f"asks{n}")), ask.payload.as_value().eq(free(m, ASK.size, f"question{n}"))]
            assume(m, f"lane {n} asks of a row that there is", ask.payload.row < KIND.rows)
            taken.append(ask.valid & ask.ready)
        lane, pending = Signal(), Signal()
        m.d.sync += pending.eq(Cat(taken).any())
        for n, ask in enumerate(asks):
            with m.If(taken[n]):
                m.d.sync += [question.eq(ask.payload), lane.eq(n)]
        which = free(m, range(KIND.rows), "which", constant=True)
        number, allocated, first = Signal(WORD), Signal(WORD), Signal(WORD)
        mine = pending & (question.row == which)
        with m.If(pending & (question.kind == NEXT)):
            m.d.sync += number.eq(number + 1)
        with m.If(again):
            m.d.sync += number.eq(0)
        with m.If(pending & (question.kind == ALLOCATE)):
            m.d.sync += allocated.eq(allocated + question.value)
        with m.If(grows):
            m.d.sync += allocated.eq(begun)
        with m.If(mine & (question.kind == EXCHANGE)):
            m.d.sync += first.eq(question.value)
        always(m, "a question is answered in the next cycle, to who asked", ledger.answered == Mux(pending, 1 << lane, 0))
        always(m, "one is taken at a time", ~(taken[0] & taken[1]))
        always(m, "numbers follow each other", ~(pending & (question.kind == NEXT)) | (ledger.answer == number))
        always(m, "memory is given once", ~(pending & (question.kind == ALLOCATE)) | (ledger.answer == allocated))
        always(m, "a row has the node that was made its first one, or none",
               ~(mine & (question.kind >= EXCHANGE)) | (ledger.answer == first))
        self._inside(m, probe, pending, question, lane, number, allocated, first, which, ledger.ready)
        reachable(m, "a node takes the place of another one", mine & (question.kind == EXCHANGE) & (first != 0))

    def _inside(self, m: Module, probe: Any, pending: Signal, question: Any, lane: Signal, number: Signal, allocated: Signal,
                first: Signal, which: Signal, ready: Any) -> None:
        """What registers say, for induction."""
        rows = Array(getattr(probe, f"row{n}") for n in range(KIND.rows))
        kept: Any = data.View(ASK, probe.question)
        always(m, "rows are made empty one after the other", (probe.empty <= KIND.rows) & (ready == (probe.empty == KIND.rows)))
        always(m, "states are three", probe.state <= 2)
        always(m, "what was taken is answered", (probe.state == 2) == pending)
        always(m, "questions come when all are empty", (probe.state == 0) | ready)
        always(m, "the question is kept", ~pending | ((kept.as_value() == question.as_value()) & (probe.lane == lane)))
        always(m, "it is of a row that there is", ~pending | (question.row < KIND.rows))
        always(m, "numbers are counted", (probe.number == number) & (probe.unused == allocated))
        always(m, "the row followed is stored", Mux(which < probe.empty, rows[which] == first, first == 0))
        always(m, "what was read is the row", ~(pending & (question.kind >= EXCHANGE) & (question.row == which))
               | (probe.word == first))


class Appended(Harness):
    """Any questions of two lanes, where runs fill up nodes; one row is followed."""

    def __init__(self) -> None:
        ask = ask_layout(NODES).size
        super().__init__({"unused": ("ledger.unused", WORD), "empty": ("ledger.empty", NODES.rows.bit_length()),
                          "state": ("ledger.fsm_state", 2), "word": ("ledger.sram.word", WORD + USED_BITS),
                          "question": ("ledger.question", ask), "lane": ("ledger.lane", 1)}
                         | {f"row{n}": (f"ledger.sram.memory[{n}]", WORD + USED_BITS) for n in range(NODES.rows)})

    def build(self, m: Module) -> None:
        m.submodules.ledger = ledger = macro(Ledger(NODES))
        probe: Any = self
        question: Any = Signal(ask_layout(NODES))
        taken, lane, pending = [], Signal(), Signal()
        m.d.comb += ledger.limit.eq(free(m, WORD, "limit"))
        for n in range(NODES.lanes):
            ask = getattr(ledger, f"i{n}")
            m.d.comb += [ask.valid.eq(free(m, 1, f"asks{n}")),
                         ask.payload.as_value().eq(free(m, ask_layout(NODES).size, f"question{n}"))]
            assume(m, f"lane {n} asks of a row that there is", (ask.payload.row < NODES.rows) & (ask.payload.kind <= APPEND))
            assume(m, f"lane {n} has no more pairs than its memory, of which one goes at least",
                   (ask.payload.kind != APPEND) | ((ask.payload.value > 0) & (ask.payload.value <= NODES.pairs)))
            assume(m, f"nodes that lane {n} makes the first one are somewhere",
                   (ask.payload.kind != EXCHANGE) | (ask.payload.value != 0))
            taken.append(ask.valid & ask.ready)
            with m.If(taken[n]):
                m.d.sync += [question.eq(ask.payload), lane.eq(n)]
        m.d.sync += pending.eq(Cat(taken).any())
        which = free(m, range(NODES.rows), "which", constant=True)
        allocated, first, used = Signal(WORD), Signal(WORD), Signal(USED_BITS)
        mine = pending & (question.row == which)
        appends = mine & (question.kind == APPEND)
        full = (first == 0) | (used == NODES.node)
        with m.If(pending & (question.kind == ALLOCATE)):
            m.d.sync += allocated.eq(allocated + question.value)
        with m.If(pending & (question.kind == APPEND) & ledger.fresh):
            m.d.sync += allocated.eq(allocated + NODES.node_bytes(NODES.node))
        with m.If(mine & (question.kind == EXCHANGE)):
            m.d.sync += [first.eq(question.value), used.eq(0)]
        with m.If(appends):
            sums = Mux(full, 0, used) + question.value
            m.d.sync += [used.eq(Mux(sums > NODES.node, NODES.node, sums)), first.eq(Mux(full, allocated, first))]
        always(m, "a question is answered in the next cycle, to who asked", ledger.answered == Mux(pending, 1 << lane, 0))
        always(m, "a node is new if and only if there is none, or it is full", ~appends | (ledger.fresh == full))
        always(m, "memory of new nodes is given once", ~appends | (ledger.answer == Mux(full, allocated, first)))
        always(m, "who opens a node is told which one it follows", ~appends | (ledger.previous == first))
        always(m, "room in a node is given once", ~(mine & (question.kind >= EXCHANGE)) | (ledger.used == used))
        rows = Array(getattr(probe, f"row{n}") for n in range(NODES.rows))
        followed = Cat(first, used)
        kept: Any = data.View(ask_layout(NODES), probe.question)
        always(m, "a node has no more pairs than it has room for", used <= NODES.node)
        always(m, "rows are made empty one after the other",
               (probe.empty <= NODES.rows) & (ledger.ready == (probe.empty == NODES.rows)))
        always(m, "what was taken is answered, of what is ready",
               (probe.state <= 2) & ((probe.state == 2) == pending) & ((probe.state == 0) | ledger.ready))
        always(m, "the question is kept", ~pending | ((kept.as_value() == question.as_value()) & (probe.lane == lane)))
        always(m, "it is one that lanes ask", ~pending | ((question.row < NODES.rows) & (question.kind <= APPEND)))
        always(m, "so many pairs", ~(pending & (question.kind == APPEND)) | (question.value <= NODES.pairs))
        always(m, "memory is counted", probe.unused == allocated)
        always(m, "the row followed is stored", Mux(which < probe.empty, rows[which] == followed, followed == 0))
        always(m, "what was read is the row", ~(mine & (question.kind >= EXCHANGE)) | (probe.word == followed))
        reachable(m, "a node gets full, and another one follows", appends & full & (first != 0))


def test_room_in_nodes_that_runs_fill_up_is_given_once(tmp_path: Path) -> None:
    assert prove(Appended(), tmp_path) == Verdict(True)


def test_a_node_that_is_full_is_followed(tmp_path: Path) -> None:
    assert cover(Appended(), tmp_path, NODES.rows + 8)


def test_a_ledger_answers_each_lane_once_and_gives_nothing_twice(tmp_path: Path) -> None:
    assert prove(Asked(), tmp_path) == Verdict(True)


def test_nodes_can_be_exchanged(tmp_path: Path) -> None:
    assert cover(Asked(), tmp_path, KIND.rows + 6)
