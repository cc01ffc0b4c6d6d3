"""Two sorted runs of a memory become one, whatever they hold: coordinates rise, each is there once, with the sum of its values.

The runs have up to two elements each and go around the end of the memory; the result lies elsewhere.
"""

from pathlib import Path
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data
from prover import Harness, Verdict, always, assume, cover, free, prove, reachable

from sardonyx.hw.arch.outer_product import OuterProduct
from sardonyx.hw.emit import macro
from sardonyx.hw.spatial.outer.lane_work import PAIR
from sardonyx.hw.spatial.outer.run_merge import RunMerge

KIND = OuterProduct("outer", lanes=2, ports=1, rows=16, pairs=16)
ADDRESS, MOST = 4, 2


class Merged(Harness):
    """A merge that starts whenever none goes. `rising`: the runs are sorted."""

    def __init__(self, rising: bool = True) -> None:
        self.rising = rising
        super().__init__({"going": ("merge.going", 1)})

    def build(self, m: Module) -> None:
        m.submodules.merge = merge = macro(RunMerge(KIND))
        # The runs go around the end of the memory.
        first, to = Const((1 << ADDRESS) - 1, ADDRESS), Const(MOST, ADDRESS)
        counts = [free(m, range(MOST + 1), f"count{run}", constant=True) for run in range(2)]
        items: list[list[Any]] = [[self._item(m, f"item{run}_{n}") for n in range(MOST)] for run in range(2)]
        there = [[count > n for n in range(MOST)] for count in counts]
        for run, count in enumerate(counts):
            assume(m, f"run {run} is short", count <= MOST)
            if self.rising:
                assume(m, f"run {run} is sorted", (count < 2) | (items[run][0].coordinate < items[run][1].coordinate))
        middle = Signal(ADDRESS)
        last = Signal(ADDRESS)
        m.d.comb += [middle.eq(first + counts[0]), last.eq(middle + counts[1]), merge.first.eq(first), merge.to.eq(to),
                     merge.middle.eq(middle), merge.last.eq(last),
                     merge.start.eq(free(m, 1, "starts") & ~self.going)]        # type: ignore[attr-defined]
        memory = merge.memory
        reads, writes = memory.enable & ~memory.write.any(), memory.enable & memory.write.any()
        # Which element is read: those of the first run, then those of the second one.
        places = [(first + n)[:ADDRESS] for n in range(MOST)], [(middle + n)[:ADDRESS] for n in range(MOST)]
        here = [[there[run][n] & (memory.address == places[run][n]) for n in range(MOST)] for run in range(2)]
        word = Signal(PAIR.size)
        with m.If(reads):
            for run in range(2):
                for n in range(MOST):
                    with m.If(here[run][n]):
                        m.d.sync += word.eq(items[run][n].as_value())
        m.d.comb += memory.word.eq(word)
        always(m, "what is read is of the runs", ~reads | Cat(Cat(each) for each in here).any())
        given: Any = data.View(PAIR, memory.data)
        count = Signal(range(2 * MOST + 2))
        highest = Signal(len(given.coordinate))
        with m.If(merge.start):
            m.d.sync += count.eq(0)
        with m.Elif(writes):
            m.d.sync += [count.eq(count + 1), highest.eq(given.coordinate)]
        every = [(there[run][n], items[run][n]) for run in range(2) for n in range(MOST)]
        same = [has & (item.coordinate == given.coordinate) for has, item in every]
        total = sum((Mux(each, item.value, 0) for each, (_, item) in zip(same, every)), start=given.value & 0)
        always(m, "what is written is of the runs", ~writes | Cat(same).any())
        always(m, "it is the sum of all of its coordinate", ~writes | (given.value == total[:len(given.value)]))
        always(m, "coordinates rise", ~writes | (count == 0) | (given.coordinate > highest))
        always(m, "one lies behind the other", ~writes | (memory.address == (to + count)[:ADDRESS]))
        again = [has & Cat(before & (item.coordinate == other.coordinate) for before, other in every[:n]).any()
                 for n, (has, item) in enumerate(every) if n >= MOST]
        distinct = (counts[0] + counts[1] - sum(again, start=count & 0))[:len(count)]
        always(m, "all are written when it is done",
               ~merge.done | ((count == distinct) & (merge.behind == (to + count)[:ADDRESS])))
        finished = Signal()
        with m.If(merge.done):
            m.d.sync += finished.eq(1)
        reachable(m, "four that differ are merged", merge.done & (count == 2 * MOST))
        reachable(m, "two that are equal are one", merge.done & (count == MOST) & (counts[0] == MOST) & (counts[1] == MOST))
        reachable(m, "another merge is done behind one", merge.done & finished & (count == MOST))

    def _item(self, m: Module, name: str) -> Any:
        """Of few bits, as many as four coordinates and sums of four values need: words are compared and added, no more."""
        item: Any = Signal(PAIR, name=name)
        m.d.comb += [item.coordinate.eq(free(m, 2, f"{name}_coordinate", constant=True)),
                     item.value.eq(free(m, 1, f"{name}_value", constant=True))]
        return item


def test_two_runs_become_one(tmp_path: Path) -> None:
    assert prove(Merged(), tmp_path, bound=14) == Verdict(True)


def test_merges_are_done_within_the_bound(tmp_path: Path) -> None:
    assert cover(Merged(), tmp_path, 14)


def test_runs_that_are_not_sorted_are_found(tmp_path: Path) -> None:
    claim = "coordinates rise"
    assert prove(Merged(rising=False), tmp_path, bound=10, only=claim).failed == (claim,)
