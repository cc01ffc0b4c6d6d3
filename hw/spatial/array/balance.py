"""Balance the rows of an elastic array: work that may move is done by whichever row is free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Array, Cat, Const, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from ...arch import elastic
from ...arch.elastic import AGE_BITS, AHEAD
from ...sparse.interface import every
from .balance_results import led
from .elastic_pe import pair


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
    w0_0, ... : In(stream)          For each row and word, a `pair` in each operation.
    o0_0, ... : Out(stream)         For each row and lane, then for each of its words, a `pair` for its PEs.
    p0_0, ... : In(stream)          For each row and PE with a result, a `pair`: a word or a fiber for each item.
    c0_0, ... : Out(stream)         The same, a word for each operation, or fibers of what stays.
    d0_0, ... : Out(stream)         Fibers of what may move.

    Timing: a pair in each lane a cycle, none between items of different streams; `f`, `m` to `o` combinational.
    Source: Stellar III-D and IV-E. Departure: fibers in streams know whether there is work, in place of units that watch
    register files, and which work is taken is decided when a row is free, not before.
    """

    def __init__(self, kind: elastic.Balance) -> None:
        self.kind, self.module_name = kind, f"balance_{kind.digest}"
        rows = range(len(kind.takers))
        given = {"f": kind.lanes, "m": kind.lanes, "w": kind.words, "o": kind.lanes + kind.words}
        ports = {f"{side}{row}_{lane}": (Out if side == "o" else In)(stream.Signature(pair(bits)))
                 for side, each in given.items() for row in rows for lane, bits in enumerate(each)}
        ports |= {f"{side}{row}_{nth}": (In if side == "p" else Out)(stream.Signature(pair(kind.bits)))
                  for side in ("pcd" if kind.fibers else "pc") for row in rows for nth in range(kind.results)}
        super().__init__(ports)

    @property
    def emit_key(self) -> elastic.Balance:
        return self.kind

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        rows = range(len(self.kind.takers))
        choices = [self.kind.choices(row) for row in rows]
        # How many operations of each item are begun; of fibers whether the one to be begun now is.
        bits = 1 if self.kind.fibers else AGE_BITS
        begun = {(side, row): Signal(bits, name=f"begun_{side}{row}") for side in "fm" for row in rows}
        all_begun = Cat(begun.values()).all()
        busy = [Signal(name=f"busy{row}") for row in rows]
        turn = [Signal(range(len(choices[row])), name=f"turn{row}") for row in rows]
        moving = {row: Cat(busy[by] & (turn[by] == choices[by].index(("m", row))) for by in self.kind.takers[row]).any()
                  for row in rows}
        told = led(m, self, choices)
        has_words = {each: Signal(len(self.kind.words), name=f"has_words_{each[0]}{each[1]}") for each in begun}
        free = self._passed(m, choices, busy, turn, has_words)
        there: dict[tuple[str, int], Value] = {}
        early: dict[tuple[str, int], Value] = {}
        for side, row in begun:
            own, other = begun[side, row], begun["m" if side == "f" else "f", row]
            early[side, row] = all_begun | ~own if self.kind.fibers else (own - other)[:AGE_BITS] != AHEAD
            under_way = busy[row] & (turn[row] == 0) if side == "f" else moving[row]
            words = (getattr(self, f"w{row}_{nth}").valid & ~has_words[side, row][nth] for nth in range(len(self.kind.words)))
            there[side, row] = (getattr(self, f"{side}{row}_0").valid & ~under_way & early[side, row]
                                & every([Const(1), *words]))
            if side == "m":
                there[side, row] &= every([told["m", row, nth].ready for nth in range(self.kind.results)])
        wants = {}
        for row in rows:
            wants[row] = best, has = Signal(range(len(choices[row])), name=f"best{row}"), Signal(name=f"wants{row}")
            room = Cat(told["p", row, nth].ready for nth in range(self.kind.results)).all()
            # Items of fibers that are there are of one operation.
            ages = [Const(0, AGE_BITS) if self.kind.fibers else begun[each] for each in choices[row]]
            found, any_there = self._oldest([there[each] for each in choices[row]], ages)
            waits = early["f", row] & busy[row] & (turn[row] == 0) if self.kind.fibers else Const(0)
            m.d.comb += [best.eq(found), has.eq(free[row] & room & any_there & ~waits)]
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
            before = begun[side, row] & ~all_begun if self.kind.fibers else begun[side, row]
            m.d.sync += begun[side, row].eq(before | Cat(by).any() if self.kind.fibers else before + Cat(by).any())
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

    def _passed(self, m: Module, choices: Sequence[Sequence[tuple[str, int]]], busy: Sequence[Value], turn: Sequence[Value],
                has_words: Mapping[tuple[str, int], Signal]) -> list[Value]:
        """Lead the fibers and words of items to their rows; whether each row is free, or will be after this cycle."""
        readies: dict[str, list[Value]] = {}
        had: dict[tuple[str, int, int], list[Value]] = {}
        lanes, free = len(self.kind.lanes), []
        for row, sources in enumerate(choices):
            ends = []
            for lane in range(lanes + len(self.kind.words)):
                over, nth = Signal(name=f"over{row}_{lane}"), lane - lanes
                out = getattr(self, f"o{row}_{lane}")
                given = [getattr(self, f"{side}{of}_{lane}" if nth < 0 else f"w{of}_{nth}") for side, of in sources]
                valid = [each.valid if nth < 0 else each.valid & ~has_words[item][nth] for item, each in zip(sources, given)]
                m.d.comb += [Value.cast(out.payload).eq(Array([each.payload.as_value() for each in given])[turn[row]]),
                             out.valid.eq(busy[row] & ~over & Array(valid)[turn[row]])]
                for at, (side, of) in enumerate(sources):
                    mine = busy[row] & ~over & (turn[row] == at) & out.ready
                    if nth < 0:
                        readies.setdefault(f"{side}{of}_{lane}", []).append(mine)
                    else:
                        had.setdefault((side, of, nth), []).append(mine & valid[at])
                ends.append((over, over | (out.valid & out.ready & (out.payload.crd.control if nth < 0 else 1))))
            finishes = Signal(name=f"finishes{row}")
            m.d.comb += finishes.eq(busy[row] & Cat(end for _, end in ends).all())
            m.d.sync += [over.eq(end & ~finishes) for over, end in ends]
            free.append(~busy[row] | finishes)
        for name, ready in readies.items():
            m.d.comb += getattr(self, name).ready.eq(Cat(ready).any())
        for row in range(len(choices)):
            for nth in range(len(self.kind.words)):
                word, sides = getattr(self, f"w{row}_{nth}"), [has_words[side, row][nth] for side in "fm"]
                now = [has | Cat(had[side, row, nth]).any() for has, side in zip(sides, "fm")]
                m.d.comb += word.ready.eq(now[0] & now[1])
                m.d.sync += [has.eq(each & ~word.ready) for has, each in zip(sides, now)]
        return free
