"""The multiply phase of a lane: columns of A times rows of B, or what else two elements give, become nodes of lists."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from ...arch.cartesian import LEFT, RIGHT
from ...arch.dma import ADDRESS_BITS, NODE_BYTES
from ...arch.outer_product import ASTRAY, PAIR_BYTES, WORD_BYTES
from ...arch.token import DATA_BITS
from ..element_logic import computed
from .lane_work import ALLOCATE, APPEND, EXCHANGE, PAIR, USED_BITS, LaneWork, PairsIn, Question, ask_for_words


class OuterMultiply(LaneWork):
    """Takes one number k after the other, and multiplies column k of A with row k of B.

    Behaviour: of a column (2, 5) (7, 3) and a row (0, 4) (9, 1) come a node (0, 20) (9, 5), the first of row 2 now, and a node
    (0, 12) (9, 3) behind it in memory, the first of row 7. A row or column that does not fit into half of the lane's memory
    comes in parts, each part of one with each of the other.

    Parameters
    ----------
    kind : OuterProduct

    Members
    -------
    As of `work_members`; `idle` when there are no more numbers.

    Timing: a word a cycle; three accesses of memory for both parts and one for all their nodes, one after the other.
    Source: OuterSPACE IV-A. Departure: the nodes of a column lie one behind the other, so that one request writes them all.
    """

    phase = "multiply"
    needs = ("fresh", "previous", "used")

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        half = self.kind.pairs // 2
        job: Any = self.job
        number = Signal(ADDRESS_BITS)
        bounds = Signal(4 * ADDRESS_BITS)       # of a column and of a row: begin and end, in pairs
        first, last, row, row_end = (bounds.word_select(n, ADDRESS_BITS) for n in range(4))
        column = Signal(ADDRESS_BITS)           # of the part of the column
        rows = Signal(range(half + 1))          # pairs of the part of the column
        terms = Signal(range(half + 1))         # and of the row
        at = Signal(range(self.kind.pairs))
        nth = Signal(range(half + 1))           # of the column
        node = Signal(ADDRESS_BITS)
        after = Signal(ADDRESS_BITS)            # the node that was the first of its row
        factor = Signal(self.kind.bits)
        pairs = PairsIn(m, self.load)
        word: Any = data.View(PAIR, self.memory.word)
        pitch = Signal(ADDRESS_BITS)
        question = Question(m, self)
        store, memory = self.store, self.memory
        m.d.comb += [pitch.eq(NODE_BYTES + PAIR_BYTES * terms), memory.address.eq(at), memory.enable.eq(1),
                     memory.data.eq(Cat(pairs.value, pairs.coordinate))]
        with m.FSM():
            question.next(m, number, "NUMBER")
            with m.State("NUMBER"):
                m.d.comb += self.idle.eq(number >= job.terms)
                with m.If(~self.idle):
                    # Where the column and the row begin and end, by one request.
                    ask_for_words(m, self.request, job.columns + (number << 2), 2)
                    loop = self.request.payload.loops[1]
                    m.d.comb += [loop.span.eq(2), loop.there.eq(2), loop.stride.eq(job.rows - job.columns)]
                    with m.If(self.request.ready):
                        m.next = "BOUNDS"
            with m.State("BOUNDS"):
                m.d.comb += self.load.ready.eq(1)
                with m.If(self.load.valid):
                    m.d.sync += bounds.eq(Cat(bounds[ADDRESS_BITS:], self.load.payload))
                with m.If(self.ended):
                    m.next = "ROW"
            with m.State("ROW"):
                m.d.sync += [terms.eq(Mux(row_end - row > half, half, row_end - row)), column.eq(first), at.eq(0)]
                with m.If((row == row_end) | (first == last)):
                    m.next = "NEXT"
                with m.Else():
                    m.next = "ASK ROW"
            with m.State("ASK ROW"):
                ask_for_words(m, self.request, job.right + (row << 3), terms << 1)
                with m.If(self.request.ready):
                    m.next = "TAKE ROW"
            with m.State("TAKE ROW"):
                self._take(m, pairs, at)
                with m.If(self.ended):
                    m.next = "COLUMN"
            with m.State("COLUMN"):
                m.d.sync += [rows.eq(Mux(last - column > half, half, last - column)), at.eq(half), nth.eq(0)]
                m.next = "ASK COLUMN"
            with m.State("ASK COLUMN"):
                ask_for_words(m, self.request, job.left + (column << 3), rows << 1)
                with m.If(self.request.ready):
                    m.next = "TAKE COLUMN"
            with m.State("TAKE COLUMN"):
                self._take(m, pairs, at)
                with m.If(self.ended):
                    m.next = "ALLOCATE"
            if self.kind.node:
                self._append(m, question, (rows, terms, at, nth, node, after, factor), (column, last, row))
                return m
            with m.State("ALLOCATE"):
                question.ask(m, ALLOCATE, value=rows * (terms + 1) << 3)
                with m.If(self.answered):
                    m.d.sync += [node.eq(self.answer), at.eq(half)]
                    m.next = "ASK NODES"
            with m.State("ASK NODES"):
                ask_for_words(m, self.request, node, (terms + 1) << 1, stores=1)
                loop = self.request.payload.loops[1]
                m.d.comb += [loop.span.eq(rows), loop.there.eq(rows), loop.stride.eq(pitch)]
                with m.If(self.request.ready):
                    m.next = "FACTOR"
            with m.State("FACTOR"):
                with m.If(word.coordinate >= job.height):
                    m.d.comb += self.error.eq(ASTRAY)
                with m.Else():
                    question.ask(m, EXCHANGE, word.coordinate, node)
                m.d.sync += factor.eq(word.value)
                with m.If(self.answered):
                    m.d.sync += [after.eq(self.answer), node.eq(node + pitch), nth.eq(nth + 1), at.eq(0)]
                    m.next = "LINK"
            with m.State("LINK"):
                m.d.comb += [store.payload.eq(after), store.valid.eq(1)]
                with m.If(store.ready):
                    m.next = "COUNT"
            with m.State("COUNT"):
                m.d.comb += [store.payload.eq(terms << 1), store.valid.eq(1)]
                with m.If(store.ready):
                    m.next = "COORDINATE"
            with m.State("COORDINATE"):
                m.d.comb += [store.payload.eq(word.coordinate), store.valid.eq(1)]
                with m.If(store.ready):
                    m.next = "PRODUCT"
            with m.State("PRODUCT"):
                m.d.comb += [store.payload.eq(self._value(factor, word)), store.valid.eq(1)]
                with m.If(store.ready):
                    # The next pair is read in this cycle.
                    m.d.comb += memory.address.eq(at + 1)
                    m.d.sync += at.eq(at + 1)
                    m.next = "COORDINATE"
                    with m.If(at + 1 == terms):
                        m.d.comb += memory.address.eq(half + nth)
                        m.d.sync += at.eq(half + nth)
                        m.next = "FACTOR"
                        with m.If(nth == rows):
                            m.next = "STORED"
            with m.State("STORED"):
                with m.If(self.ended):
                    m.d.sync += column.eq(column + rows)
                    m.next = "COLUMN"
                    with m.If(column + rows == last):
                        m.d.sync += row.eq(row + terms)
                        m.next = "ROW"
        return m

    def _append(self, m: Module, question: Question, part: tuple[Signal, ...], rest: tuple[Any, Any, Any]) -> None:
        """The row of B, times each element of the column, behind what is in the first node of its list, in one request each, or
        in more where nodes are full."""
        rows, terms, at, nth, node, after, factor = part
        column, last, row = rest
        half, size = self.kind.pairs // 2, self.kind.node
        word: Any = data.View(PAIR, self.memory.word)
        store = self.store
        place = Signal(DATA_BITS)               # of the element of the column
        done, stop = (Signal.like(terms, name=name) for name in ("done", "stop"))
        opens = Signal()                        # a node, whose head is written, too
        room = Signal(USED_BITS)
        begin = Signal(ADDRESS_BITS)
        m.d.comb += room.eq(size - Mux(self.fresh, 0, self.used))
        with m.State("ALLOCATE"):
            m.d.sync += at.eq(half)
            m.next = "ELEMENT"
        with m.State("ELEMENT"):
            m.d.sync += done.eq(0)
            m.next = "FACTOR"
        with m.State("FACTOR"):
            m.d.sync += [place.eq(word.coordinate), factor.eq(word.value)]
            with m.If(word.coordinate >= self.job.height):
                m.d.comb += self.error.eq(ASTRAY)
            with m.Else():
                m.next = "APPEND"
        with m.State("APPEND"):
            question.ask(m, APPEND, place, terms - done)
            with m.If(self.answered):
                m.d.sync += [node.eq(self.answer), after.eq(self.previous), opens.eq(self.fresh), at.eq(done),
                             begin.eq(self.answer + Mux(self.fresh, 0, NODE_BYTES + (self.used << 3))),
                             stop.eq(Mux(terms - done > room, done + room, terms))]
                m.next = "ASK NODE"
        with m.State("ASK NODE"):
            ask_for_words(m, self.request, begin, ((stop - done)[:len(terms)] << 1) + (opens << 1), stores=1)
            with m.If(self.request.ready):
                m.next = "COORDINATE"
                with m.If(opens):
                    m.next = "LINK"
        with m.State("LINK"):
            m.d.comb += [store.payload.eq(after), store.valid.eq(1)]
            with m.If(store.ready):
                m.next = "COUNT"
        with m.State("COUNT"):
            # Of the first node of a list the ledger knows how many there are; all others are full.
            m.d.comb += [store.payload.eq(2 * size), store.valid.eq(1)]
            with m.If(store.ready):
                m.next = "COORDINATE"
        with m.State("COORDINATE"):
            m.d.comb += [store.payload.eq(word.coordinate), store.valid.eq(1)]
            with m.If(store.ready):
                m.next = "PRODUCT"
        with m.State("PRODUCT"):
            m.d.comb += [store.payload.eq(self._value(factor, word)), store.valid.eq(1)]
            with m.If(store.ready):
                m.d.comb += self.memory.address.eq(at + 1)
                m.d.sync += at.eq(at + 1)
                m.next = "COORDINATE"
                with m.If(at + 1 == stop):
                    m.next = "STORED"
        with m.State("STORED"):
            with m.If(self.ended):
                m.d.sync += done.eq(stop)
                m.next = "APPEND"
                with m.If(stop == terms):
                    m.d.sync += [nth.eq(nth + 1), at.eq(half + nth + 1)]
                    m.next = "ELEMENT"
                    with m.If(nth + 1 == rows):
                        m.d.sync += column.eq(column + rows)
                        m.next = "COLUMN"
                        with m.If(column + rows == last):
                            m.d.sync += row.eq(row + terms)
                            m.next = "ROW"

    def _value(self, factor: Signal, word: Any) -> Value:
        """What an element of the column and one of the row give."""
        return computed(self.kind.value, {LEFT: factor.as_signed(), RIGHT: word.value[:self.kind.bits].as_signed()})

    def _take(self, m: Module, pairs: PairsIn, at: Signal) -> None:
        """Pairs into the lane's memory, from `at` on."""
        m.d.comb += self.load.ready.eq(1)
        with m.If(pairs.whole):
            m.d.comb += self.memory.write.eq(~0)
            m.d.sync += at.eq(at + 1)


assert WORD_BYTES == 4 and PAIR_BYTES == 8, "numbers of words and pairs are shifted by 2 and 3"
