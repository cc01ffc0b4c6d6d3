"""The buffer of a result whose ports give fibers."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module
from amaranth.lib import stream
from amaranth.lib.wiring import Component, Out

from ...arch.written import Written
from ...arch.written_chain import ChainedWritten
from ...emit import macro
from ...stream.lead import lead
from .chain_writer import WRITERS, ChainWriter
from .fiber_collector import FiberCollector, fiber_members


class WrittenResult(Component):
    """Takes a fiber from each port of a result in turn, and stores them in a format.

    Parameters
    ----------
    written : Written

    Members
    -------
    i0, ... : In(stream)     `pair`s, of each port.
    values, ... : Out(stream), overflow : Out(1)     As of `FormatWriter`.
    parts : In(16)           As of `FiberCollector`.

    Timing: that of `FiberCollector` and of the writer of the format.
    Source: Stellar IV-C.
    """

    def __init__(self, written: Written) -> None:
        self.written = written
        arrays = {name: Out(stream.Signature(bits)) for name, bits in written.arrays.items()}
        super().__init__(fiber_members(written, {**arrays, "overflow": Out(1)}))

    @property
    def module_name(self) -> str:
        return f"written_{self.written.tensor.name.lower()}"

    @property
    def emit_key(self) -> Written:
        return self.written

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.collector = collector = macro(FiberCollector(self.written))
        m.submodules.writer = writer = macro(ChainWriter(self.written) if isinstance(self.written, ChainedWritten)
                                             else WRITERS[self.written.kind](self.written))
        for n in range(len(self.written.ports)):
            lead(m, getattr(self, f"i{n}"), getattr(collector, f"i{n}"))
        lead(m, collector.o, writer.i)
        for name in self.written.arrays:
            lead(m, getattr(writer, name), getattr(self, name))
        m.d.comb += self.overflow.eq(writer.overflow)
        if self.written.sums:
            m.d.comb += collector.parts.eq(self.parts)
        return m
