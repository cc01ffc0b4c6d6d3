"""Spread fibers by the coordinate of their row: from lanes that count positions to rows that have coordinates."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from ...arch import elastic
from ...arch.token import TOKEN_BITS, stop
from ...sparse.interface import every
from .elastic_pe import pair


class Spread(Component):
    """Leads each lane to the row that goes with its pairs.

    Behaviour: in an operation every lane has a fiber of one row, or nothing but an end, whose row is ``N``; no two lanes have
    the same row. A fiber goes to its row. As soon as all lanes have shown their rows, each row that no lane has gets an end, so
    that who waits for it goes on. The next operation begins when all lanes have ended.

    Example: lanes (row 2) ``(0, 5) S0`` and ``S0`` give row 2 ``(0, 5) S0`` and all other rows ``S0``.

    Parameters
    ----------
    kind : elastic.Spread

    Members
    -------
    i0 : In(stream)      For each lane, a `pair` with its row.
    o0 : Out(stream)     For each row, a `pair`.

    Timing: a pair of each lane a cycle, and a cycle for all ends. No `valid` follows a `ready`.
    """

    def __init__(self, kind: elastic.Spread) -> None:
        self.kind, self.module_name = kind, f"spread_{kind.lanes}_{kind.rows}_w{kind.bits}"
        super().__init__({f"i{n}": In(stream.Signature(pair(kind.bits, True))) for n in range(kind.lanes)}
                         | {f"o{n}": Out(stream.Signature(pair(kind.bits))) for n in range(kind.rows)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        lanes = [getattr(self, f"i{n}") for n in range(self.kind.lanes)]
        rows = [getattr(self, f"o{n}") for n in range(self.kind.rows)]
        # Of this operation: whether it has begun, which lanes are over, which rows no lane has, and which of these have an end.
        begun = Signal()
        over = Signal(len(lanes))
        kept = Signal(len(rows))
        gone = Signal(len(rows))
        missing = Signal(len(rows))
        active = Signal()
        finish = Signal()
        ending = Signal(len(lanes))
        m.d.comb += active.eq(begun | every([lane.valid for lane in lanes]))
        taken: list[list[Any]] = [[] for _ in lanes]
        for n, row in enumerate(rows):
            wants = [lane.payload.row.as_value() == n for lane in lanes]
            has = [lane.valid & ~over[at] & want for at, (lane, want) in enumerate(zip(lanes, wants))]
            chosen: Any = Const(0)
            for lane, each in zip(lanes, has):
                chosen = chosen | Mux(each, Cat(lane.payload.value, lane.payload.crd), 0)
            m.d.comb += [missing[n].eq(Mux(begun, kept[n], ~Cat(wants).any())),
                         row.payload.eq(Mux(missing[n], self._end(), chosen)),
                         row.valid.eq(active & Mux(missing[n], ~gone[n], Cat(has).any()))]
            for at, each in enumerate(has):
                taken[at].append(each & row.ready)
        for at, lane in enumerate(lanes):
            m.d.comb += [lane.ready.eq(active & ~over[at] & (lane.payload.row.control | Cat(taken[at]).any())),
                         ending[at].eq(lane.valid & lane.ready & lane.payload.crd.control)]
        ready = Cat(row.ready for row in rows)
        m.d.comb += finish.eq((over | ending).all() & (~missing | gone | ready).all())
        with m.If(active):
            m.d.sync += [begun.eq(~finish), kept.eq(missing), over.eq(Mux(finish, 0, over | ending)),
                         gone.eq(Mux(finish, 0, gone | (missing & ready)))]
        return m

    def _end(self) -> Any:
        return Cat(Const(0, self.kind.bits), Const(stop(0), TOKEN_BITS))
