"""A processing element of an elastic array: joins its fibers by coordinate, computes, and hands on what others need.

What is joined is handed on as soon as it is there, not when it is taken: PEs that have it from this one join the same, and have
to know what this one compares with. Else, of (0, 1) (1, 2) (2, 3) (3, 4) S0 and S0, the next PE would wait for the end of the
second fiber, which stays here until all of the first one has passed, and this PE for room to hand the first one on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Const, Elaboratable, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream
from amaranth.lib.wiring import Component, In, Out

from ...arch.elastic import FIBER, INTERSECT, UNION, WORD, Taken, Worker
from ...arch.logic import Apply, Constant, Feed, Logic, width
from ...arch.reduction import begins
from ...arch.token import TOKEN, stop
from ...sparse.interface import every, fork
from .pe import applied


def pair(bits: int, row: bool = False) -> data.StructLayout:
    """A value with its coordinate, a token: data, or what ends a fiber, or ``N``; beside it the coordinate of a row."""
    return data.StructLayout({"value": bits, "crd": TOKEN} | ({"row": TOKEN} if row else {}))


@dataclass(frozen=True)
class _Join:
    """What is done with the heads of fibers: which are taken, whether a pair is computed from them, or they are ends."""

    there: Value
    takes: Mapping[str, Value]
    matched: Value
    ends: Value
    crd: Any


class ElasticPe(Component):
    """A PE, or a merger.

    Behaviour: in an operation it takes one word of each operand of that form, which stays at its input, and one fiber of each
    other one, up to its end. Where fibers have the coordinates that its join wants it computes a value, which leaves with the
    coordinate; the end leaves, too. A PE that sums gives one word at the end. Any control token ends a fiber. ``N`` as a word
    is 0, and if the PE is quiet nothing but the end leaves, at once.

    Example: of ``a`` = 3 and ``b`` = (0, 5) (2, 7) S0 come (0, 15) (2, 21) S0, for the value ``a * b``.

    Parameters
    ----------
    worker : Worker
    module_name : str

    Members
    -------
    a : In(stream)         For each operand `a`, a `pair`.
    a_o0 : Out(stream)     The same for others, as often as it is forwarded.
    o : Out(stream)        The result, a `pair`, with a row if the worker has one.

    Timing: a pair of fibers a cycle, and a cycle for their end. No `valid` follows a `ready`.
    Source: Stellar IV-C, Fig. 11. Departure: coordinates come with the words, so that there are no counters and no requests.
    """

    def __init__(self, worker: Worker, module_name: str) -> None:
        self.worker, self.module_name = worker, module_name
        members = {}
        for each in worker.operands:
            members[each.name] = In(stream.Signature(pair(each.bits)))
            members |= {f"{each.name}_o{nth}": Out(stream.Signature(pair(each.bits))) for nth in range(each.forwards)}
        members["o"] = Out(stream.Signature(pair(worker.bits, bool(worker.row))))
        super().__init__(members)

    @property
    def emit_key(self) -> Worker:
        return self.worker

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        worker = self.worker
        words = [each for each in worker.operands if each.form == WORD]
        fibers = [each for each in worker.operands if each.form == FIBER]
        join = self._join(fibers)
        sent = [self._hand_on(m, each, nth) for each in words for nth in range(each.forwards)]
        ahead = [each for each in fibers if worker.is_joined and each.name in worker.carriers]
        there = every([join.there, *(self._in(each).valid for each in words), *(~join.ends | each for each in sent)])
        present = every([~self._in(each).payload.crd.control for each in words]) if worker.quiet and words else Const(1)
        value = Signal(signed(worker.bits))
        m.d.comb += value.eq(self._value(worker.value, join))
        m.d.comb += [getattr(self, f"{each.name}_o{nth}").payload.eq(self._in(each).payload)
                     for each in fibers if each not in ahead for nth in range(each.forwards)]
        forwards = [(getattr(self, f"{each.name}_o{nth}"), join.takes[each.name])
                    for each in fibers if each not in ahead for nth in range(each.forwards)]
        handed = [~join.takes[each.name] | self._hand_on(m, each, nth) | getattr(self, f"{each.name}_o{nth}").ready
                  for each in ahead for nth in range(each.forwards)]
        if handed:
            # What is taken was handed on, or is in this cycle; to the others of the step that is one more of them.
            branch = stream.Signature(0).create()
            m.d.comb += branch.ready.eq(every(handed))
            forwards.append((branch, Const(1)))
        # Without its words a PE that is quiet ends at once: others may wait for it to show its row.
        told = Signal()
        gives = join.ends if worker.sums else Mux(present, join.ends | join.matched, ~told)
        # What was handed on stays so until it is taken: said again, as a proof by induction does not know what the fork knows.
        done = every([fork(m, there, *forwards, (self.o, gives)), *handed])
        with m.If(there & done):
            m.d.sync += told.eq(~join.ends & ~present)
        m.d.comb += [self._in(each).ready.eq(there & done & join.takes[each.name]) for each in fibers]
        m.d.comb += [self._in(each).ready.eq(there & done & join.ends) for each in words]
        if worker.sums:
            first = begins(worker.reduction)
            total = Signal(signed(worker.bits), init=first)
            with m.If(there & done):
                m.d.sync += total.eq(Mux(join.ends, first, Mux(join.matched, applied(worker.reduction, [total, value]), total)))
            m.d.comb += [self.o.payload.value.eq(total), self.o.payload.crd.eq(0)]
        else:
            m.d.comb += [self.o.payload.value.eq(value),
                         self.o.payload.crd.eq(Mux(present & ~join.ends, Value.cast(join.crd), stop(0)))]
        if worker.row:
            m.d.comb += self.o.payload.row.eq(getattr(self, worker.row).payload.crd)
        return m

    def _in(self, each: Taken) -> Any:
        return getattr(self, each.name)

    def _hand_on(self, m: Module, each: Taken, nth: int) -> Value:
        """Give what is at an input to another PE once, as soon as it is there; whether that was done."""
        word, to, sent = self._in(each), getattr(self, f"{each.name}_o{nth}"), Signal(name=f"{each.name}_sent{nth}")
        m.d.comb += [to.payload.eq(word.payload), to.valid.eq(word.valid & ~sent)]
        with m.If(word.valid & word.ready):
            m.d.sync += sent.eq(0)
        with m.Elif(to.valid & to.ready):
            m.d.sync += sent.eq(1)
        return sent

    def _join(self, fibers: list[Taken]) -> _Join:
        valid = {each.name: self._in(each).valid for each in fibers}
        crds = {each.name: self._in(each).payload.crd for each in fibers}
        carriers = self.worker.carriers
        if self.worker.join not in (UNION, INTERSECT):
            crd = crds[carriers[0]]
            return _Join(every(list(valid.values())), dict.fromkeys(crds, Const(1)), ~crd.control, crd.control, crd)
        x, y = (crds[name] for name in carriers)
        # Which of them is the only one at its coordinate, or where the other one has ended.
        x_leads, y_leads = (~a.control & (b.control | (a.data < b.data)) for a, b in ((x, y), (y, x)))
        ends = x.control & y.control
        both = every([valid[name] for name in carriers])
        others = every([valid[name] for name in valid if name not in carriers] or [Const(1)])
        one = x_leads | y_leads
        is_union = self.worker.join == UNION
        matched = ~ends if is_union else ~ends & ~one
        takes = {carriers[0]: ~y_leads, carriers[1]: ~x_leads}
        takes |= {name: matched | ends for name in valid if name not in carriers}
        return _Join(both & (others if is_union else others | one), takes, matched, ends, Mux(y_leads, y, x))

    def _value(self, logic: Logic, join: _Join) -> Value:
        """The exact value of logic, with a sign; a fiber that has nothing here counts as 0."""
        if isinstance(logic, Constant):
            return Const(logic.value, signed(width(logic, lambda _: 0)))
        if isinstance(logic, Apply):
            return applied(logic.operation, [self._value(each, join) for each in logic.operands])
        assert isinstance(logic, Feed), "a PE of an elastic array reads operands"
        value = Value.cast(getattr(self, logic.tensor).payload.value).as_signed()
        if self.worker.join == UNION and logic.tensor in self.worker.carriers:
            return Mux(join.takes[logic.tensor], value, 0).as_signed()
        return value
