"""A spatial array: a stream for every port, and what is between them."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from ...arch.spatial import LENGTH, Spatial
from ...clock_gate import ClockGate
from ...emit import Clock, Macro, macro
from ...stream.stage import Stage
from .exit import Exit
from .going import Going, grouped
from .wave import Wave


def streams(spatial: Spatial) -> dict[str, Any]:
    """The streams of an array as members."""
    bits = spatial.bits
    length = {LENGTH: In(stream.Signature(range(spatial.launches + 1)))} if spatial.short else {}
    return (length | {each.name: In(stream.Signature(bits[each.tensor])) for each in spatial.sources}
            | {port.name: Out(stream.Signature(bits[port.tensor])) for port in spatial.outputs})


class SpatialArray(Component):
    """A spatial array.

    Behaviour: every stream takes or gives the words of one operation after the other, each in the order of the description
    (`Port.words`, `Chain`). A step is launched in every cycle in which the words are there that it needs, wherever the other
    words are; so no order between streams has to be kept. Where a word is given and the one before it was not taken, everything
    waits.

    Parameters
    ----------
    spatial : Spatial

    Members
    -------
    A_x_y : In(stream)      For each port or chain of an operand A, at the PE (x, y); ``m1`` is -1.
    C_x_y : Out(stream)     For each port of a result C.
    length : In(stream)     With `Spatial.short` the launches of each operation.

    Timing: a word in each cycle at each port, if the steps have one; one entry of slack at each. `ready` of inputs follows
    registers, those of all words that are there, and no input; `valid` of an output comes from its own, and nothing follows
    `ready` of outputs within the cycle. What they stop is known a cycle before, and told by registers, of which none leads to
    more than 16 PEs or ports, or the square root of all. A result is at its port `LATENCY` + `RESULT` cycles (`wave`) behind
    its step.
    Source: Stellar IV-A and IV-C. Departure: streams with valid and ready, in a known order, in place of register files that
    are searched by coordinates (facts on ordered borders: IV-D, its edge-to-edge form).
    """

    def __init__(self, spatial: Spatial) -> None:
        self.spatial, self.module_name = spatial, spatial.name.lower()
        super().__init__(streams(spatial))

    @property
    def emit_key(self) -> str:
        return repr(self.spatial)

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        inputs = (*([LENGTH] if self.spatial.short else []), *(each.name for each in self.spatial.sources))
        goes_on = Signal()      # of the next cycle
        on = self._going(m, goes_on, "going")
        clock = Clock(on)
        if self.spatial.clock_gate:
            m.submodules.clock_gate = gate = macro(ClockGate())
            m.d.comb += gate.on.eq(on | ResetSignal())
            clock = Clock(on, gate.gated)
        m.submodules.wave = wave = macro(Wave(self.spatial), clock=clock)
        if not self.spatial.clock_gate:
            m.d.comb += wave.on.eq(Cat(self._going(m, goes_on, f"going_pes_{n}") for n in range(len(wave.on))))
        room = []
        for n, group in enumerate(grouped((*inputs, *(port.name for port in self.spatial.outputs)))):
            on = self._going(m, goes_on, f"going_ports_{n}")
            for name in group:
                if name in inputs:
                    self._enters(m, name, wave, on)
                else:
                    room.append(self._leaves(m, name, wave, on))
        m.d.comb += goes_on.eq(Cat(room).all())
        return m

    def _going(self, m: Module, goes_on: Signal, name: str) -> Signal:
        """A register of whether the array goes on."""
        m.submodules[name] = going = macro(Going())
        m.d.comb += going.next.eq(goes_on)
        on: Signal = going.on
        return on

    def _enters(self, m: Module, name: str, wave: Macro, on: Signal) -> None:
        source = getattr(self, name)
        m.submodules[f"port_{name}"] = stage = macro(Stage(len(source.payload)))
        m.d.comb += [stage.i.payload.eq(source.payload), stage.i.valid.eq(source.valid), source.ready.eq(stage.i.ready),
                     getattr(wave, f"{name}_word").eq(stage.o.payload), getattr(wave, f"{name}_there").eq(stage.o.valid),
                     stage.o.ready.eq(getattr(wave, f"{name}_taken") & on)]

    def _leaves(self, m: Module, name: str, wave: Macro, on: Signal) -> Value:
        """Let words leave; whether there is room for the one of the next cycle, if there is one."""
        sink, given, word = (getattr(self, name), *(getattr(wave, f"{name}_{part}") for part in ("given", "word")))
        m.submodules[f"port_{name}"] = leaving = macro(Exit(len(word)))
        m.d.comb += [leaving.word.eq(word), leaving.given.eq(given), leaving.goes_on.eq(on),
                     sink.payload.eq(leaving.o.payload.as_signed()),    # of fewer bits, if its values are never larger
                     sink.valid.eq(leaving.o.valid), leaving.o.ready.eq(sink.ready)]
        room: Value = ~(leaving.stays & Mux(on, getattr(wave, f"{name}_soon"), given))
        return room
