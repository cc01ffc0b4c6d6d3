"""The merge phase of a lane: the nodes of a list in memory become one sorted row there."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value, signed
from amaranth.lib import data

from ...arch.dma import ADDRESS_BITS, MOST_SPAN, NODE_BYTES, NODES_AXIS
from ...arch.outer_product import ROOM, RUNS, VALUE_BITS
from ...arch.reduction import NEUTRAL
from ...emit import macro
from ...stream.fifo import Fifo
from ..array.pe import applied
from .lane_work import ALLOCATE, EXCHANGE, PAIR, READ, USED_BITS, LaneWork, PairsIn, Question, ask_for_words
from .run_merge import RunMerge


class OuterMerge(LaneWork):
    """Takes one row after the other, reads its list, and writes the row as a node.

    Behaviour: what comes is cut into runs whose coordinates rise, in the lane's memory as a ring; of all runs the two oldest
    become one behind the last, until one is left. While half of the memory is full, or all runs are, the list waits for that.
    With (2, 1) (5, 1) | (0, 3) (5, 2) on a list (0, 3) (2, 1) (5, 3) is the row, or (5, 2) if the largest is asked for.

    Parameters
    ----------
    kind : OuterProduct

    Members
    -------
    As of `work_members`; `idle` when there are no more rows.

    Timing: a word of a list or row a cycle, and between both two to three cycles for each element and each time that the number
    of runs is halved.
    Source: OuterSPACE IV-B. Departure: two runs are merged at a time, so that long rows take n log n, and no n^2, cycles.
    """

    phase = "merge"
    needs = ("used",)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        half, at = self.kind.pairs // 2, range(self.kind.pairs)
        job: Any = self.job
        m.submodules.ends = ends = macro(Fifo(at, RUNS))        # where runs end, the oldest first
        m.submodules.merge = merge = macro(RunMerge(self.kind))
        question, pairs = Question(m, self), PairsIn(m, self.load)
        row = Signal(ADDRESS_BITS)
        first = Signal(ADDRESS_BITS)            # a node
        head = Signal(at)                       # where the oldest run begins
        tail = Signal(at)                       # what is free
        before = Signal.like(pairs.coordinate)
        opened = Signal()                       # the last run may go on
        over = Signal()                         # the list has ended
        runs = Signal(range(RUNS + 1))
        held = Signal(at)
        left = Signal(at)
        middle = Signal(at)
        end = Signal(at)
        counted = Signal(VALUE_BITS)
        word: Any = data.View(PAIR, self.memory.word)
        store, memory = self.store, self.memory
        left_out: Value = Const(0)
        if self.kind.node:
            # Behind the pairs of the first node there is room that no run has filled.
            used = Signal(USED_BITS)
            seen = Signal(range(self.kind.node + 1))
            left_out = (seen >= used) & (seen != self.kind.node)
            with m.If(pairs.whole & self.load.ready & (seen != self.kind.node)):
                m.d.sync += seen.eq(seen + 1)
        m.d.comb += [held.eq(tail - head), ends.i.payload.eq(tail), memory.address.eq(tail), memory.enable.eq(1),
                     counted.eq(self._counted(pairs.value)), memory.data.eq(Cat(counted, pairs.coordinate)),
                     merge.first.eq(head), merge.middle.eq(middle), merge.last.eq(end), merge.to.eq(tail)]
        if self.kind.counters:
            m.d.comb += self.run_late.eq(merge.late)
        with m.If(self.ended):
            m.d.sync += over.eq(1)
        m.d.sync += runs.eq(runs + (ends.i.valid & ends.i.ready) - (ends.o.valid & ends.o.ready))
        with m.FSM():
            question.next(m, row, "ROW")
            with m.State("ROW"):
                m.d.comb += self.idle.eq(row >= job.height)
                with m.If(~self.idle):
                    question.ask(m, READ, row)
                with m.If(self.answered):
                    m.d.sync += first.eq(self.answer)
                    if self.kind.node:
                        m.d.sync += [used.eq(self.used), seen.eq(0)]
                    m.next = "LIST"
                    with m.If(self.answer == 0):
                        m.next = "NEXT"
            with m.State("LIST"):
                ask_for_words(m, self.request, first, 1)
                nodes = self.request.payload.loops[NODES_AXIS]
                m.d.comb += [self.request.payload.linked.eq(1), nodes.span.eq(MOST_SPAN), nodes.there.eq(MOST_SPAN)]
                m.d.sync += [over.eq(0), head.eq(tail), opened.eq(0)]
                with m.If(self.request.ready):
                    m.next = "TAKE"
            with m.State("TAKE"):
                self._take(m, pairs, before, opened, ends, runs, held, over, left_out)
                with m.If(memory.write.any()):
                    m.d.sync += [tail.eq(tail + 1), before.eq(pairs.coordinate), opened.eq(1)]
            with m.State("RUNS"):
                with m.If(runs > 1):
                    m.d.comb += ends.o.ready.eq(1)
                    m.d.sync += middle.eq(ends.o.payload)
                    m.next = "SECOND"
                with m.Elif(over):
                    m.next = "ALLOCATE"
                with m.Elif(held == half):
                    m.d.comb += self.error.eq(ROOM)
                with m.Else():
                    m.next = "TAKE"
            with m.State("SECOND"):
                m.d.comb += ends.o.ready.eq(1)
                m.d.sync += end.eq(ends.o.payload)
                m.next = "START"
            with m.State("START"):
                m.d.comb += merge.start.eq(1)
                m.next = "MERGE"
            with m.State("MERGE"):
                self._lend(m, merge)
                m.d.comb += [ends.i.payload.eq(merge.behind), ends.i.valid.eq(merge.done)]
                with m.If(merge.done):
                    m.d.sync += [head.eq(end), tail.eq(merge.behind)]
                    m.next = "RUNS"
            with m.State("ALLOCATE"):
                # The one run that is left.
                m.d.comb += ends.o.ready.eq(1)
                question.ask(m, ALLOCATE, value=(held << 3) + NODE_BYTES)
                with m.If(self.answered):
                    m.d.sync += first.eq(self.answer)
                    m.next = "ASK"
            with m.State("ASK"):
                ask_for_words(m, self.request, first, (held << 1) + 2, stores=1)
                m.d.sync += [left.eq(head), over.eq(0)]
                with m.If(self.request.ready):
                    m.next = "LINK"
            with m.State("LINK"):
                m.d.comb += store.valid.eq(1)       # there is no next node
                with m.If(store.ready):
                    m.next = "COUNT"
            with m.State("COUNT"):
                m.d.comb += [store.payload.eq(held << 1), store.valid.eq(1), memory.address.eq(left)]
                with m.If(store.ready):
                    m.next = "COORDINATE"
                    with m.If(held == 0):
                        m.next = "STORED"
            with m.State("COORDINATE"):
                m.d.comb += [store.payload.eq(word.coordinate), store.valid.eq(1), memory.address.eq(left)]
                with m.If(store.ready):
                    m.next = "VALUE"
            with m.State("VALUE"):
                m.d.comb += [store.payload.eq(word.value), store.valid.eq(1), memory.address.eq(left)]
                with m.If(store.ready):
                    m.d.comb += memory.address.eq(left + 1)
                    m.d.sync += left.eq(left + 1)
                    m.next = "COORDINATE"
                    with m.If((left + 1)[:len(left)] == tail):
                        m.next = "STORED"
            with m.State("STORED"):
                with m.If(over):
                    m.next = "FIRST"
            with m.State("FIRST"):
                question.ask(m, EXCHANGE, row, first)
                with m.If(self.answered):
                    m.next = "NEXT"
        return m

    def _take(self, m: Module, pairs: PairsIn, before: Signal, opened: Signal, ends: Any, runs: Signal, held: Signal,
              over: Signal, left_out: Value) -> None:
        """Pairs into the ring; a run is closed where the next pair does not rise, where there is no room, and at the end."""
        rises = opened & (pairs.coordinate > before)
        full = (held == self.kind.pairs // 2) | (runs >= RUNS - 1)
        with m.If(full | over):
            # Of a list that has ended all has been taken.
            m.d.comb += ends.i.valid.eq(opened)
            m.d.sync += opened.eq(0)
            m.next = "RUNS"
        with m.Else():
            comes = pairs.whole & ~left_out if self.kind.node else pairs.whole
            m.d.comb += [self.load.ready.eq(1), ends.i.valid.eq(comes & opened & ~rises)]
            with m.If(comes):
                m.d.comb += self.memory.write.eq(~0)

    def _counted(self, value: Any) -> Value:
        """What comes, met by what the reduction begins with, unless that changes nothing."""
        if self.kind.reduction in NEUTRAL:
            return Value.cast(value)
        first = Const(self.kind.first, signed(VALUE_BITS))
        return applied(self.kind.reduction, [first, value.as_signed()])

    def _lend(self, m: Module, merge: Any) -> None:
        """The memory to what merges."""
        for name in ("enable", "address", "write", "data"):
            m.d.comb += getattr(self.memory, name).eq(getattr(merge.memory, name))
        m.d.comb += merge.memory.word.eq(self.memory.word)
