"""Balance the rows of an elastic array: work that may move is done by whichever row is free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, Cat, Const, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from ...arch import elastic
from ...arch.elastic import AGE_BITS, AHEAD, IN_FLIGHT
from ...arch.reduction import ADD
from ...emit import macro
from ...stream.fifo import Fifo
from .elastic_pe import pair
from .pe import applied


class Balance(Component):
    """Stands in front of the PEs of all rows, and behind them.

    Behaviour: the work of a row in an operation are two items: one that stays, and one that may move to other rows. An item is
    a fiber in each lane. A row that is free takes the item of the oldest operation that is there: its own that stays, its own
    that may move, that of another row; an item that two rows want the owner takes. That is the bias of the row: which other
    row's coordinates it works at. The next item is chosen while the last pair of one passes. Words that PEs give are led back
    to their row, and the two of an operation added, or become what else the reduction makes of them. The items of a row are
    never begun more than `AHEAD` operations apart, so that their words have room.

    Parameters
    ----------
    kind : elastic.Balance

    Members
    -------
    f0_0, m0_0, ... : In(stream)    For each row and lane, a `pair`: what stays, and what may move.
    o0_0, ... : Out(stream)         For each row and lane, a `pair` for its PEs.
    p0_0, ... : In(stream)          For each row and PE with a result, a `pair`, a word for each item.
    c0_0, ... : Out(stream)         The same, a word for each operation.

    Timing: a pair in each lane a cycle, none between items of different streams; `f`, `m` to `o` combinational.
    Source: Stellar III-D and IV-E. Departure: fibers in streams know whether there is work, in place of units that watch
    register files, and which work is taken is decided when a row is free, not before.
    """

    def __init__(self, kind: elastic.Balance) -> None:
        self.kind, self.module_name = kind, f"balance_{kind.digest}"
        rows = range(len(kind.takers))
        ports = {f"{side}{row}_{lane}": (Out if side == "o" else In)(stream.Signature(pair(bits)))
                 for side in "fmo" for row in rows for lane, bits in enumerate(kind.lanes)}
        ports |= {f"{side}{row}_{nth}": (Out if side == "c" else In)(stream.Signature(pair(kind.bits)))
                  for side in "pc" for row in rows for nth in range(kind.results)}
        super().__init__(ports)

    @property
    def emit_key(self) -> elastic.Balance:
        return self.kind

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        rows = range(len(self.kind.takers))
        choices = [self.kind.choices(row) for row in rows]
        begun = {(side, row): Signal(AGE_BITS, name=f"begun_{side}{row}") for side in "fm" for row in rows}
        busy = [Signal(name=f"busy{row}") for row in rows]
        turn = [Signal(range(len(choices[row])), name=f"turn{row}") for row in rows]
        moving = {row: Cat(busy[by] & (turn[by] == choices[by].index(("m", row))) for by in self.kind.takers[row]).any()
                  for row in rows}
        told = self._results(m, choices)
        free = self._passed(m, choices, busy, turn)
        there: dict[tuple[str, int], Value] = {}
        for row in rows:
            stays, moves = begun["f", row], begun["m", row]
            there["f", row] = (getattr(self, f"f{row}_0").valid & ~(busy[row] & (turn[row] == 0))
                               & ((stays - moves)[:AGE_BITS] != AHEAD))
            there["m", row] = (getattr(self, f"m{row}_0").valid & ~moving[row] & ((moves - stays)[:AGE_BITS] != AHEAD)
                               & Cat(told["m", row, nth].ready for nth in range(self.kind.results)).all())
        wants = {}
        for row in rows:
            wants[row] = best, has = Signal(range(len(choices[row])), name=f"best{row}"), Signal(name=f"wants{row}")
            room = Cat(told["p", row, nth].ready for nth in range(self.kind.results)).all()
            found, any_there = self._oldest([there[each] for each in choices[row]], [begun[each] for each in choices[row]])
            m.d.comb += [best.eq(found), has.eq(free[row] & room & any_there)]
        granted: dict[int, Value] = {}
        taken: dict[tuple[str, int], list[Value]] = {each: [] for each in begun}
        for row in rows:
            best, has = wants[row]
            blocked: Value = Const(0)
            for at, (side, of) in enumerate(choices[row]):
                earlier = self.kind.takers[of][:self.kind.takers[of].index(row)] if side == "m" else ()
                first = Cat(wants[by][1] & (wants[by][0] == choices[by].index((side, of))) for by in earlier).any() \
                    if earlier else Const(0)
                blocked = blocked | ((best == at) & first)
                taken[side, of].append(has & (best == at) & ~first)
            granted[row] = has & ~blocked
            with m.If(granted[row]):
                m.d.sync += [busy[row].eq(1), turn[row].eq(best)]
            with m.Elif(free[row]):
                m.d.sync += busy[row].eq(0)
            for nth in range(self.kind.results):
                m.d.comb += [told["p", row, nth].valid.eq(granted[row]), told["p", row, nth].payload.eq(best)]
        for (side, row), by in taken.items():
            m.d.sync += begun[side, row].eq(begun[side, row] + Cat(by).any())
            if side == "m":
                # `taken` is in the order of rows, `takers` has the owner first.
                places = [self.kind.takers[row].index(taker) for taker in sorted(self.kind.takers[row])]
                who = sum((Mux(each, place, 0) for place, each in zip(places, by)), start=Const(0, 1))
                for nth in range(self.kind.results):
                    m.d.comb += [told["m", row, nth].valid.eq(Cat(by).any()), told["m", row, nth].payload.eq(who)]
        return m

    def _oldest(self, there: Sequence[Value], ages: Sequence[Value]) -> tuple[Value, Value]:
        """Which of some items there is of the oldest operation, the first of equal ones; whether there is any."""
        best, age, any_there = Const(0), ages[0], there[0]
        for at, (each, other) in enumerate(zip(there[1:], ages[1:]), 1):
            older = each & (~any_there | (other - age)[AGE_BITS - 1])
            best, age, any_there = Mux(older, at, best), Mux(older, other, age), any_there | each
        return best, any_there

    def _passed(self, m: Module, choices: Sequence[Sequence[tuple[str, int]]], busy: Sequence[Value], turn: Sequence[Value]
                ) -> list[Value]:
        """Lead the fibers of items to their rows; whether each row is free, or will be after this cycle."""
        readies: dict[str, list[Value]] = {}
        free = []
        for row, sources in enumerate(choices):
            ends = []
            for lane in range(len(self.kind.lanes)):
                over = Signal(name=f"over{row}_{lane}")
                out = getattr(self, f"o{row}_{lane}")
                given = [getattr(self, f"{side}{of}_{lane}") for side, of in sources]
                m.d.comb += [Value.cast(out.payload).eq(Array([each.payload.as_value() for each in given])[turn[row]]),
                             out.valid.eq(busy[row] & ~over & Array([each.valid for each in given])[turn[row]])]
                for at, (side, of) in enumerate(sources):
                    readies.setdefault(f"{side}{of}_{lane}", []).append(busy[row] & ~over & (turn[row] == at) & out.ready)
                ends.append((over, over | (out.valid & out.ready & out.payload.crd.control)))
            finishes = Signal(name=f"finishes{row}")
            m.d.comb += finishes.eq(busy[row] & Cat(end for _, end in ends).all())
            m.d.sync += [over.eq(end & ~finishes) for over, end in ends]
            free.append(~busy[row] | finishes)
        for name, ready in readies.items():
            m.d.comb += getattr(self, name).ready.eq(Cat(ready).any())
        return free

    def _results(self, m: Module, choices: Sequence[Sequence[tuple[str, int]]]) -> dict[tuple[str, int, int], Any]:
        """Lead the words of PEs back to their rows and make one of two; where to tell whose each is, and who has what moves."""
        rows = range(len(choices))
        told: dict[tuple[str, int, int], Any] = {}
        for nth in range(self.kind.results):
            turns = [self._fifo(m, f"turns{row}_{nth}", len(choices[row]).bit_length()) for row in rows]
            told |= {("p", row, nth): turns[row].i for row in rows}
            taken: dict[int, list[Value]] = {row: [] for row in rows}
            for row in rows:
                word = [self._fifo(m, f"{side}_words{row}_{nth}", self.kind.bits) for side in "fm"]
                order = self._fifo(m, f"order{row}_{nth}", len(self.kind.takers[row]).bit_length())
                told["m", row, nth] = order.i
                offers = []
                for at, by in enumerate(self.kind.takers[row]):
                    result, is_next = getattr(self, f"p{by}_{nth}"), turns[by].o.valid
                    mine = is_next & (turns[by].o.payload == choices[by].index(("m", row)))
                    offers.append(result.valid & mine & order.o.valid & (order.o.payload == at))
                    taken[by].append(offers[-1] & word[1].i.ready)
                own = getattr(self, f"p{row}_{nth}")
                stays = own.valid & turns[row].o.valid & (turns[row].o.payload == 0)
                taken[row].append(stays & word[0].i.ready)
                moved = [getattr(self, f"p{by}_{nth}").payload.value for by in self.kind.takers[row]]
                chosen: Any = Const(0)
                for each, value in zip(offers, moved):
                    chosen = chosen | Mux(each, value, 0)
                out = getattr(self, f"c{row}_{nth}")
                both = word[0].o.valid & word[1].o.valid
                m.d.comb += [
                    word[0].i.valid.eq(stays), word[0].i.payload.eq(own.payload.value),
                    word[1].i.valid.eq(Cat(offers).any()), word[1].i.payload.eq(chosen),
                    order.o.ready.eq(Cat(offers).any() & word[1].i.ready), out.valid.eq(both),
                    out.payload.value.eq(self._met(word[0].o.payload, word[1].o.payload)), out.payload.crd.eq(0),
                    word[0].o.ready.eq(both & out.ready), word[1].o.ready.eq(both & out.ready)]
            for row in rows:
                goes = Cat(taken[row]).any()
                m.d.comb += [turns[row].o.ready.eq(goes), getattr(self, f"p{row}_{nth}").ready.eq(goes)]
        return told

    def _met(self, stays: Value, moves: Value) -> Value:
        """What the words of two items become; the low bits of a sum are the same without signs."""
        if self.kind.reduction == ADD:
            return stays + moves
        return applied(self.kind.reduction, [stays.as_signed(), moves.as_signed()])

    def _fifo(self, m: Module, name: str, bits: int) -> Any:
        m.submodules[name] = fifo = macro(Fifo(bits, IN_FLIGHT))
        return fifo
