"""The ledger that lanes of an outer product share answers each question once, to who asked, and gives nothing twice."""

from pathlib import Path
from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data
from prover import Harness, Verdict, always, assume, cover, free, prove, reachable

from sardonyx.hw.arch.outer_product import OuterProduct
from sardonyx.hw.emit import macro
from sardonyx.hw.spatial.outer.lane_work import ALLOCATE, ASK, EXCHANGE, NEXT
from sardonyx.hw.spatial.outer.ledger import Ledger

KIND = OuterProduct("outer", lanes=2, ports=1, rows=16, pairs=16)
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


def test_a_ledger_answers_each_lane_once_and_gives_nothing_twice(tmp_path: Path) -> None:
    assert prove(Asked(), tmp_path) == Verdict(True)


def test_nodes_can_be_exchanged(tmp_path: Path) -> None:
    assert cover(Asked(), tmp_path, KIND.rows + 6)
