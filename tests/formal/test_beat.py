"""The beat of arrays in step, for runs of any length: which step an operation is in, when it begins, and where it ends.

The steps of an operation are counted beside the beat, which must say what the count is. What says that words are there has any
value in every cycle.
"""

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal
from prover import Harness, Side, Verdict, always, assume, cover, free, prove, reachable

from sardonyx.hw.emit import macro
from sardonyx.hw.spatial.array.beat import Beat, ShortBeat
from sardonyx.hw.spatial.array.keep import Loading


class Beaten(Harness):
    """Operations of `steps`, begun in multiples of an interval; any one of them is followed."""

    def __init__(self, steps: int, interval: int) -> None:
        self.steps, self.interval = steps, interval
        phase = {"phase": ("beat.phase", (interval - 1).bit_length())} if interval > 1 else {}
        super().__init__({"later": ("beat.later", steps - 1), **phase})

    def build(self, m: Module) -> None:
        m.submodules.beat = beat = macro(Beat(self.steps, self.interval))
        later: Any = self.later         # type: ignore[attr-defined]
        m.d.comb += [beat.ready.eq(free(m, 1, "ready")), beat.complete.eq(free(m, 1, "complete"))]
        follows = free(m, 1, "follows")
        going = Signal()
        age = Signal(range(self.steps + 1))
        begins = beat.at[0] & beat.step
        with m.If(going):
            m.d.sync += age.eq(age + beat.step)
            with m.If(beat.step & (age == self.steps - 1)):
                m.d.sync += going.eq(0)
        with m.Elif(begins & follows):
            m.d.sync += [going.eq(1), age.eq(1)]
        always(m, "an operation is in the step that it is in", ~going | beat.at.bit_select(age, 1))
        always(m, "it is in a step behind the first", ~going | ((age != 0) & (age < self.steps)))
        always(m, "a step is done as soon as all is there", beat.step == (beat.at.any() & beat.complete))
        others = Cat(beat.at[n] & (age != n) & Cat(age == at for at in range(self.steps) if (at - n) % self.interval).any()
                     for n in range(self.steps))
        always(m, "operations are whole intervals apart", ~going | ~others.any())
        due = Cat(age == n for n in range(0, self.steps, self.interval)).any()
        always(m, "one begins when it is due and its words are there", ~going | (beat.at[0] == (beat.ready & due)))
        always(m, "one begins at once where none is under way", later.any() | (beat.at[0] == beat.ready))
        for n in range(1, self.steps):
            if self.interval > 1:
                phase: Any = self.phase     # type: ignore[attr-defined]
                always(m, f"the phase is that of step {n}", ~later[n - 1] | (phase == n % self.interval))
        if self.interval < self.steps:
            reachable(m, "two are under way", going & begins)
        reachable(m, "one ends", going & beat.step & (age == self.steps - 1))


class Shortened(Harness):
    """Operations that end where their length says. `stays`: it does until then."""

    def __init__(self, steps: int, cut: int, stays: bool = True) -> None:
        self.steps, self.cut, self.stays = steps, cut, stays
        super().__init__({"now": ("beat.now", (steps - 1).bit_length())})

    def build(self, m: Module) -> None:
        m.submodules.beat = beat = macro(ShortBeat(self.steps, self.cut))
        length = free(m, range(self.steps + 1), "length")
        m.d.comb += [beat.ready.eq(free(m, 1, "ready")), beat.complete.eq(free(m, 1, "complete")), beat.length.eq(length)]
        assume(m, "lengths are of steps", (length != 0) & (length <= self.steps))
        age = Signal(range(self.steps + 1))
        before = Signal.like(length)
        m.d.sync += before.eq(length)
        if self.stays:
            assume(m, "a length stays while its operation is under way", (age == 0) | (length == before))
        with m.If(beat.step):
            m.d.sync += age.eq(Mux(age == length - 1, 0, age + 1))
        always(m, "the operation is in one step, or in none", beat.at == Mux(
            (age == 0) & ~beat.ready, 0, 1 << Mux(age < self.cut, age, self.cut)))
        always(m, "a step is done as soon as all is there", beat.step == (beat.at.any() & beat.complete))
        always(m, "the last step is that of its length", beat.last == (beat.step & (age == length - 1)))
        always(m, "the count is that of its steps", (self.now == age) & (age < self.steps))   # type: ignore[attr-defined]
        always(m, "no operation is longer than it says", (age == 0) | (age < before))
        reachable(m, "one ends early", beat.last & (length < self.steps) & (age != 0))
        reachable(m, "one ends behind all steps", beat.last & (age == self.steps - 1))


