"""The stream contract of PEs, mergers and spreads of elastic arrays: if their inputs keep it, so do their outputs."""

import itertools
from pathlib import Path
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
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


class First(Kept):
    """A node of two elements a cycle, of which the first one that leaves is the next one, and has what both have with one key;
    whichever of its streams are next."""

    def __init__(self, reduction: str) -> None:
        self.component = MergeMatrix(Merger("merger", 2, 1, 2, take=2, bits=3, reduction=reduction))
        Harness.__init__(self, {f"{side}_at": (f"component.{side}_at", 1) for side in "xyo"})

    def build(self, m: Module) -> None:
        m.submodules.component = node = macro(self.component)
        key, value, there = ({}, {}, {})
        for side in "xyo":
            words = [getattr(node, f"{side}{nth}") for nth in range(2)]
            for nth, each in enumerate(words):
                # An output offers nothing that it has no room for, so it never waits: FIFOs stand behind it.
                if side == "o":
                    m.d.comb += each.ready.eq(free(m, 1, f"o{nth}_ready"))
                else:
                    self.source(m, f"{side}{nth}", each)
            turn = getattr(self, f"{side}_at")
            key[side] = Mux(turn, words[1].payload.key, words[0].payload.key)
            value[side] = Mux(turn, words[1].payload.value, words[0].payload.value)
            there[side] = Mux(turn, words[1].valid, words[0].valid)
        first, second = (value[side].as_signed() for side in "xy")
        equal = Signal(3)
        m.d.comb += equal.eq(both(self.component.kind.reduction, first, second))
        wanted = Mux(key["x"] == key["y"], equal, Mux(key["x"] < key["y"], first, second))
        always(m, "what leaves first is of the lesser key", ~there["o"] | (value["o"] == wanted[:3]))
        always(m, "it leaves when both are there", ~there["o"] | (there["x"] & there["y"]))
        reachable(m, "a lesser value with the same key", there["o"] & (key["x"] == key["y"]) & (first < second))


def units() -> Side:
    return Side({name: Kept(ElasticPe(worker, name)) for name, worker in WORKERS.items()}
                | {"node": Kept(MergeNode(Merger("merger", 2, 1, 2, bits=1))),
                   **{f"node_{reduction}": Compared(reduction) for reduction in REDUCTIONS},
                   **{f"matrix_{reduction}": First(reduction) for reduction in REDUCTIONS},
                   "matrix": Kept(MergeTree(Merger("merger", 2, 1, 2, take=2, bits=1))),
                   "truths": Kept(MergeTree(Merger("merger", 2, 1, 2, take=2, bits=2, reduction=ANY))),
                   "stages": Kept(MergeTree(Merger("merger", 8, 1, 2, bits=1))),
                   "lanes": Kept(MergerArray(Merger("lanes", 2, 2, 2, take=2, bits=1)))})


def test_pes_and_mergers_keep_the_contract(tmp_path: Path) -> None:
    assert prove(units(), tmp_path) == Verdict(True)


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
