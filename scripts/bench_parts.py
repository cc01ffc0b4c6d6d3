"""Areas of parts of spatial arrays: requests of buffers, constant and with settings; banks whose rows are all stored, and
banks that leave out rows; mergers, row-partitioned and flat; and periods of lanes of one element, of few ways and of many.

A request walks a matrix of 4 x 4: as buffers have it, and as one whose first address, extents and strides are registers. A bank
gives 4 rows of 64 elements, of which it has 256, to one port, one row after the other; memories are not counted. The
mergers are those of 4 ways that we ship: `merger_gamma`, 32 lanes of one element a cycle, and `merger_sparch`, one of 16; and
the first with 16 lanes, as many as the second takes elements in a cycle.

Source: Stellar IV-C and Listing 6 (hardcoded requests); VI-D (a row-partitioned merger takes 13 times less).
Cost: the flat merger half an hour on a busy machine; again, what the cache holds: seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.lib.wiring import Component, In, Out
from bench_spatial import emitted

from sardonyx import designs
from sardonyx.flow.asic.library import Library
from sardonyx.flow.asic.synthesis import ModuleArea, Registers, areas, netlist
from sardonyx.flow.asic.timing import least_period
from sardonyx.hw.arch.chain import ChainedBank
from sardonyx.hw.arch.merger import Merger
from sardonyx.hw.arch.private_buffer import COMPRESSED, DENSE, FIBER, LINKED, Bank, Level, Loop
from sardonyx.hw.memory.affine import AffineGenerator
from sardonyx.hw.memory.nest import Nest
from sardonyx.hw.spatial.buffer.chain_bank import walking
from sardonyx.hw.spatial.merge.merger import MergerArray
from sardonyx.mergers import MergerDesign

BITS, EXTENT, LOOPS = 16, 4, 2
ROWS, WORDS = 4, 256
BANKS = (COMPRESSED, COMPRESSED), (COMPRESSED, LINKED)
LANES, FLAT = "merger_gamma", "merger_sparch"
WAYS = 4, 8, 16, 32, 64
PERIODS = f"a lane of a merger of {', '.join(map(str, WAYS[:-1]))} and {WAYS[-1]} ways, flat: shortest period, ps"
NODE = "a node, for each element that it takes in a cycle"


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


def alike() -> str:
    """What is compared of mergers that take as many elements in a cycle."""
    take = _shipped(FLAT).take
    return f"as many elements a cycle, FIFOs and all: {take} lanes of an element, one of {take}"


def names() -> tuple[str, ...]:
    """What is compared."""
    lanes, flat = _shipped(LANES), _shipped(FLAT)
    return ("request of 4 x 4 words: constant, with settings",
            *(f"bank of 4 rows, 256 elements: dense above {last}, {outer} above {last}" for outer, last in BANKS),
            f"merger of 4 ways, FIFOs and all: {lanes.lanes} lanes of an element, one of {flat.take}",
            "its nodes alone", alike(), NODE)


def parts(library: Library) -> Iterator[tuple[str, float, float]]:
    """What is compared, and the um2 of the smaller and of the larger one, enables as multiplexers."""
    def measured(component: Component) -> Mapping[str, ModuleArea]:
        return areas(emitted(component), library, Registers.ENABLES)

    request, *banks, merger, nodes_alone, as_many, node = names()
    constant, settings = (measured(each)[each.module_name].total for each in (ConstantRequest(), SetRequest()))
    yield request, constant, settings
    for what, (outer, last) in zip(banks, BANKS, strict=True):
        plain, chained = (measured(walking(_bank(above, last), "bank"))["bank"].total for above in (DENSE, outer))
        yield what, plain, chained
    lanes, flat = _shipped(LANES), _shipped(FLAT)
    (whole, nodes), (half, _), (all_of_flat, nodes_of_flat) = (
        _merger(kind, measured) for kind in (lanes, replace(lanes, lanes=flat.take), flat))
    yield merger, whole, all_of_flat
    yield nodes_alone, nodes, nodes_of_flat
    yield as_many, half, all_of_flat
    yield node, nodes / (lanes.lanes * (lanes.ways - 1)), nodes_of_flat / (flat.take * (flat.ways - 1))


def lane_periods(library: Library) -> Iterator[tuple[int, float, float]]:
    """The ways of a lane of one element, its um2, and its shortest period in ps, flat, with what is around it at its ports."""
    for ways in WAYS:
        made = emitted(MergerArray(replace(_shipped(LANES), lanes=1, ways=ways)))
        yield ways, areas(made, library, Registers.ENABLES)[made.top].total, least_period(made, netlist(made, library), library)


def _bank(outer: str, last: str) -> Bank:
    """Of 8-bit values, all of whose fibers go to a port."""
    kind = Bank if outer == DENSE else ChainedBank
    return kind(8, (Level(outer, ROWS), Level(last, WORDS // ROWS)), WORDS, 0, 0, (Loop(ROWS, 1, 0),), 1, FIBER, True, 2)


def _shipped(name: str) -> Merger:
    design = designs.any_design(name)
    assert isinstance(design, MergerDesign), "mergers are what is asked for"
    return design.kind


def _merger(kind: Merger, measured: Callable[[Component], Mapping[str, ModuleArea]]) -> tuple[float, float]:
    """The area of a merger, and that of its nodes."""
    found = measured(MergerArray(kind))
    node, = (each.total for module, each in found.items() if module.startswith(("merge_node", "merge_matrix")))
    return found[kind.name].total, node * kind.lanes * (kind.ways - 1)
