"""A port that is clocked while it is used only, beside one that always is, under the same signals: what tests of both ports of
a machine share."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from sardonyx.hw.arch.glb import CELL
from sardonyx.hw.clock_gate import gated_clock, lasting
from sardonyx.hw.emit import macro


class Alike(wiring.Component):
    """Two ports, and what was seen.

    Parameters
    ----------
    make : a port. Both have the inputs of this component, one of them a gated clock.
    used : whether a port is used, so that its clock has to go.
    margin : cycles that the clock goes on behind a use.
    does : all that a port does in a cycle; what belongs to an offer counts while there is one only.
    counted : what is counted of the port that is always clocked, by name.

    Members
    -------
    reset : In(1)
    differs : Out(1)           The two once did not do the same.
    rested : Out(16)           Cycles in which one had no clock.
    and an Out(16) for each of `counted`.
    """

    def __init__(self, make: Callable[[], Any], used: Callable[[Any], ValueLike], margin: int, does: Callable[[Any], Value],
                 counted: Mapping[str, Callable[[Any], ValueLike]]) -> None:
        self.ports = [make(), make()]
        self.used, self.margin, self.does, self.counted = used, margin, does, counted
        self.inputs = {name: member for name, member in self.ports[0].signature.members.items() if member.flow is In}
        super().__init__({**self.inputs, "reset": In(1), "differs": Out(1), "rested": Out(16),
                          **{name: Out(16) for name in counted}})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        clock = gated_clock(m, "port", CELL, platform)
        m.submodules.plain = plain = macro(self.ports[0], flush=self.reset)
        m.submodules.gated = gated = macro(self.ports[1], flush=self.reset, clock=clock)
        goes = Signal()
        m.d.comb += [goes.eq(self.reset | lasting(m, "port", self.reset | self.used(gated), self.margin)), clock.on.eq(goes)]
        for name in self.inputs:
            m.d.comb += [getattr(each, name).eq(getattr(self, name)) for each in (plain, gated)]
        with m.If(self.does(plain) != self.does(gated)):
            m.d.sync += self.differs.eq(1)
        m.d.sync += self.rested.eq(self.rested + ~goes)
        for name, what in self.counted.items():
            m.d.sync += getattr(self, name).eq(getattr(self, name) + what(plain))
        return m


def offered(ready: Iterable[ValueLike], offers: Sequence[tuple[ValueLike, ValueLike]]) -> Value:
    """What a port does: signals that always count, and pairs of an offer and what belongs to it."""
    return Cat(*ready, *(Cat(valid, Mux(valid, what, 0)) for valid, what in offers))


class Held:
    """Bits that a master or a memory holds for some cycles each.

    Parameters
    ----------
    names : the bits.
    cycles : the lengths to draw from.
    """

    def __init__(self, names: Iterable[str], cycles: Sequence[int]) -> None:
        self.left, self.cycles = dict.fromkeys(names, 0), cycles

    def drawn(self, draw: random.Random, forced: Mapping[str, bool]) -> dict[str, bool]:
        """The bits that change in this cycle; those of `forced` are as it says, and are drawn anew behind it."""
        found = dict[str, bool]()
        for name in self.left:
            self.left[name] -= 1
            if name in forced:
                found[name] = forced[name]
            elif self.left[name] < 0:
                self.left[name] = draw.choice(self.cycles)
                found[name] = draw.random() < 0.5
        return found


def run(dut: Alike, cycles: int, signals: Callable[[int], Mapping[str, int]]) -> dict[str, int]:
    """What was counted in so many cycles, or till they differed; signals: what inputs are set to in a cycle, by name."""
    found = dict[str, int]()

    async def drive(sim: Any) -> None:
        for cycle in range(cycles):
            for name, value in signals(cycle).items():
                sim.set(getattr(dut, name), value)
            await sim.tick()
            if sim.get(dut.differs):
                break
        found.update({name: sim.get(getattr(dut, name)) for name in ("differs", "rested", *dut.counted)})

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()
    return found
