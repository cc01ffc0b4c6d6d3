"""The last launches of an array in step, and what went down its chains: as many as its wave has not passed yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from prover import always
from test_waves import OPERATION_BITS, Followed
from wave_registers import Registers

from sardonyx.hw.arch.spatial import Spatial
from sardonyx.hw.spatial.array import wave


@dataclass
class Launch:
    """Which steps of operations were launched in a cycle: bit n, whether one was in its step n, and the operation that was."""

    steps: Value
    operations: list[Signal]

    @property
    def any(self) -> Value:
        return self.steps.any()

    def of(self, steps: Iterable[int]) -> Value:
        """Whether one of some steps was launched."""
        return Cat(Const(0, 1), *(self.steps[n] for n in steps)).any()


@dataclass
class Loads:
    """Of a tensor that stays, as it was in a cycle.

    operation, loaded : the operation whose words PEs take next, and how many of them have gone down the chains.
    any : those of an operation were taken.
    goes, of, number : a word goes down, of which operation, and which one.
    """

    operation: Signal
    loaded: Signal
    any: Signal
    goes: Signal
    of: Signal
    number: Signal


class Remembered(Followed):
    """An array beside its last launches, the one of this cycle first."""

    def __init__(self, spatial: Spatial, monkeypatch: pytest.MonkeyPatch) -> None:
        self.registers = Registers(spatial, monkeypatch)
        super().__init__(spatial, self.registers.probes)

    @cached_property
    def deep(self) -> int:
        """How many cycles ago launches can be that matter."""
        return wave.LATENCY + wave.RESULT + max(self.spatial.ranks.values())

    def build(self, m: Module) -> None:
        super().build(m)
        probe: Any = self
        self.on: Value = probe.going
        for name in self.registers.going[1:]:
            always(m, f"{name} is as all are", getattr(self, name) == self.on)
        self._beat(m, probe)
        self.launched = [self.now]
        for n in range(1, self.deep + 1):
            self.launched.append(self._before(m, f"{n}_ago", self.launched[-1], self.on))
        for n, each in enumerate(self.launched):
            always(m, f"operations are whole intervals apart, {n} cycles ago", self._apart(each))
        # The last steps that were launched before those of the last cycles: what PEs have that keep values for steps.
        self.last = {rank: self._last(m, rank) for rank in sorted(set(self.spatial.ranks.values()))}
        self.loads = {tensor: self._loads(m, tensor) for tensor in dict.fromkeys(each.tensor for each in self.spatial.chains)}

    def _count(self, name: str) -> Signal:
        return Signal(OPERATION_BITS, name=name)

    def _beat(self, m: Module, probe: Any) -> None:
        """What is launched in this cycle, and what may be behind the first step of an operation, the `next` one."""
        steps, interval = self.spatial.launches, self.spatial.interval
        self.begun = self._count("begun")
        with m.If(self.on & probe.step & probe.at[0]):
            m.d.sync += self.begun.eq(self.begun + 1)
        ages, younger = [self._count(f"of_age_{n}") for n in range(steps)], Const(0)
        for n, operation in enumerate(ages):
            m.d.comb += operation.eq(self.begun - (younger + 1) if n else self.begun)
            younger = younger + (probe.later[n - 1] if n else 0)
        self.next, self.now = Launch(Cat(Const(0, 1), probe.later), ages), Launch(Signal(steps, name="launches"), ages)
        m.d.comb += self.now.steps.eq(Mux(probe.step, probe.at, 0))
        if interval > 1:
            always(m, "there are phases", probe.phase < interval)
            for n in range(1, steps):
                always(m, f"the phase is that of step {n}", ~probe.later[n - 1] | (probe.phase == n % interval))

    def _before(self, m: Module, name: str, each: Launch, moves: Value) -> Launch:
        """A launch as it was when it moved last."""
        before = Launch(Signal(len(each.steps), name=f"launches_{name}"), [
            self._count(f"operation_{n}_{name}") for n in range(len(each.operations))])
        with m.If(moves):
            m.d.sync += [before.steps.eq(each.steps), *(a.eq(b) for a, b in zip(before.operations, each.operations))]
        return before

    def _last(self, m: Module, rank: int) -> list[Launch]:
        """The steps before the one that PEs of a rank do now, the last one first; each launch has the steps behind those."""
        here, found = self.launched[wave.LATENCY + rank], list[Launch]()
        for ago in range(1, self.registers.steps + 1):
            found.append(self._before(m, f"step_{ago}_at_{rank}", found[-1] if found else here, self.on & here.any))
            always(m, f"operations were whole intervals apart, {ago} steps before at rank {rank}", self._apart(found[-1]))
        for ago, (newer, older) in enumerate(pairwise(found), 1):
            self._follows(m, f"{ago} steps before at rank {rank}", newer, older, newer.any)
        before = found[0]
        for n in range(wave.LATENCY + rank, 0, -1):
            each = self.launched[n]
            self._follows(m, f"{n} cycles ago at rank {rank}", each, before, each.any)
            chosen = Launch(Signal(len(each.steps)), [Signal(OPERATION_BITS) for _ in each.operations])
            m.d.comb += [out.eq(Mux(each.any, a, b)) for out, a, b in zip(
                (chosen.steps, *chosen.operations), (each.steps, *each.operations), (before.steps, *before.operations))]
            before = chosen
        self._follows(m, f"now at rank {rank}", self.next, before, Const(1))
        return found

    def _follows(self, m: Module, when: str, each: Launch, before: Launch, there: Value) -> None:
        """Whether a launch has the steps behind those of the one before."""
        for step in range(1, self.spatial.launches):
            goes_on = (each.steps[step] == before.steps[step - 1]) & (
                ~each.steps[step] | (before.operations[step - 1] == each.operations[step]))
            always(m, f"step {step} follows the one before it, {when}", ~there | goes_on)

    def _apart(self, launch: Launch) -> Value:
        """Whether operations are whole intervals apart."""
        apart: Value = Const(1)
        for n in range(self.spatial.launches):
            for other in range(n):
                if (n - other) % self.spatial.interval:
                    apart &= ~(launch.steps[n] & launch.steps[other])
        return apart

    def turn_of(self, steps: tuple[int, ...]) -> tuple[Value, Value]:
        """The operation and the number of the word that is next to go in one of some steps, in order."""
        operation: Value = self.begun
        nth: Value = Const(0)
        for age in range(1, max(steps) + 1):
            here = self.next.steps[age]
            operation = Mux(here, self.next.operations[age], operation)
            nth = Mux(here, sum(step < age for step in steps), nth)
        return operation, nth

    def _loads(self, m: Module, tensor: str) -> list[Loads]:
        """What went down chains in the last cycles, and what was there before."""
        step, length, interval = self.registers.taken_in(tensor), self.registers.length(tensor), self.spatial.interval
        loaded, load, number = (getattr(self, f"{tensor}_{part}") for part in ("loaded", "load", "number"))
        shapes = {"operation": OPERATION_BITS, "loaded": len(loaded), "any": 1, "goes": 1, "of": OPERATION_BITS,
                  "number": len(number)}
        found = [Loads(**{name: Signal(bits, name=f"{tensor}_{name}_{n}_ago") for name, bits in shapes.items()})
                 for n in range(self.deep + 1)]
        now = found[0]
        with m.If(self.on & self.now.steps[step]):
            m.d.sync += now.any.eq(1)
        m.d.comb += [now.operation.eq(self.turn_of((step,))[0]), now.loaded.eq(loaded), now.goes.eq(load),
                     now.number.eq(number), now.of.eq(now.operation + (loaded == length))]
        always(m, f"{tensor} has no more words than PEs", loaded <= length)
        always(m, f"{tensor} was taken for what is under way", now.any | ~self.next.of(range(step + 1, self.spatial.launches)))
        for n, (after, before) in enumerate(pairwise(found), 1):
            with m.If(self.on):
                m.d.sync += [getattr(before, name).eq(getattr(after, name)) for name in shapes]
            launch = self.launched[n]
            takes = launch.steps[step]
            always(m, f"{tensor} was complete when it was taken, {n} cycles ago",
                   ~takes | ((before.loaded == length) & (launch.operations[step] == before.operation)))
            always(m, f"{tensor} of the next operation is next then, {n} cycles ago",
                   (after.operation == (before.operation + takes)[:OPERATION_BITS]) & (after.any == (before.any | takes)))
            always(m, f"{tensor} went down the chains, {n} cycles ago", Mux(
                before.goes, (after.operation == before.of) & (after.loaded == before.number + 1) & Mux(
                    before.number != 0, (before.operation == before.of) & (before.loaded == before.number), 1),
                (after.loaded == 0) | ((after.loaded == before.loaded) & (after.operation == before.operation))))
            always(m, f"{tensor} has no more words than PEs, {n} cycles ago", before.loaded <= length)
            always(m, f"{tensor} is that of the steps that were launched {n} cycles ago", Cat(
                ~launch.steps[each] | ((after.operation == (launch.operations[each] + 1)[:OPERATION_BITS]) & after.any)
                for each in range(step, min(step + interval, self.spatial.launches))).all())
        return found
