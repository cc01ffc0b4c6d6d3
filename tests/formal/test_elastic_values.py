"""What PEs of elastic arrays compute: of each operation the words that its operands have, once, whatever waits.

What a step takes is said again here, from what the document of `ElasticPe` promises. Products are a cheap function of the same
operands (`prover`): which one does not matter.
"""

import dataclasses
from functools import reduce
from operator import and_, or_
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Const, Module, Mux, Signal, Value, signed
from prover import Harness, Side, Verdict, always, cover, prove, reachable
from test_elastic import PRODUCT, SUM, WORKERS, Kept, X, Y

from sardonyx.hw.arch.elastic import ALIGNED, FIBER, INTERSECT, UNION, WORD, Taken, Worker
from sardonyx.hw.arch.logic import Apply, Feed, Logic
from sardonyx.hw.arch.reduction import ADD, ALL, ANY, LARGEST, REDUCTIONS, SMALLEST, TIMES
from sardonyx.hw.arch.token import CONTROL
from sardonyx.hw.spatial.array import elastic_pe
from sardonyx.hw.spatial.array.elastic_pe import ElasticPe

BITS = 3
FEW = tuple(dataclasses.replace(each, bits=BITS) for each in (X, Y))
# Each reduction, and operands that are joined in each way.
COMPUTED = {f"reduced {name}": Worker(FEW, INTERSECT, ("x", "y"), PRODUCT, BITS, sums=True, reduction=name)
            for name in REDUCTIONS if name != TIMES} | {
    "all of either": Worker(FEW, UNION, ("x", "y"), SUM, BITS, sums=True, reduction=LARGEST),
    "with a word": Worker((Taken("x", BITS, WORD, 1), FEW[1]), ALIGNED, ("y",), PRODUCT, BITS, sums=True, reduction=SMALLEST),
    **{name: each for name, each in WORKERS.items() if not each.sums}}


