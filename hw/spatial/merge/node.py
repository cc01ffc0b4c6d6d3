"""A node of a row-partitioned merger: of two sorted fibers one element a cycle, equal coordinates added or otherwise met."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import Component, In, Out

from ...arch.merger import Merger
from ..array.pe import applied


def element(kind: Merger) -> data.StructLayout:
    """A value with its key: column, row, end."""
    return data.StructLayout({"value": kind.bits, "key": kind.key_bits})


class MergeNode(Component):
    """Merges two fibers, an element a cycle.

    Behaviour: the element with the lesser key leaves; of equal keys both are taken, and one leaves with the sum of the values,
    or what else the reduction makes of them. Ends are equal, so that they leave as one, after all that comes before either.

    Example: of (0, 5) (2, 7) end and (2, 1) end come (0, 5) (2, 8) end.

    Parameters
    ----------
    kind : Merger

    Members
    -------
    x, y : In(stream)      Of an `element`, keys rising up to an end.
    o : Out(stream)        The same.

    Timing: an element a cycle; combinational from `x` and `y` to `o` and from `o.ready` to theirs, so FIFOs stand around it.
    Source: Stellar VI-D, Fig. 19a. Departure: the row is part of the key, so that neither the end of a row nor an empty one
    takes a cycle.
    """

    def __init__(self, kind: Merger) -> None:
        self.kind, self.module_name = kind, f"merge_node_k{kind.key_bits}_w{kind.bits}{kind.suffix}"
        elements = stream.Signature(element(kind))
        super().__init__({"x": In(elements), "y": In(elements), "o": Out(elements)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        x, y, o = self.x, self.y, self.o
        takes_x = Signal()
        same = Signal()
        there = x.valid & y.valid
        # The sum is there as soon as the comparison is: with an addend chosen by it, two nodes in a cycle would add one after
        # the other, each behind its comparison.
        met = Signal(self.kind.bits)
        m.d.comb += [
            takes_x.eq(x.payload.key <= y.payload.key), same.eq(x.payload.key == y.payload.key),
            met.eq(applied(self.kind.reduction, [x.payload.value.as_signed(), y.payload.value.as_signed()])), o.valid.eq(there),
            o.payload.key.eq(Mux(takes_x, x.payload.key, y.payload.key)),
            o.payload.value.eq(Mux(same, met, Mux(takes_x, x.payload.value, y.payload.value))),
            x.ready.eq(there & o.ready & takes_x), y.ready.eq(there & o.ready & (~takes_x | same)),
        ]
        return m