class Loaded(Harness):
    """Words of chains, as many as PEs in each operation, which takes them when they are complete."""

    def __init__(self, length: int, heeds: bool = True) -> None:
        self.length, self.heeds = length, heeds
        super().__init__({"loaded": ("loading.loaded", length.bit_length())})

    def build(self, m: Module) -> None:
        m.submodules.loading = loading = macro(Loading(self.length))
        takes = free(m, 1, "takes")
        m.d.comb += [loading.arrived.eq(free(m, 1, "arrived")), loading.take.eq(takes & loading.full if self.heeds else takes)]
        count = Signal(range(self.length + 1))
        with m.If(loading.load):
            m.d.sync += count.eq(Mux(loading.take, 1, count + 1))
        with m.Elif(loading.take):
            m.d.sync += count.eq(0)
        always(m, "words are complete when all have come", loading.full == (count == self.length))
        always(m, "no more come than there are PEs", count <= self.length)
        always(m, "a word goes where there is a place, at once", loading.load
               == (loading.arrived & ((count < self.length) | loading.take)))
        always(m, "it is told how many went before", ~loading.load | (loading.number == Mux(loading.take, 0, count)))
        always(m, "the count is that of the words", self.loaded == count)       # type: ignore[attr-defined]
        reachable(m, "a word follows those that are taken", loading.load & loading.take)


def beats() -> Side:
    return Side({**{f"beat {steps} {interval}": Beaten(steps, interval) for steps, interval in
                    ((2, 1), (4, 1), (5, 2), (7, 3), (3, 3), (3, 5))},
                 **{f"short {steps} {cut}": Shortened(steps, cut) for steps, cut in ((3, 1), (5, 1), (6, 3), (7, 6))},
                 **{f"loading {length}": Loaded(length) for length in (1, 2, 5)}})


def test_operations_pass_their_steps_begin_when_they_are_due_and_end_where_their_length_says(tmp_path: Path) -> None:
    assert prove(beats(), tmp_path) == Verdict(True)


def test_operations_begin_beside_others_and_end_early(tmp_path: Path) -> None:
    assert cover(beats(), tmp_path, 12)


class Hasty(Beat):
    """Begins an operation whenever its words are there."""

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        later = Signal(self.steps - 1)
        phase = Signal(range(self.interval))
        m.d.comb += [self.at.eq(Cat(self.ready, later)), self.step.eq(self.at.any() & self.complete)]
        with m.If(self.step):
            m.d.sync += [later.eq(self.at), phase.eq(0)]
        return m


def test_an_operation_that_begins_before_it_is_due_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.Beat", Hasty)
    claim = "operations are whole intervals apart"
    assert prove(Beaten(4, 2), tmp_path, bound=6, only=claim).failed == (claim,)


def test_a_length_that_changes_under_way_is_found(tmp_path: Path) -> None:
    claim = "no operation is longer than it says"
    assert prove(Shortened(5, 1, stays=False), tmp_path, bound=5, only=claim).failed == (claim,)


def test_words_that_are_taken_before_they_are_complete_are_found(tmp_path: Path) -> None:
    claim = "it is told how many went before"
    assert prove(Loaded(3, heeds=False), tmp_path, bound=5, only=claim).failed == (claim,)