class Computed(Kept):
    """A PE, beside what a step of it takes and gives."""

    def __init__(self, worker: Worker, name: str) -> None:
        self.worker, self.component = worker, ElasticPe(worker, name)
        self.handed = [(each.name, n) for each in worker.operands for n in range(each.forwards)
                       if each.form == WORD or (worker.is_joined and each.name in worker.carriers)]
        probes = {f"{name}_sent{n}": (f"component.{name}_sent{n}", 1) for name, n in self.handed}
        # Of the outputs of a step: first what others have by it, then that they have what went ahead, and the result.
        self.forked = [(each.name, n) for each in worker.operands for n in range(each.forwards)
                       if (each.name, n) not in self.handed and each.form == FIBER]
        self.ahead = [(name, n) for name, n in self.handed if name in worker.carriers and worker.is_joined]
        probes["gone"] = ("component.gone", len(self.forked) + bool(self.ahead) + 1)
        if worker.sums:
            probes["total"] = ("component.total", worker.bits)
        if worker.quiet:
            probes["told"] = ("component.told", 1)
        Harness.__init__(self, probes)

    def build(self, m: Module) -> None:
        super().build(m)
        self.sent: dict[tuple[str, int], Signal] = {}
        worker = self.worker
        probe: Any = self
        part: Any = m.submodules.component
        heads = {each.name: getattr(part, each.name) for each in worker.operands}
        ends = {name: head.payload.crd.control for name, head in heads.items()}
        words = [each.name for each in worker.operands if each.form == WORD]
        fibers = [each.name for each in worker.operands if each.form == FIBER]
        takes, over, matched, crd, ready = self._step(heads, ends, fibers)
        takes |= dict.fromkeys(words, over)
        there = reduce(and_, [ready, *(heads[name].valid for name in words)])
        goes = {name: head.valid & head.ready for name, head in heads.items()}
        steps = reduce(or_, (goes[name] for name in fibers))
        always(m, "a step begins when all is there", ~steps | there)
        for name in heads:
            always(m, f"{name} is taken by the steps that need it", goes[name] == (steps & takes[name]))
        present = reduce(and_, [~ends[name] for name in words], Const(1)) if worker.quiet else Const(1)
        # A PE that is quiet and has no word ends at once, and drops what follows.
        ended, gave, total = Signal(), Signal(), Signal(signed(worker.bits))
        gives = over if worker.sums else Mux(present, over | matched, ~ended)
        given = part.o.valid & part.o.ready
        value = self._value(worker.value, heads, takes)
        next_total = self._reduced(m, total, value)
        m.d.sync += gave.eq((gave | given) & ~steps)
        with m.If(steps):
            m.d.sync += ended.eq(~over & ~present)
            m.d.sync += total.eq(Mux(over, 0, Mux(matched, next_total, total)))
        handed = reduce(and_, [self._handed(m, part, name, n, goes[name]) for name, n in self.handed if name in words],
                        Const(1))
        always(m, "what is there is given, once", part.o.valid == (there & (handed | ~over) & gives & ~gave))
        always(m, "no step ends before it was given", ~steps | ~gives | gave | given)
        for name, n in self.handed:
            if name not in words:
                self._handed(m, part, name, n, goes[name])
        self._forks(m, part, heads, there & (handed | ~over), takes, steps)
        always(m, "it is known what was given", (probe.gone[-1] == gave) & (there | ~gave))
        if self.ahead:
            gone = probe.gone[-2]
            always(m, "it is known what went ahead", ~gone | reduce(and_, [
                ~takes[name] | self.sent[name, n] for name, n in self.ahead]))
        out = part.o.payload
        if worker.sums:
            always(m, "the word of a fiber is what its values become", ~part.o.valid | (out.value.as_signed() == total))
            always(m, "it has no coordinate", ~part.o.valid | (out.crd.as_value() == 0))
            always(m, "the total is what values became", probe.total.as_signed() == total)
        else:
            shown = present & ~over
            always(m, "a value is of the words of its coordinate",
                   ~part.o.valid | ~shown | (out.value.as_signed() == value.as_signed()[:worker.bits].as_signed()))
            always(m, "it has their coordinate, and else an end", ~part.o.valid | (
                out.crd.as_value() == Mux(shown, crd, CONTROL)))
        if worker.quiet:
            always(m, "it knows whether it has ended", probe.told == ended)
        if worker.row:
            always(m, "its row goes beside it", ~part.o.valid | (out.row == heads[worker.row].payload.crd))
        if worker.sums and worker.reduction != ALL:     # from 0 on, which none becomes anything else
            reachable(m, "a fiber leaves that became something else", part.o.valid & (total != 0))

    def _step(self, heads: Any, ends: Any, fibers: list[str]) -> tuple[dict[str, Value], Value, Value, Value, Value]:
        """Which fibers a step takes, whether they end, or have something at one coordinate, which, and whether all is there."""
        carriers = self.worker.carriers
        valid = {name: heads[name].valid for name in fibers}
        crds = {name: heads[name].payload.crd for name in fibers}
        if len(carriers) == 1:
            own = carriers[0]
            return (dict.fromkeys(fibers, Const(1)), ends[own], ~ends[own], crds[own].as_value(),
                    reduce(and_, valid.values()))
        x, y = carriers
        place = {name: Mux(ends[name], 1 << 16, crds[name].data) for name in carriers}
        least = Mux(place[x] < place[y], place[x], place[y])
        over, same = ends[x] & ends[y], place[x] == place[y]
        matched = ~over if self.worker.join == UNION else ~over & same
        takes: dict[str, Value] = {name: place[name] == least for name in carriers}
        others = [name for name in fibers if name not in carriers]
        takes |= dict.fromkeys(others, matched | over)
        ready = valid[x] & valid[y] & reduce(and_, [valid[name] | ~takes[name] for name in others], Const(1))
        return takes, over, matched, least, ready

    def _value(self, logic: Logic, heads: Any, takes: dict[str, Value]) -> Value:
        assert isinstance(logic, Apply) and logic.operation in ("add", "mul"), "PEs here add or multiply"
        found = []
        for each in logic.operands:
            assert isinstance(each, Feed), "of their operands"
            name = each.tensor
            here = heads[name].payload.value.as_signed()
            missing = self.worker.join == UNION and name in self.worker.carriers
            found.append(Mux(takes[name], here, 0).as_signed() if missing else here)
        first, second = found
        return first + second if logic.operation == "add" else first * second

    def _reduced(self, m: Module, total: Any, value: Value) -> Value:
        now = Signal(signed(self.worker.bits), name="now")
        m.d.comb += now.eq(value)
        return {ADD: total + now, LARGEST: Mux(total > now, total, now), SMALLEST: Mux(total < now, total, now),
                ALL: (total != 0) & (now != 0), ANY: (total != 0) | (now != 0)}[self.worker.reduction]

    def _handed(self, m: Module, part: Any, name: str, n: int, goes: Value) -> Value:
        """What others have from here: each word once, as soon as it is there; whether that was done."""
        head, to, sent = getattr(part, name), getattr(part, f"{name}_o{n}"), Signal(name=f"{name}_was_sent{n}")
        given = to.valid & to.ready
        m.d.sync += sent.eq((sent | given) & ~goes)
        always(m, f"{name} {n} has each word once", to.valid == (head.valid & ~sent))
        always(m, f"{name} {n} has it as it came", ~to.valid | (to.payload.as_value() == head.payload.as_value()))
        always(m, f"{name} {n} has it before it is taken", ~goes | sent | given)
        self.sent[name, n] = sent
        always(m, f"{name} {n} is known to have it", (getattr(self, f"{name}_sent{n}") == sent) & (head.valid | ~sent))
        return sent

    def _forks(self, m: Module, part: Any, heads: Any, there: Value, takes: dict[str, Value], steps: Value) -> None:
        """What others have from here by the step that takes it."""
        probe: Any = self
        for at, (name, n) in enumerate(self.forked):
            to, sent = getattr(part, f"{name}_o{n}"), Signal(name=f"{name}_was_sent{n}")
            given = to.valid & to.ready
            m.d.sync += sent.eq((sent | given) & ~steps)
            always(m, f"{name} {n} has each word once", to.valid == (there & takes[name] & ~sent))
            always(m, f"{name} {n} has it as it came", ~to.valid | (to.payload.as_value() == heads[name].payload.as_value()))
            always(m, f"{name} {n} has it before it is taken", ~steps | ~takes[name] | sent | given)
            always(m, f"{name} {n} is known to have it by a step", probe.gone[at] == sent)


