"""Two sorted runs of a memory become one, whatever they hold: coordinates rise, each is there once, with the sum of its values.

The runs have up to two elements each and go around the end of the memory; the result lies elsewhere.
"""

from pathlib import Path
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from prover import Harness, Verdict, always, assume, cover, free, prove, reachable

from sardonyx.hw.arch.merger import Merger
from sardonyx.hw.arch.outer_product import VALUE_BITS, OuterProduct
from sardonyx.hw.arch.token import DATA_BITS
from sardonyx.hw.emit import macro
from sardonyx.hw.spatial.merge.node import element
from sardonyx.hw.spatial.outer.lane_work import PAIR
from sardonyx.hw.spatial.outer.run_merge import RunMerge

KIND = OuterProduct("outer", lanes=2, ports=1, rows=16, pairs=16)
ADDRESS, MOST = 4, 2


class Merged(Harness):
    """A merge that starts whenever none goes. `rising`: the runs are sorted."""

    def __init__(self, rising: bool = True) -> None:
        self.rising = rising
        queued = element(Merger("runs", 2, 1, 1 << DATA_BITS, bits=VALUE_BITS)).size
        inside = {"at": ("at_{}", ADDRESS), "came": ("came_{}", 1), "closed": ("closed_{}", 1),
                  "head_valid": ("fifo_{}.o__valid", 1), "tail_valid": ("fifo_{}.tail_valid", 1),
                  "head": ("fifo_{}.o__payload", queued), "tail": ("fifo_{}.tail", queued)}
        super().__init__({"going": ("merge.going", 1)} | {
            f"{name}_{side}": (f"merge.{wire.format(side)}", bits) for side in "xy" for name, (wire, bits) in inside.items()})

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
        self._inside(m, merge.behind == (to + count)[:ADDRESS], (first, middle), counts, items, word, count, highest)
        finished = Signal()
        with m.If(merge.done):
            m.d.sync += finished.eq(1)
        reachable(m, "four that differ are merged", merge.done & (count == 2 * MOST))
        reachable(m, "two that are equal are one", merge.done & (count == MOST) & (counts[0] == MOST) & (counts[1] == MOST))
        reachable(m, "another merge is done behind one", merge.done & finished & (count == MOST))

    def _inside(self, m: Module, is_behind: Value, begins: tuple[Value, Value], counts: list[Signal], items: list[list[Any]],
                word: Signal, count: Signal, highest: Signal) -> None:
        """What only induction asks: which elements are read, on their way, and taken."""
        of: Any = self
        taken: list[Any] = []
        for run, side in enumerate("xy"):
            at, came, closed, head_valid, tail_valid, head, tail = (
                getattr(of, f"{name}_{side}") for name in ("at", "came", "closed", "head_valid", "tail_valid", "head", "tail"))
            read, gone = Signal(3, name=f"read_{side}"), Signal(3, name=f"taken_{side}")
            held = came + head_valid + tail_valid
            m.d.comb += [read.eq((at - begins[run])[:ADDRESS]), gone.eq(read + closed - held)]
            taken.append(gone)
            is_inside = (at - begins[run])[:ADDRESS] <= counts[run]
            always(m, f"{side} reads its run", ~of.going | (is_inside & (held <= read + closed)))
            always(m, f"{side} ends behind it", ~of.going | ~closed | ((read == counts[run]) & ~came))
            always(m, f"{side} holds nothing before and after", of.going | (held == 0))
            always(m, f"{side} has room for what it reads", (head_valid | ~tail_valid) & ~(came & tail_valid))
            always(m, f"what {side} reads comes", ~came | Cat(
                (read == n + 1) & (word == item.as_value()) for n, item in enumerate(items[run])).any())
            for name, there, value, nth in (("head", head_valid, head, gone), ("tail", tail_valid, tail, gone + 1)):
                held_item: Any = data.View(element(Merger("runs", 2, 1, 1 << DATA_BITS, bits=VALUE_BITS)), value)
                is_end = (nth == counts[run]) & (held_item.key == 1 << DATA_BITS)
                always(m, f"the {name} of {side} is next", ~there | is_end | Cat(
                    (nth == n) & (counts[run] > n) & (held_item.key == item.coordinate) & (held_item.value == item.value)
                    for n, item in enumerate(items[run])).any())
        always(m, "one is read at a time", ~(of.came_x & of.came_y))
        every = [(run, n, items[run][n].coordinate, (taken[run] > n) & (counts[run] > n), (taken[run] <= n) & (counts[run] > n))
                 for run in range(2) for n in range(MOST)]
        always(m, "what was taken comes before what was not", ~of.going | ~Cat(
            is_gone & waits & (at >= other) for run, _, at, is_gone, _ in every for more, _, other, _, waits in every
            if run != more).any())
        distinct = sum((is_gone & ~Cat(before & (at == other) for _, _, other, before, _ in every[:nth]).any()
                        for nth, (_, _, at, is_gone, _) in enumerate(every)), start=Const(0))
        always(m, "what was taken is written", ~of.going | ((count == distinct) & is_behind))
        always(m, "the highest is the last", ~of.going | (count == 0) | (
            Cat(is_gone & (at == highest) for _, _, at, is_gone, _ in every).any()
            & ~Cat(is_gone & (at > highest) for _, _, at, is_gone, _ in every).any()))

    def _item(self, m: Module, name: str) -> Any:
        """Of few bits, as many as four coordinates and sums of four values need: words are compared and added, no more."""
        item: Any = Signal(PAIR, name=name)
        m.d.comb += [item.coordinate.eq(free(m, 2, f"{name}_coordinate", constant=True)),
                     item.value.eq(free(m, 1, f"{name}_value", constant=True))]
        return item


def test_two_runs_become_one(tmp_path: Path) -> None:
    assert prove(Merged(), tmp_path) == Verdict(True)


def test_merges_are_done_within_the_bound(tmp_path: Path) -> None:
    assert cover(Merged(), tmp_path, 14)


def test_runs_that_are_not_sorted_are_found(tmp_path: Path) -> None:
    claim = "coordinates rise"
    assert prove(Merged(rising=False), tmp_path, bound=10, only=claim).failed == (claim,)
