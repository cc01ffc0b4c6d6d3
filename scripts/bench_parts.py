"""Areas of parts of spatial arrays: requests of buffers, constant and with settings.

A request walks a matrix of 4 x 4: as buffers have it, and as one whose first address, extents and strides are registers.

Source: Stellar IV-C and Listing 6 (hardcoded requests).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.lib.wiring import Component, In, Out
from bench_spatial import emitted

from sardonyx.flow.asic.library import Library
from sardonyx.flow.asic.synthesis import Registers, areas
from sardonyx.hw.memory.affine import AffineGenerator
from sardonyx.hw.memory.nest import Nest

BITS, EXTENT, LOOPS = 16, 4, 2


class ConstantRequest(Component):
    """A request as of a private buffer."""

    module_name = "constant_request"

    def __init__(self) -> None:
        super().__init__({"step": In(1), "number": Out(BITS), "ends": Out(1), "last": Out(1)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.nest = nest = Nest(0, tuple((EXTENT, EXTENT**level) for level in range(LOOPS)), BITS)
        m.d.comb += [nest.step.eq(self.step), self.number.eq(nest.number), self.ends.eq(nest.ends), self.last.eq(nest.last)]
        return m


class SetRequest(Component):
    """The same behind registers of all that is constant there, each written by a word."""

    module_name = "request_with_settings"

    def __init__(self) -> None:
        super().__init__({"step": In(1), "restart": In(1), "number": Out(BITS), "ends": Out(1), "last": Out(1),
                          "write": In(1 + 2 * LOOPS), "word": In(BITS)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.loops = loops = AffineGenerator(LOOPS, BITS)
        kept = [Signal(BITS, name=f"setting{n}", reset_less=True) for n in range(1 + 2 * LOOPS)]
        for n, setting in enumerate(kept):
            with m.If(self.write[n]):
                m.d.sync += setting.eq(self.word)
        m.d.comb += [loops.step.eq(self.step), loops.restart.eq(self.restart), loops.start.eq(kept[0]),
                     self.number.eq(loops.address), self.ends.eq(loops.slice_ends), self.last.eq(loops.last)]
        for level in range(LOOPS):
            m.d.comb += [loops.loops.extent[level].eq(kept[1 + level]),
                         loops.loops.stride[level].eq(kept[1 + LOOPS + level].as_signed())]
        return m


def parts(library: Library) -> Iterator[tuple[str, float, float]]:
    """What is compared, and the um2 of the smaller and of the larger one, enables as multiplexers."""
    def um2(component: Component) -> float:
        design = emitted(component)
        return areas(design, library, Registers.ENABLES)[design.top].total

    yield "request of 4 x 4 words: constant, with settings", um2(ConstantRequest()), um2(SetRequest())
