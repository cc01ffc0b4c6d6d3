"""Between a port that asks, the banks that answer, and an array in which rows take each other's work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.token import TOKEN
from ...emit import macro
from ...sparse.interface import fork
from ...stream.fifo import Fifo
from ..array.elastic_pe import pair


class Answered(wiring.Component):
    """Pairs wait for the elements that are gathered for them, and go on with these.

    Behaviour: the coordinate of each pair is asked for, and the pair is given when all its answers are there. So a row of PEs
    sees nothing of an operation whose tensor no bank has yet, and takes no work that it could not end.

    Parameters
    ----------
    bits : int            Of the value of a pair.
    answers : sequence    Bits of the values that are gathered.
    depth : int           Pairs that wait.

    Members
    -------
    i : In(stream)        `pair`s.
    ask0, ... : Out(stream)    For each answer, a coordinate as a token.
    a0, ... : In(stream)       For each answer, a `pair` for each that was asked for.
    o, o0, ... : Out(stream)   The pair, and its answers.

    Timing: a pair a cycle, if answers come as fast; two cycles to wait at least.
    Source: a design of its own; Stellar IV-E freezes decisions until all that they need was seen.
    """

    def __init__(self, bits: int, answers: Sequence[int], depth: int) -> None:
        self.bits, self.answers, self.depth = bits, tuple(answers), depth
        self.module_name = f"answered_{bits}_{'_'.join(map(str, answers))}_d{depth}"
        streams = [stream.Signature(pair(each)) for each in answers]
        super().__init__({"i": In(stream.Signature(pair(bits))), "o": Out(stream.Signature(pair(bits)))}
                         | {f"ask{n}": Out(stream.Signature(TOKEN)) for n in range(len(streams))}
                         | {f"a{n}": In(each) for n, each in enumerate(streams)}
                         | {f"o{n}": Out(each) for n, each in enumerate(streams)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        numbers = range(len(self.answers))
        asks, given, out = ([getattr(self, f"{name}{n}") for n in numbers] for name in ("ask", "a", "o"))
        m.submodules.waits = waits = macro(Fifo(pair(self.bits), self.depth))
        m.d.comb += [self.i.ready.eq(fork(m, self.i.valid, (waits.i, Const(1)), *((each, Const(1)) for each in asks))),
                     Value.cast(waits.i.payload).eq(Value.cast(self.i.payload)),
                     *(each.payload.eq(self.i.payload.crd) for each in asks)]
        there = Cat(waits.o.valid, *(each.valid for each in given)).all()
        goes = there & fork(m, there, (self.o, Const(1)), *((each, Const(1)) for each in out))
        m.d.comb += [Value.cast(self.o.payload).eq(waits.o.payload), waits.o.ready.eq(goes)]
        for n in numbers:
            m.d.comb += [Value.cast(out[n].payload).eq(Value.cast(given[n].payload)), given[n].ready.eq(goes)]
        return m
