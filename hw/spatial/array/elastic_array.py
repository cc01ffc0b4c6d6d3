"""An elastic array: PEs, mergers and spreads, a FIFO at the sink of every link, and a stream for every port."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from ...arch import elastic
from ...arch.elastic import Elastic, Worker
from ...emit import macro
from ...memory.sram_fifo import SramFifo
from ...stream.fifo import Fifo, Fifo2
from .balance import Balance
from .elastic_pe import ElasticPe, pair
from .spread import Spread

# Of so many entries a FIFO is in an SRAM, which takes the same cycles.
DEEP = 64


def streams(array: Elastic) -> dict[str, Any]:
    """The streams of an array as members."""
    return ({port.name: In(stream.Signature(pair(array.bits(port.tensor)))) for port in array.inputs}
            | {port.name: Out(stream.Signature(pair(array.bits(port.tensor)))) for port in array.outputs})


class ElasticArray(Component):
    """An elastic array.

    Behaviour: every port is a stream of pairs, fiber after fiber or word after word, one in each operation. Every PE goes on in
    each cycle in which what it needs is there and what it gives finds room, wherever the others are.

    Parameters
    ----------
    array : Elastic

    Members
    -------
    A_x_y : In(stream)     For each port of an operand A, a `pair`: value in the low bits, then the coordinate, a token.
    C_x : Out(stream)      For each port of a result C, the same.

    Timing: an operation takes a PE as many cycles as its fibers have pairs, and one. `valid` and `ready` of ports come from
    registers.
    Source: Stellar IV-A to IV-C; see `hw.arch.elastic` for how it differs.
    """

    def __init__(self, array: Elastic) -> None:
        self.elastic, self.module_name = array, array.name.lower()
        super().__init__(streams(array))

    @property
    def emit_key(self) -> str:
        return repr(self.elastic)

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        names: dict[Worker, str] = {}
        units: dict[str, Any] = {"": self}
        for unit in self.elastic.units:
            if isinstance(unit.kind, Worker):
                name = names.setdefault(unit.kind, f"{self.module_name}_unit{len(names)}")
                units[unit.name] = macro(ElasticPe(unit.kind, name))
            elif isinstance(unit.kind, elastic.Balance):
                units[unit.name] = macro(Balance(unit.kind))
            else:
                assert isinstance(unit.kind, elastic.Spread), "units are of one of three kinds"
                units[unit.name] = macro(Spread(unit.kind))
            m.submodules[unit.name] = units[unit.name]
        for link in self.elastic.links:
            (source, output), (sink, into) = link.source, link.sink
            giver, taker = getattr(units[source], output), getattr(units[sink], into)
            bits = len(giver.payload.as_value())
            fifo = macro(Fifo2(bits) if link.depth == 2 else (SramFifo if link.depth >= DEEP else Fifo)(bits, link.depth))
            m.submodules[f"link_{sink or 'port'}_{into}"] = fifo
            m.d.comb += [fifo.i.payload.eq(giver.payload), fifo.i.valid.eq(giver.valid), giver.ready.eq(fifo.i.ready),
                         taker.payload.eq(fifo.o.payload), taker.valid.eq(fifo.o.valid), fifo.o.ready.eq(taker.ready)]
        return m
