"""Write levels of which one without zeros is above another one: each by a writer of its own."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from ...arch.private_buffer import BITVECTOR, COMPRESSED, DENSE, LINKED
from ...arch.written_chain import ChainedWritten
from ...emit import macro
from ...stream.fifo import Fifo2
from ...stream.lead import lead
from ..array.elastic_pe import pair
from .bit_writer import BitWriter
from .compressed_writer import CompressedWriter
from .dense_writer import DenseWriter
from .fiber_dropper import FiberDropper
from .list_writer import ListWriter

WRITERS = {DENSE: DenseWriter, COMPRESSED: CompressedWriter, BITVECTOR: BitWriter, LINKED: ListWriter}


class ChainWriter(Component):
    """Leaves out fibers without an element, from the last level outwards, and writes what is left of each level.

    Behaviour: of fibers S0, (0, 7) S0, S0 levels compressed and compressed have segments0 0 1, coordinates0 1, segments 0 1,
    coordinates 0, values 7.

    Parameters
    ----------
    written : ChainedWritten

    Members
    -------
    i, overflow         As of `FormatWriter`.
    segments0, ... : Out(stream)        The arrays, each behind its length.

    Timing: that of a `FiberDropper` for each level above the last one, with two entries behind it, and of the writers.
    Source: Stellar III-E and IV-C.
    """

    def __init__(self, written: ChainedWritten) -> None:
        self.written = written
        super().__init__({"i": In(stream.Signature(pair(written.tensor.bits))), "overflow": Out(1),
                          **{name: Out(stream.Signature(bits)) for name, bits in written.arrays.items()}})

    @property
    def emit_key(self) -> ChainedWritten:
        return self.written

    @property
    def module_name(self) -> str:
        return f"write_{self.written.tensor.name.lower()}"

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        left, bits, last = self.i, self.written.tensor.bits, self.written.last
        levels = []
        for split in self.written.splits:
            nth = split.level.link.nth
            m.submodules[f"dropper{nth}"] = dropper = macro(FiberDropper(split.extent, split.group, bits, split.level.node))
            m.submodules[f"left{nth}"] = held = macro(Fifo2(pair(bits)))
            m.submodules[f"crd{nth}"] = crds = macro(Fifo2(pair(0)))
            lead(m, left, dropper.i)
            lead(m, dropper.o, held.i)
            lead(m, dropper.crd, crds.i)
            levels.append((last, held.o))
            left, bits, last = crds.o, 0, split.level
        levels.append((last, left))
        overflows = []
        for level, given in levels:
            m.submodules[f"level{level.link.nth}"] = writer = macro(WRITERS[level.kind](level))
            lead(m, given, writer.i)
            for name in level.arrays:
                own = name + ("" if name == "values" else level.link.suffix)
                lead(m, getattr(writer, name), getattr(self, own))
            overflows.append(writer.overflow)
        m.d.comb += self.overflow.eq(Cat(overflows).any())
        return m
