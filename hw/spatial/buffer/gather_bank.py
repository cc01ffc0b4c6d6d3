"""A bank of a private buffer that gives elements by coordinate, as they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import Component, In, Out

from ...arch.private_buffer import LANES, Bank
from ...arch.token import DATA_BITS, DONE, TOKEN, stop
from ...dma.turns import Turns
from ...emit import macro
from ...memory.stored_level import StoredLevel
from ...sparse.interface import is_done
from ...stream.fifo import Fifo, Fifo2
from ...stream.lead import lead
from ..array.elastic_pe import pair

# Words that are looked up at once, at most.
LOOKED_UP = 8


class GatherBank(Component):
    """Holds tensors, and gives each port the elements whose coordinates it asks for.

    Behaviour: a port asks for fibers of coordinates, with an end each, and gets the same coordinates with the values that are
    `bases` of the port and so many elements further on. After as many fibers of every port as operations a tensor serves, its
    room is free; what ports ask for then is of the next one. Where rows are `chosen` a port also tells for each fiber which
    row it is of; of ``N``, no row, elements are 0.

    Example: with bases 0 and 4, filled with ``8 10 11 12 13 20 21 22 23``, of ``1 3 S0`` at ask0 and ``0 S0`` at ask1 come
    ``(1, 11) (3, 13) S0`` and ``(0, 20) S0``.

    Parameters
    ----------
    bank : Bank         With `bases`.
    module_name : str

    Members
    -------
    values : In(stream)       What it is filled with, as blocks (`StoredLevel`).
    ask0 : In(stream)         For each port, coordinates as tokens; any control token ends a fiber.
    row0 : In(stream)         With `chosen`, for each port a coordinate as a token for each fiber; any control token is none.
    o0 : Out(stream)          For each port, `pair`s.
    fault : Out(1)            What it was filled with does not fit, or a coordinate is beyond the last. Sticky until reset.

    Timing: an element or end of a fiber a cycle, of the ports in turn; 9 cycles from a coordinate to its pair. Only what has
    room behind it is looked up, so that no port ever waits for another one within a tensor.
    Source: Stellar III-E, Listing 5 (gather); there a coordinate is a command, and one is under way.
    """

    def __init__(self, bank: Bank, module_name: str) -> None:
        self.bank, self.module_name = bank, module_name
        super().__init__({name: In(stream.Signature(DATA_BITS)) for name in bank.streams}
                         | {f"{name}{n}": In(stream.Signature(TOKEN)) for name in ("ask", *(["row"] if bank.chosen else []))
                            for n in range(bank.sinks)}
                         | {f"o{n}": Out(stream.Signature(pair(bank.bits))) for n in range(bank.sinks)} | {"fault": Out(1)})

    @property
    def emit_key(self) -> Bank:
        return self.bank

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        bank = self.bank
        values, fault = self._stored(m)
        m.submodules.turns = turns = macro(Turns(bank.sinks, TOKEN, f"gather_turns_{bank.sinks}"))
        m.submodules.refs = refs = macro(Fifo2(TOKEN))
        m.submodules.under_way = under_way = macro(Fifo(self._asked(turns), LOOKED_UP))
        lead(m, refs.o, values.ref)
        crd, of = turns.o.payload.word, turns.o.payload.of
        finishing = Signal()        # every port has had its fibers of this tensor
        issues = Signal()
        base = Signal(DATA_BITS)
        none = Signal()             # the row is none
        ref = Signal(TOKEN)
        rows, beyond = self._rows(m)
        m.d.comb += [issues.eq(turns.o.valid & refs.i.ready & under_way.i.ready & ~finishing), turns.o.ready.eq(issues),
                     under_way.i.valid.eq(issues), Value.cast(under_way.i.payload).eq(Cat(crd, of, *([none] if rows else []))),
                     refs.i.valid.eq(issues | finishing), refs.i.payload.eq(Mux(finishing, DONE, ref)),
                     ref.as_value().eq(Mux(crd.control, stop(0), (base + self._distance(crd.data))[:DATA_BITS]))]
        with m.Switch(of):
            for n, each in enumerate(bank.bases):
                with m.Case(n):
                    m.d.comb += Cat(base, none).eq(rows[n].payload) if rows else base.eq(each)
        finished = self._ports(m, turns, issues, values.crd, under_way.o, finishing & refs.i.ready, rows)
        m.d.comb += finishing.eq(finished)
        with m.If(issues & ~crd.control & (crd.data > bank.asked.extent - 1)):
            m.d.sync += beyond.eq(1)
        m.d.comb += self.fault.eq(fault | beyond)
        return m

    def _stored(self, m: Module) -> tuple[Any, Value]:
        """What gives the elements of references, with its fault."""
        m.submodules.values = values = macro(StoredLevel(self.bank.lines, LANES, True))
        lead(m, self.values, values.fill)
        return values, values.fault

    def _asked(self, turns: Any) -> data.StructLayout:
        """What is known of a word that is looked up."""
        return data.StructLayout({"crd": TOKEN, "of": len(turns.o.payload.of)} | ({"none": 1} if self.bank.chosen else {}))

    def _rows(self, m: Module) -> tuple[list[Any], Signal]:
        """For each port where the row of its fiber begins, and whether there is none; whether a row was beyond the last.

        Both are worked out in front of a FIFO, so that they are not on the way from a port that has its turn to memory.
        """
        beyond = Signal()
        rows = []
        for along in self.bank.chosen:
            for n, base in enumerate(self.bank.bases):
                row = getattr(self, f"row{n}")
                m.submodules[f"row{n}_fifo"] = fifo = macro(Fifo2(DATA_BITS + 1))
                place = (base + row.payload.data * along.stride)[:DATA_BITS]
                m.d.comb += [fifo.i.payload.eq(Cat(Mux(row.payload.control, base, place), row.payload.control)),
                             fifo.i.valid.eq(row.valid), row.ready.eq(fifo.i.ready)]
                with m.If(row.valid & ~row.payload.control & (row.payload.data > along.extent - 1)):
                    m.d.sync += beyond.eq(1)
                rows.append(fifo.o)
        return rows, beyond

    def _distance(self, crd: Value) -> Value:
        """From the address of the coordinate 0."""
        return crd * self.bank.asked.stride if self.bank.loops else crd

    def _ports(self, m: Module, turns: Any, issues: Value, values: Any, under_way: Any, again: Value,
               rows: Sequence[Any]) -> Value:
        """What ports ask for, and what they get; whether all have had their fibers of a tensor.

        again: the next tensor begins.
        """
        bank = self.bank
        known: Any = data.View(self._asked(turns), under_way.payload)
        is_zero = known.crd.control | known.none if rows else known.crd.control
        over = Signal()
        m.d.comb += [over.eq(is_done(values.payload)), values.ready.eq(over | under_way.valid),
                     under_way.ready.eq(values.valid & ~over)]
        finished = []
        for n in range(bank.sinks):
            m.submodules[f"ask{n}_fifo"] = ask = macro(Fifo2(TOKEN))
            m.submodules[f"o{n}_fifo"] = given = macro(Fifo(pair(bank.bits), bank.depth))
            lead(m, getattr(self, f"ask{n}"), ask.i)
            lead(m, given.o, getattr(self, f"o{n}"))
            turn, room = getattr(turns, f"i{n}"), Signal(range(bank.depth + 1), init=bank.depth, name=f"room{n}")
            served = Signal(range(bank.operations + 1), name=f"served{n}")
            has_all = Signal(name=f"has_all{n}")
            mine = issues & (turns.o.payload.of == n)
            token: Any = data.View(TOKEN, ask.o.payload)
            there = ask.o.valid & rows[n].valid if rows else ask.o.valid
            # A port whose row has not come has no turn, so that `ready` need not say it again.
            m.d.comb += [has_all.eq(served == bank.operations), turn.payload.eq(ask.o.payload),
                         turn.valid.eq(there & (room != 0) & ~has_all), ask.o.ready.eq(turn.ready & (room != 0) & ~has_all),
                         *([rows[n].ready.eq(mine & token.control)] if rows else []),
                         given.i.valid.eq(values.valid & ~over & under_way.valid & (known.of == n)),
                         Value.cast(given.i.payload).eq(Cat(
                             Mux(is_zero, 0, values.payload.data[:bank.bits]),
                             Mux(known.crd.control, stop(0), known.crd)))]
            m.d.sync += room.eq(room - mine + (given.o.valid & given.o.ready))
            with m.If(again):
                m.d.sync += served.eq(0)
            with m.Elif(mine & token.control):
                m.d.sync += served.eq(served + 1)
            finished.append(has_all)
        return Cat(finished).all()
