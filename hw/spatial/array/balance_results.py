"""What PEs of balanced rows give, led back to the row whose work it was: words, two of which become one, or fibers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Value

from ...arch.elastic import IN_FLIGHT, Balance
from ...arch.reduction import ADD
from ...emit import macro
from ...stream.fifo import Fifo
from .pe import applied

# By ``p``, a row, and which of its results: where to tell what the row begins; by ``m``: who has what may move of the row.
Told = dict[tuple[str, int, int], Any]


def led(m: Module, balance: Any, choices: Sequence[Sequence[tuple[str, int]]]) -> Told:
    """Lead the results of a balance, whose ports they are at; choices: of each row its items, which it is told by number."""
    kind: Balance = balance.kind
    rows, told = range(len(choices)), Told()
    for nth in range(kind.results):
        turns = [_fifo(m, f"turns{row}_{nth}", len(choices[row]).bit_length()) for row in rows]
        told |= {("p", row, nth): turns[row].i for row in rows}
        given = [getattr(balance, f"p{row}_{nth}") for row in rows]
        # A word is all that an item gives.
        ends = [each.payload.crd.control if kind.fibers else Const(1) for each in given]
        taken: list[list[Value]] = [[] for _ in rows]
        for row in rows:
            stays_to, moves_to = _fibers(balance, row, nth) if kind.fibers else _words(m, balance, row, nth)
            order = _fifo(m, f"order{row}_{nth}", len(kind.takers[row]).bit_length())
            told["m", row, nth] = order.i
            offers, last = list[Value](), list[Value]()
            for at, by in enumerate(kind.takers[row]):
                mine = turns[by].o.valid & (turns[by].o.payload == choices[by].index(("m", row)))
                offers.append(given[by].valid & mine & order.o.valid & (order.o.payload == at))
                last.append(offers[-1] & ends[by])
                taken[by].append(offers[-1] & moves_to.ready)
            stays = given[row].valid & turns[row].o.valid & (turns[row].o.payload == 0)
            taken[row].append(stays & stays_to.ready)
            bits = len(Value.cast(stays_to.payload))
            moved: Any = Const(0)
            for each, by in zip(offers, kind.takers[row]):
                moved = moved | Mux(each, Value.cast(given[by].payload)[:bits], 0)
            m.d.comb += [
                stays_to.valid.eq(stays), Value.cast(stays_to.payload).eq(Value.cast(given[row].payload)[:bits]),
                moves_to.valid.eq(Cat(offers).any()), Value.cast(moves_to.payload).eq(moved),
                order.o.ready.eq(Cat(last).any() & moves_to.ready)]
        for row in rows:
            goes = Cat(taken[row]).any()
            m.d.comb += [turns[row].o.ready.eq(goes & ends[row]), given[row].ready.eq(goes)]
    return told


def _fibers(balance: Any, row: int, nth: int) -> tuple[Any, Any]:
    """Where the fibers of a row go to: what stays, and what may move."""
    return getattr(balance, f"c{row}_{nth}"), getattr(balance, f"d{row}_{nth}")


def _words(m: Module, balance: Any, row: int, nth: int) -> tuple[Any, Any]:
    """Where the words of a row go to, the two of an operation becoming one; of a pair the value only."""
    stays, moves = (_fifo(m, f"{side}_words{row}_{nth}", balance.kind.bits) for side in "fm")
    out = getattr(balance, f"c{row}_{nth}")
    both = stays.o.valid & moves.o.valid
    m.d.comb += [out.valid.eq(both), out.payload.crd.eq(0),
                 out.payload.value.eq(_met(balance.kind.reduction, stays.o.payload, moves.o.payload)),
                 stays.o.ready.eq(both & out.ready), moves.o.ready.eq(both & out.ready)]
    return stays.i, moves.i


def _met(reduction: str, stays: Value, moves: Value) -> Value:
    """What the words of two items become; the low bits of a sum are the same without signs."""
    return stays + moves if reduction == ADD else applied(reduction, [stays.as_signed(), moves.as_signed()])


def _fifo(m: Module, name: str, bits: int) -> Any:
    m.submodules[name] = fifo = macro(Fifo(bits, IN_FLIGHT))
    return fifo
