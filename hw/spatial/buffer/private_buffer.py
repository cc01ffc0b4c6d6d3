"""A bank of a private buffer: stages for the levels of a fibertree, from the request to the ports of an array."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from ...arch.private_buffer import BITVECTOR, COMPRESSED, FIBER, LANES, LINKED, Bank, Loop
from ...arch.token import DATA_BITS, DONE, MAYBE, TOKEN, stop
from ...emit import macro
from ...memory.bit_scanner import BitScanner
from ...memory.list_level import ListLevel
from ...memory.nest import Nest
from ...memory.stored_level import StoredLevel
from ...sparse.interface import is_done, is_stop
from ...stream.fifo import Fifo, Fifo2
from ...stream.lead import lead
from ..array.elastic_pe import pair
from .run_table import RunTable

# Tokens that coordinates are ahead of their values, which are looked up in as many cycles.
AHEAD = 8


class PrivateBank(Component):
    """Holds tensors, and gives their elements to the ports of an array.

    Behaviour: for each operation it walks its request, and each element or fiber goes to the port that the request says. A
    fiber has pairs of coordinate and value, and an end; if it is dealt each pair goes to a port of its own, and ``N`` to those
    that are left. After as many operations as a tensor serves, its room is free.

    Example: with levels dense and compressed, of 2 and 4, a loop of 2 with stride 1 and hop 1, filled with
    ``3 0 1 3  3 2 0 3`` and ``3 7 8 9``: ``(2, 7) S0`` to port 0, and ``(0, 8) (3, 9) S0`` to port 1.

    Parameters
    ----------
    bank : Bank
    module_name : str

    Members
    -------
    level, bits, lists, values : In(stream)     What it is filled with, as blocks (`StoredLevel`); `level` where the last one is
                                   compressed, `bits` where it is a bitvector, 16 coordinates a word, `lists` where it is linked
                                   lists (`ListLevel`), whose values have the holes of nodes, too.
    o0 : Out(stream)               For each port, words or `pair`s.
    fault : Out(1)                 What it was filled with does not fit, or is none. Sticky until reset.

    Timing: a word or pair a cycle, and a cycle for the end of a fiber, of linked lists four; one of an operation, too. Filling
    takes as long as its words, and goes on while the tensor before is read.
    Source: Stellar IV-C, Fig. 12. Departure: a stage has tokens with ready and valid in place of a stall of all stages.
    """

    def __init__(self, bank: Bank, module_name: str, more: Mapping[str, Any] | None = None) -> None:
        self.bank, self.module_name = bank, module_name
        shape: Any = pair(bank.bits) if bank.paired or bank.form == FIBER else bank.bits
        super().__init__({name: In(stream.Signature(DATA_BITS)) for name in bank.streams}
                         | {f"o{n}": Out(stream.Signature(shape)) for n in range(bank.sinks)}
                         | {"fault": Out(1)} | dict(more or {}))

    @property
    def emit_key(self) -> Bank:
        return self.bank

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        bank = self.bank
        refs: Any = stream.Signature(TOKEN).create(path=("refs",))
        faults = self._request(m, refs)
        crds: Any = None
        m.submodules.values = values = macro(StoredLevel(bank.lines, LANES, True))
        faults.insert(0, values.fault)
        if bank.is_scanned:
            scanned, refs, fault = self._level(m, refs)
            faults.append(fault)
            m.submodules.ahead = ahead = macro(Fifo(TOKEN, AHEAD))
            lead(m, scanned, ahead.i)
            crds = ahead.o
        m.submodules.refs_fifo = fifo = macro(Fifo2(TOKEN))
        lead(m, self.values, values.fill)
        lead(m, refs, fifo.i)
        lead(m, fifo.o, values.ref)
        crds, given = self._sift(m, crds, values.crd)
        crowded = self._deal_apart(m, crds, given) if bank.dealt else self._deal(m, crds, given)
        m.d.comb += self.fault.eq(Cat(*faults, crowded).any())
        return m

    def _level(self, m: Module, refs: Any) -> tuple[Any, Any, Value]:
        """Of fibers coordinates, references to their values, and the fault of what stores them."""
        bank = self.bank
        # Values take turns between the halves; of a level each half has segments or coordinates of both tensors.
        stored = {COMPRESSED: lambda: StoredLevel(2 * bank.lines, LANES, False),
                  BITVECTOR: lambda: StoredLevel(bank.lines, LANES, True),
                  LINKED: lambda: ListLevel(bank.fibers, bank.nodes, bank.node)}[bank.kind]
        m.submodules.level = level = macro(stored())
        lead(m, getattr(self, bank.streams[0]), level.fill)
        lead(m, refs, level.ref)
        scanner: Any = level
        if bank.kind == BITVECTOR:
            m.submodules.bit_scanner = scanner = macro(BitScanner(bank.fibers))
            lead(m, level.crd, scanner.word)
        return scanner.crd, scanner.ref_o, level.fault

    def _loops(self) -> tuple[Loop, ...]:
        """Those of the request."""
        return self.bank.loops

    def _sift(self, m: Module, crds: Any, values: Any) -> tuple[Any, Any]:
        """The elements that ports get, of those that are read."""
        return crds, values

    def _request(self, m: Module, refs: Any) -> list[Value]:
        """References in the order of the request; a stop behind a dense fiber, and done where the tensor has served. Returns
        what may be wrong with them."""
        bank = self.bank
        m.submodules.request = request = RunTable(
            [(run.place, run.extent, run.stride) for run in bank.table], DATA_BITS) if bank.table else Nest(
            bank.first, tuple((loop.extent, loop.stride) for loop in self._loops()), DATA_BITS)
        stopping = Signal()
        finishing = Signal()
        served = Signal(range(bank.operations))
        is_last = Signal()
        m.d.comb += [is_last.eq(request.last & (served == bank.operations - 1)), refs.valid.eq(request.valid),
                     request.step.eq(refs.ready & ~stopping & ~finishing)]
        token = Value.cast(refs.payload)
        with m.If(stopping):
            m.d.comb += token.eq(stop(0))
        with m.Elif(finishing):
            m.d.comb += token.eq(DONE)
        with m.Else():
            m.d.comb += token.eq(request.number)
        with m.If(refs.valid & refs.ready):
            with m.If(stopping):
                m.d.sync += stopping.eq(0)
            with m.Elif(finishing):
                m.d.sync += finishing.eq(0)
            with m.Else():
                m.d.sync += [stopping.eq(request.ends if bank.is_along else 0), finishing.eq(is_last)]
                with m.If(request.last):
                    m.d.sync += served.eq(Mux(is_last, 0, served + 1))
        return []

    def _deal_apart(self, m: Module, crds: Any, values: Any) -> Value:
        """Each element of a fiber to a port of its own; whether there was one without a port."""
        bank = self.bank
        m.submodules.turn = turn = Nest(bank.first_sink, tuple((loop.extent, loop.hop) for loop in bank.across),
                                        max(1, (bank.sinks - 1).bit_length()))
        place = Signal(range(bank.dealt + 1))      # elements of this fiber that have a port
        crowded = Signal()
        ends = Signal()
        over = Signal()
        gives = Signal()
        moves = Signal()
        there = values.valid & crds.valid & turn.valid & ~crowded
        m.d.comb += [over.eq(is_done(values.payload)), ends.eq(is_stop(values.payload)),
                     gives.eq(there & ~over & (place != bank.dealt))]
        taken = []
        for n in range(bank.sinks):
            sink, mine = getattr(self, f"o{n}"), Signal(name=f"mine{n}")
            m.d.comb += [mine.eq(gives & (turn.number + place == n)), sink.valid.eq(mine),
                         sink.payload.value.eq(Mux(ends, 0, values.payload.data[:bank.bits])),
                         sink.payload.crd.eq(Mux(ends, MAYBE, crds.payload.data))]
            taken.append(mine & sink.ready)
        goes = Cat(taken).any()
        # The end of a fiber stays until each port has a word of it.
        m.d.comb += [moves.eq(there & (over | Mux(ends, place == bank.dealt, goes))), values.ready.eq(moves),
                     crds.ready.eq(moves), turn.step.eq(moves & ends)]
        with m.If(there & ~over & ~ends & (place == bank.dealt)):
            m.d.sync += crowded.eq(1)
        with m.If(moves & ends):
            m.d.sync += place.eq(0)
        with m.Elif(goes):
            m.d.sync += place.eq(place + 1)
        return crowded

    def _deal(self, m: Module, crds: Any, values: Any) -> Value:
        """Each word or fiber to the port whose turn it is; never anything else."""
        bank = self.bank
        fibers = bank.form == FIBER
        value = values.payload
        bits = max(1, (bank.sinks - 1).bit_length())
        m.submodules.turn = turn = RunTable(
            [(run.sink, run.extent, run.hop) for run in bank.table], bits) if bank.table else Nest(
            bank.first_sink, tuple((loop.extent, loop.hop) for loop in bank.across), bits)
        ends, over, there, moves = (Signal(name=name) for name in ("ends", "over", "there", "moves"))
        crd = Signal(TOKEN)
        # Where fibers are dense their coordinates are counted.
        counted = Signal(DATA_BITS, init=bank.begin)
        m.d.comb += [over.eq(is_done(value)), ends.eq(is_stop(value) if fibers else 0),
                     there.eq(values.valid & (1 if crds is None else crds.valid) & turn.valid)]
        if crds is not None:
            m.d.comb += crd.eq(crds.payload)
            if bank.begin:
                with m.If(~crds.payload.control):
                    m.d.comb += crd.data.eq(crds.payload.data + bank.begin)
        elif fibers:
            m.d.comb += crd.as_value().eq(Mux(ends, stop(0), counted))
            with m.If(there & moves & ~over):
                m.d.sync += counted.eq(Mux(ends, bank.begin, counted + 1))
        taken = []
        for n in range(bank.sinks):
            sink, mine = getattr(self, f"o{n}"), turn.number == n
            low = Mux(ends, 0, value.data[:bank.bits])
            word = Cat(low, crd) if fibers else Cat(low, Const(0, len(Value.cast(sink.payload)) - bank.bits))
            if bank.depth > 2:
                m.submodules[f"skew{n}"] = skew = macro(Fifo(len(word), bank.depth))
                lead(m, skew.o, sink)
                sink = skew.i
            m.d.comb += [Value.cast(sink.payload).eq(word), sink.valid.eq(there & ~over & mine)]
            taken.append(mine & sink.ready)
        m.d.comb += [moves.eq(there & (over | Cat(taken).any())), values.ready.eq(moves),
                     turn.step.eq(moves & ~over & (ends if fibers else 1))]
        if crds is not None:
            m.d.comb += crds.ready.eq(moves)
        return Const(0)
