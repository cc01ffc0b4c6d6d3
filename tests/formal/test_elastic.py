"""The stream contract of PEs, mergers and spreads of elastic arrays: if their inputs keep it, so do their outputs."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In
from chains import keeps_contract
from prover import Harness, Side, Verdict, always, assume, cover, free, prove, reachable

from sardonyx.hw.arch.elastic import ALIGNED, FIBER, IN_FLIGHT, INTERSECT, UNION, WORD, Balance, Spread, Taken, Worker, adder
from sardonyx.hw.arch.logic import Apply, Feed
from sardonyx.hw.arch.merger import Merger
from sardonyx.hw.arch.reduction import ADD, ALL, ANY, LARGEST, REDUCTIONS, SMALLEST, TIMES
from sardonyx.hw.emit import macro
from sardonyx.hw.spatial.array import balance, spread
from sardonyx.hw.spatial.array.elastic_pe import ElasticPe
from sardonyx.hw.spatial.merge import matrix
from sardonyx.hw.spatial.merge.matrix import MergeMatrix
from sardonyx.hw.spatial.merge.merger import MergerArray
from sardonyx.hw.spatial.merge.node import MergeNode
from sardonyx.hw.spatial.merge.tree import MergeTree

SUM, PRODUCT = (Apply(name, (Feed("x", 0), Feed("y", 0))) for name in ("add", "mul"))
X, Y = (Taken(name, 4, FIBER, 1) for name in "xy")
WORKERS = {
    "merger": adder(4, SUM),
    "word": Worker((Taken("x", 4, WORD, 1), Y), ALIGNED, ("y",), SUM, 4, quiet=True, row="x"),
    "sum": Worker((X, Y), INTERSECT, ("x", "y"), SUM, 4, sums=True),
    "largest": Worker((X, Y), INTERSECT, ("x", "y"), SUM, 4, sums=True, reduction=LARGEST),
    "union": Worker((X, Y, Taken("z", 4, FIBER)), UNION, ("x", "y"), SUM, 4),
}


class Kept(Harness):
    """A unit between sources that keep the contract and sinks that do as they like; inputs hold any words."""

    def __init__(self, component: "ElasticPe | spread.Spread | MergeMatrix | MergeNode | MergeTree | MergerArray") -> None:
        self.component = component
        super().__init__()

    def build(self, m: Module) -> None:
        m.submodules.component = component = macro(self.component)
        for name, member in self.component.signature.members.items():
            words = getattr(component, name)
            if member.flow is not In:
                m.d.comb += words.ready.eq(free(m, 1, f"{name}_ready"))
                waits = keeps_contract(m, name, words)
                reachable(m, f"{name} is taken after it waited", waits & words.valid & words.ready)
                continue
            self.source(m, name, words)
            keeps_contract(m, name, words, assume)

    def source(self, m: Module, name: str, words: Any) -> None:
        """Drive an input by anything."""
        payload = Value.cast(words.payload)
        m.d.comb += [words.valid.eq(free(m, 1, f"{name}_valid")), payload.eq(free(m, len(payload), f"{name}_payload"))]


def both(reduction: str, first: Value, second: Value) -> Value:
    """What two values become, in other words than those of the hardware."""
    return {ADD: first + second, LARGEST: Mux(first > second, first, second), SMALLEST: Mux(first < second, first, second),
            TIMES: first * second, ALL: (first != 0) & (second != 0), ANY: (first != 0) | (second != 0)}[reduction]


class Compared(Kept):
    """A node, of which each element that leaves is the next one, and has what both have with one key."""

    def __init__(self, reduction: str) -> None:
        super().__init__(MergeNode(Merger("merger", 2, 1, 4, bits=3, reduction=reduction)))

    def build(self, m: Module) -> None:
        super().build(m)
        node: Any = m.submodules.component
        x, y, o = (getattr(node, name) for name in "xyo")
        first, second = (each.payload.value.as_signed() for each in (x, y))
        equal = Signal(3)
        m.d.comb += equal.eq(both(node.kind.reduction, first, second))
        wanted = Mux(x.payload.key == y.payload.key, equal, Mux(x.payload.key < y.payload.key, first, second))
        goes = o.valid & o.ready
        always(m, "what leaves is of the lesser key", ~o.valid | (o.payload.value == wanted[:3]))
        always(m, "of equal ones both are taken, else the lesser one",
               (x.ready == (goes & (x.payload.key <= y.payload.key))) & (y.ready == (goes & (y.payload.key <= x.payload.key))))
        reachable(m, "a lesser value with the same key", goes & (x.payload.key == y.payload.key) & (first < second))


class Sequence(Kept):
    """A node of several elements a cycle, beside a merge of one after the other: as long as the heads of both fibers are there,
    and the next output is free for each element that leaves or is met, the lesser one leaves, or what both become; whichever of
    its streams are next. An end is an element, behind which nothing leaves in that cycle."""

    def __init__(self, reduction: str, take: int = 2) -> None:
        self.component = MergeMatrix(Merger("merger", 2, 1, take, take=take, bits=3, reduction=reduction))
        Harness.__init__(self, {f"{side}_at": (f"component.{side}_at", (take - 1).bit_length()) for side in "xyo"})

    def build(self, m: Module) -> None:
        m.submodules.component = node = macro(self.component)
        take, layout = self.component.kind.take, Value.cast(node.x0.payload).shape()
        ports = {side: [getattr(node, f"{side}{nth}") for nth in range(take)] for side in "xyo"}
        turns = {side: Signal(range(take), name=f"{side}_turn") for side in "xyo"}
        for side, each in ports.items():
            always(m, f"it is known which {side} is next", getattr(self, f"{side}_at") == turns[side])
            for nth, port in enumerate(each):
                # An output offers nothing that it has no room for, so it never waits: FIFOs stand behind it.
                if side == "o":
                    m.d.comb += port.ready.eq(free(m, 1, f"o{nth}_ready"))
                else:
                    self.source(m, f"{side}{nth}", port)

        def at(side: str, count: Value) -> Any:
            return Array(ports[side])[(turns[side] + count)[:len(turns[side])]]
        for side in "xy":
            window = [at(side, Const(n, 4)).payload.key for n in range(take)]
            valid = [at(side, Const(n, 4)).valid for n in range(take)]
            for n, (one, other) in enumerate(itertools.pairwise(window)):
                assume(m, f"{side} rises up to its end behind {n}", ~valid[n] | ~valid[n + 1] | one[-1] | (one < other))
            for n, each in enumerate(window):
                assume(m, f"{side} has one end at {n}", ~each[-1] | (each[:-1] == 0))
        gone = {side: Signal(range(take + 2), name=f"{side}_none") for side in "xyo"}
        goes, met, room = Signal(init=1), Signal(), Signal(init=1)
        m.d.comb += [goes.eq(1), room.eq(1)]
        words = [Signal(layout, name=f"word{nth}") for nth in range(take)]
        for n in range(take):
            x, y = (at(side, gone[side]) for side in "xy")
            has_room, leaves, equal = (Signal(name=f"{name}{n}") for name in ("has_room", "leaves", "equal"))
            ended, value = Signal(name=f"ended{n}"), Signal(3, name=f"value{n}")
            one, other = x.payload.value.as_signed(), y.payload.value.as_signed()
            m.d.comb += [
                has_room.eq(room & at("o", Const(n, 4)).ready), equal.eq(x.payload.key == y.payload.key),
                leaves.eq(goes & ~met & x.valid & y.valid & has_room), ended.eq(leaves & equal & x.payload.key[-1]),
                value.eq(Mux(equal, both(self.component.kind.reduction, one, other),
                             Mux(x.payload.key < y.payload.key, one, other)))]
            given = Cat(value, Mux(x.payload.key < y.payload.key, x.payload.key, y.payload.key))
            for nth in range(take):
                with m.If(leaves & (gone["o"] == nth)):
                    m.d.comb += words[nth].eq(given)
            after = {side: Signal(range(take + 2), name=f"{side}_gone{n}") for side in "xyo"}
            goes_on, meets = Signal(name=f"goes{n}"), Signal(name=f"met{n}")
            m.d.comb += [
                after["x"].eq(gone["x"] + (leaves & (x.payload.key <= y.payload.key))),
                after["y"].eq(gone["y"] + (leaves & (y.payload.key <= x.payload.key))), after["o"].eq(gone["o"] + leaves),
                # One that was met takes the place of an element in that cycle.
                meets.eq(leaves & equal), goes_on.eq((leaves | (goes & met)) & ~ended)]
            gone, goes, met, room = after, goes_on, meets, has_room
        for side, each in ports.items():
            m.d.sync += turns[side].eq(turns[side] + gone[side])
            for nth, port in enumerate(each):
                place = (nth - turns[side])[:len(turns[side])]
                moves = port.valid if side == "o" else port.ready
                always(m, f"{side}{nth} moves in its turn", moves == (place < gone[side]))
                if side == "o":
                    given = Value.cast(port.payload)
                    always(m, f"o{nth} gives the merged element", ~port.valid | (given == Array(words)[place]))
        reachable(m, "all that can leave does", gone["o"] == take)
        reachable(m, "more are taken than leave", gone["x"] + gone["y"] == take + 1)


def units() -> Side:
    return Side({name: Kept(ElasticPe(worker, name)) for name, worker in WORKERS.items()}
                | {"node": Kept(MergeNode(Merger("merger", 2, 1, 2, bits=1))),
                   **{f"node_{reduction}": Compared(reduction) for reduction in REDUCTIONS},
                   **{f"matrix_{reduction}": Sequence(reduction) for reduction in REDUCTIONS},
                   "matrix": Kept(MergeTree(Merger("merger", 2, 1, 2, take=2, bits=1))),
                   "truths": Kept(MergeTree(Merger("merger", 2, 1, 2, take=2, bits=2, reduction=ANY))),
                   "stages": Kept(MergeTree(Merger("merger", 8, 1, 2, bits=1))),
                   "lanes": Kept(MergerArray(Merger("lanes", 2, 2, 2, take=2, bits=1)))})


def test_pes_and_mergers_keep_the_contract(tmp_path: Path) -> None:
    assert prove(units(), tmp_path) == Verdict(True)


@pytest.mark.slow
def test_four_elements_a_cycle_are_those_of_a_merge_of_one_after_the_other(tmp_path: Path) -> None:
    four = Sequence(ADD, 4)
    assert prove(four, tmp_path) == Verdict(True)
    assert cover(four, tmp_path, 4)


def _adds_nothing(self: Any, x_first: Value, same: Value, x: Value, y: Value) -> Value:
    return Mux(x_first, x, y)


def _leaves_holes(m: Module, given: Any, again: Value) -> list[Value]:
    return [Value.cast(each) for each in given]


@pytest.mark.slow
@pytest.mark.parametrize("of,name,broken,claim", [(MergeMatrix, "_value", _adds_nothing, "o0 gives the merged element"),
                                                  (matrix, "_packed", _leaves_holes, "o1 gives the merged element")])
def test_merges_that_give_otherwise_are_found(of: Any, name: str, broken: Any, claim: str, tmp_path: Path,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of, name, broken)
    assert prove(Sequence(ADD, 4), tmp_path, bound=2, only=claim).failed == (claim,)


def test_every_output_of_a_unit_can_wait_and_move(tmp_path: Path) -> None:
    assert cover(units(), tmp_path, 5)


class KeptSpread(Kept):
    """A spread whose lanes have rows of any number, no two the same, or none."""

    def build(self, m: Module) -> None:
        self.rows: list[Signal] = []
        super().build(m)
        first, second = self.rows
        assume(m, "no two lanes have one row", (first != second) | first[16])

    def source(self, m: Module, name: str, words: Any) -> None:
        payload, row = words.payload, free(m, 17, f"{name}_row", constant=True)
        self.rows.append(row)
        m.d.comb += [words.valid.eq(free(m, 1, f"{name}_valid")), payload.value.eq(free(m, 4, f"{name}_value")),
                     payload.crd.eq(free(m, 17, f"{name}_crd")), payload.row.eq(row)]


def test_spreads_keep_the_contract(tmp_path: Path) -> None:
    assert prove(KeptSpread(spread.Spread(Spread(2, 2, 4))), tmp_path) == Verdict(True)


class KeptBalance(Kept):
    """A balance of two rows, of which at most one has an item, with FIFOs that are as full as their pointers say."""

    def __init__(self, fibers: bool = False) -> None:
        words = (2,) if fibers else ()
        self.component = balance.Balance(Balance(((0,), (1, 0)), (2,), 1, 2, words=words, fibers=fibers))
        # What is led to a port by a FIFO, or as a FIFO says.
        leads = ("turns", "order") if fibers else ("f_words", "m_words")
        self.fifos = [f"{name}{row}_0" for name in leads for row in range(2)]
        rows = {"busy0": 1, "turn0": 2, "busy1": 1, "turn1": 1}
        if fibers:
            rows |= dict.fromkeys(("finishes0", "finishes1", *(f"begun_{side}{row}" for side in "fm" for row in range(2))), 1)
        Harness.__init__(self, {name: (f"component.{name}", bits) for name, bits in rows.items()} | {
            f"{fifo}_{wire}": (f"component.{fifo}.queue.{wire}", bits) for fifo in self.fifos
            for wire, bits in (("level", 3), ("r_port__addr", 2), ("w_port__addr", 2))})

    def build(self, m: Module) -> None:
        super().build(m)
        always(m, "no two rows have an item", ~(self.busy0 & (self.turn0 == 2) & self.busy1 & (self.turn1 == 1)))
        always(m, "a row has an item of its own or of the other row", self.turn0 < 3)
        for fifo in self.fifos:
            level, consume, produce = (getattr(self, f"{fifo}_{wire}") for wire in ("level", "r_port__addr", "w_port__addr"))
            always(m, f"{fifo} has room for its words", level <= IN_FLIGHT)
            always(m, f"{fifo} has its words in turn", (consume + level)[:2] == produce)


class Ordered(KeptBalance):
    """A balance of fibers, of which no item is begun before all those of the operation before are."""

    def __init__(self) -> None:
        super().__init__(fibers=True)

    def build(self, m: Module) -> None:
        super().build(m)
        under_way = {"f0": self.busy0 & (self.turn0 == 0), "m0": self.busy0 & (self.turn0 == 1),
                     "f1": self.busy1 & (self.turn1 == 0),
                     "m1": (self.busy0 & (self.turn0 == 2)) | (self.busy1 & (self.turn1 == 1))}
        over = {"f0": self.finishes0, "m0": self.finishes0, "f1": self.finishes1,
                "m1": Mux(self.busy0 & (self.turn0 == 2), self.finishes0, self.finishes1)}
        done, begun = Signal(3), dict[str, Value]()
        flags = [getattr(self, f"begun_{item}") for item in under_way]
        m.d.sync += done.eq(done + Cat(flags).all())
        for item, goes in under_way.items():
            count = Signal(3, name=f"over_{item}")
            m.d.sync += count.eq(count + (goes & over[item]))
            begun[item] = (count + goes)[:3]
            flag = getattr(self, f"begun_{item}")
            always(m, f"what is begun of {item} is as its flag says", begun[item] == (done + flag)[:3])
        for first, second in itertools.permutations(begun, 2):
            always(m, f"{first} is not begun two operations before {second}", (begun[first] - begun[second])[:3] != 2)
        reachable(m, "the other row does what may move of the second operation", self.busy0 & (self.turn0 == 2) & (done == 1))


def test_a_balance_keeps_the_contract(tmp_path: Path) -> None:
    assert prove(KeptBalance(), tmp_path) == Verdict(True)


def test_a_balance_of_fibers_keeps_the_contract_and_the_order_of_operations(tmp_path: Path) -> None:
    assert prove(Ordered(), tmp_path) == Verdict(True)


def test_operations_of_a_balance_of_fibers_follow_each_other(tmp_path: Path) -> None:
    assert cover(Ordered(), tmp_path, 14)
