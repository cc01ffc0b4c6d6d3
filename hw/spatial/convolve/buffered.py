"""An array of Cartesian products whose fibers are compressed tensors, and whose sums leave as rows of whole words."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from ...arch.accelerator import Collected
from ...arch.dma import ELEMENT_BITS, WORD_BITS
from ...arch.vectored import Vectored
from ...emit import macro
from ...stream.lead import lead
from ..buffer.counted import RUN
from ..buffer.rows import rows
from .cartesian import CartesianArray
from .former import Former

# What comes to a former, and what it says of that.
FED, RUNS = ("segments", "coordinates", "values"), ("coordinates_run", "values_run")


class BufferedVectors(Component):
    """The array with what feeds and empties it.

    Parameters
    ----------
    array : Vectored
    result : Collected       Of its sums: a row has one of each bank.

    Members
    -------
    A_segments, A_coordinates, A_values, A_coordinates_run, A_values_run, A_torn      Of each operand, as of `Former`.
    C : Out(stream)                    Words, as of `WideResult`; all sums, in the order of their places.
    size : In(2)                       Likewise.
    fault : Out(1)                     As of `Former`.

    Timing: that of its parts; a word of sums a cycle.
    Source: SCNN IV, Fig. 6.
    """

    def __init__(self, array: Vectored, result: Collected, word_bits: int = WORD_BITS) -> None:
        self.word_bits = word_bits
        self.array, self.result, self.module_name = array, result, f"{array.kind.name.lower()}_buffered"
        elements, runs = In(stream.Signature(ELEMENT_BITS)), Out(stream.Signature(RUN))
        own = {**dict.fromkeys(FED, elements), **dict.fromkeys(RUNS, runs), "torn": Out(1)}
        fills = {f"{each.name}_{name}": member for each in array.operands for name, member in own.items()}
        super().__init__({**fills, result.tensor.name: Out(stream.Signature(word_bits)), "size": In(2), "fault": Out(1)})

    @property
    def emit_key(self) -> str:
        return repr((self.array, self.result, self.word_bits))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.inside = inside = macro(CartesianArray(self.array.kind))
        formers = []
        for name, side in (("left", self.array.left), ("right", self.array.right)):
            m.submodules[f"form_{name}"] = former = macro(Former(self.array, side))
            tensor = side.tensor.name
            for member in FED:
                lead(m, getattr(self, f"{tensor}_{member}"), getattr(former, member))
            for member in RUNS:
                lead(m, getattr(former, member), getattr(self, f"{tensor}_{member}"))
            m.d.comb += getattr(self, f"{tensor}_torn").eq(former.torn)
            for n in range(former.component.size):
                lead(m, getattr(former, f"o{n}"), getattr(inside, f"{name}{n}"))
            formers.append(former)
        m.d.comb += self.fault.eq(formers[0].fault | formers[1].fault)
        banks = [getattr(inside, port) for port in self.result.ports]
        rows(m, self.result, banks, self.size, getattr(self, self.result.tensor.name), self.word_bits)
        return m
