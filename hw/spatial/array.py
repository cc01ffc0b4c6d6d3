"""A spatial array: PEs, the wires between them, and a stream for every port."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module, Value
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from ..arch.spatial import Port, Position, Spatial
from ..emit import macro
from ..stream.fifo import Fifo2
from .beat import Beat
from .pe import Kind, Pe, feed_name, given_name, kinds, result_name, rule_steps, tap_name


class SpatialArray(Component):
    """A spatial array.

    Behaviour: every port is a stream that takes or gives the words of one operation after the other, each in the order of the
    description (`Port.words`). The array goes on by a step in every cycle in which the words that the step needs are there and
    those that it gives find room, wherever the other words are; so no order between ports has to be kept.

    Parameters
    ----------
    spatial : Spatial

    Members
    -------
    A_x_y : In(stream)      For each port of an operand A, at the PE (x, y); ``m1`` is -1.
    C_x_y : Out(stream)     For each port of a result C.

    Timing: a word in each cycle at each port, if the steps have one; two entries of slack at each port. `valid` and `ready`
    come from registers. A result leaves a cycle after its step at the earliest.
    Source: Stellar IV-A and IV-C. Departure: streams with valid and ready, in a known order, in place of register files that
    are searched by coordinates (facts on ordered borders: IV-D, its edge-to-edge form).
    """

    def __init__(self, spatial: Spatial) -> None:
        self.spatial, self.module_name = spatial, spatial.name.lower()
        bits = spatial.bits
        super().__init__({port.name: In(stream.Signature(bits[port.tensor])) for port in spatial.inputs}
                         | {port.name: Out(stream.Signature(bits[port.tensor])) for port in spatial.outputs})

    @property
    def emit_key(self) -> str:
        return repr(self.spatial)

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.beat = beat = macro(Beat(self.spatial.steps, self.spatial.interval))
        pes = self._pes(m, beat)
        at_first, complete = [], []
        first = min(port.words[0].step for port in self.spatial.inputs)
        for port in self.spatial.inputs:
            fifo = self._fifo(m, port)
            source = getattr(self, port.name)
            m.d.comb += [fifo.i.payload.eq(source.payload), fifo.i.valid.eq(source.valid), source.ready.eq(fifo.i.ready),
                         getattr(pes[port.position], feed_name(port.tensor, port.slot)).eq(fifo.o.payload),
                         fifo.o.ready.eq(beat.step & self._used(port, beat))]
            complete.append(fifo.o.valid | ~self._used(port, beat))
            if port.words[0].step == first:
                at_first.append(fifo.o.valid)
        for port in self.spatial.outputs:
            fifo = self._fifo(m, port)
            sink = getattr(self, port.name)
            m.d.comb += [fifo.i.payload.eq(getattr(pes[port.position], result_name(port.tensor, port.slot))),
                         fifo.i.valid.eq(beat.step & self._used(port, beat)),
                         sink.payload.eq(fifo.o.payload), sink.valid.eq(fifo.o.valid), fifo.o.ready.eq(sink.ready)]
            complete.append(fifo.i.ready | ~self._used(port, beat))
        m.d.comb += [beat.ready.eq(Cat(at_first).all()), beat.complete.eq(Cat(complete).all())]
        return m

    def _pes(self, m: Module, beat: Beat) -> dict[Position, Pe]:
        """The PEs with their wires."""
        names: dict[Kind, str] = {}
        found, pes = kinds(self.spatial), dict[Position, Pe]()
        for at, kind in found.items():
            name = names.setdefault(kind, f"{self.module_name}_pe{len(names)}")
            place = "_".join(str(each) if each >= 0 else f"m{-each}" for each in at)
            m.submodules[f"pe_{place}"] = pes[at] = macro(Pe(kind, name))
        for cell in self.spatial.cells:
            pe, at = pes[cell.position], cell.position
            m.d.comb += pe.step.eq(beat.step)
            m.d.comb += [getattr(pe, port).eq(Cat(_any(steps, beat) for steps in bits)) for port, bits in rule_steps(cell)]
            for tap in found[at].taken:
                source = pes[tuple(a - b for a, b in zip(at, tap.offset))]
                m.d.comb += getattr(pe, tap_name(tap)).eq(getattr(source, given_name(tap.variable, tap.delay)))
        return pes

    def _fifo(self, m: Module, port: Port) -> Fifo2:
        fifo = m.submodules[f"port_{port.name}"] = macro(Fifo2(self.spatial.bits[port.tensor]))
        return fifo

    def _used(self, port: Port, beat: Beat) -> Value:
        """Whether a port takes or gives a word in this step."""
        return _any(tuple(word.step for word in port.words), beat)


def _any(steps: tuple[int, ...], beat: Beat) -> Value:
    """Whether an operation is in one of some steps."""
    return Cat(beat.at[step] for step in steps).any()