FEW_OF_THEM = ("reduced max", "word")


def computed(names: "tuple[str, ...]" = tuple(COMPUTED)) -> Side:
    return Side({name: Computed(COMPUTED[name], name.replace(" ", "_")) for name in names})


@pytest.mark.parametrize("names", [FEW_OF_THEM, pytest.param(tuple(COMPUTED), marks=pytest.mark.slow)], ids=["few", "all"])
def test_pes_compute_what_their_operands_have(names: "tuple[str, ...]", tmp_path: Path) -> None:
    assert prove(computed(names), tmp_path, 2) == Verdict(True)


@pytest.mark.slow
def test_a_fiber_leaves_as_something_else_than_it_began(tmp_path: Path) -> None:
    assert cover(computed(), tmp_path, 7)


class Marked(ElasticPe):
    """The total of a fiber leaves with an end for a coordinate."""

    def elaborate(self, platform: Any) -> Any:
        m: Any = super().elaborate(platform)
        m.d.comb += self.o.payload.crd.eq(CONTROL)
        return m


def _early(self: ElasticPe, m: Module, each: Taken, nth: int) -> Value:
    """What is at an input goes to others as often as they take it."""
    word, to = getattr(self, each.name), getattr(self, f"{each.name}_o{nth}")
    sent = Signal(name=f"{each.name}_sent{nth}")
    m.d.comb += [to.payload.eq(word.payload), to.valid.eq(word.valid)]
    with m.If(word.valid):
        m.d.sync += sent.eq(to.ready)
    return sent


def _leads(self: ElasticPe, fibers: list[Taken]) -> Any:
    """The second of two that have something leads wherever the first one does."""
    join = JOIN(self, fibers)
    return dataclasses.replace(join, takes=dict.fromkeys(join.takes, Const(1)))


JOIN = ElasticPe._join
BROKEN = {
    "reduced max": (("_join", _leads), "x is taken by the steps that need it"),
    "merger": (("_join", _leads), "x is taken by the steps that need it"),
    "word": (("_hand_on", _early), "x 0 has each word once"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_a_step_that_goes_otherwise_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (method, broken), claim = BROKEN[name]
    monkeypatch.setattr(ElasticPe, method, broken)
    assert prove(Computed(COMPUTED[name], "broken"), tmp_path, bound=5, only=claim).failed == (claim,)


def test_a_total_with_a_coordinate_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ElasticPe", Marked)
    claim = "it has no coordinate"
    assert prove(Computed(COMPUTED["reduced max"], "broken"), tmp_path, bound=3, only=claim).failed == (claim,)


@pytest.mark.slow
def test_another_reduction_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = elastic_pe.applied
    monkeypatch.setattr(elastic_pe, "applied", lambda operation, operands: right(
        {LARGEST: SMALLEST}.get(operation, operation), operands))
    claim = "the word of a fiber is what its values become"
    assert prove(Computed(COMPUTED["reduced max"], "broken"), tmp_path, bound=4, only=claim).failed == (claim,)
