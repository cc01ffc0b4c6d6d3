"""Requests that wait for their number of elements: each leaves once, as it came, when that is known, the oldest first."""

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data
from chained_levels import design
from prover import Harness, Verdict, always, assume, cover, free, prove, reachable
from without_zeros import accelerator

from sardonyx.hw.arch.accelerator import Accelerator
from sardonyx.hw.emit import macro
from sardonyx.hw.spatial.command.parked import Parked, parked_layout

KIND = accelerator().kind
# Of levels behind each other, of which one says how many elements the next one has.
CHAINED = design("cc").kind


class Waiting(Harness):
    """Requests of any counted streams, each of one that has none here; one stream is followed.

    `heeds`: a stream asks only then.
    """

    def __init__(self, kind: Accelerator = KIND, heeds: bool = True) -> None:
        self.kind, self.heeds, self.layout = kind, heeds, parked_layout(kind)
        self.counted = [n for n, each in enumerate(kind.streams) if each.is_counted]
        super().__init__({"valid": ("parked.valid", len(self.counted))}
                         | {f"entry{n}": (f"parked.entry{n}", self.layout.size) for n in range(len(self.counted))})

    def build(self, m: Module) -> None:
        layout, counted = self.layout, self.counted
        m.submodules.parked = parked = macro(Parked(self.kind))
        valid: Any = self.valid         # type: ignore[attr-defined]
        entries: list[Any] = [data.View(layout, getattr(self, f"entry{n}")) for n in range(len(counted))]
        which = free(m, range(len(self.kind.streams)), "which", constant=True)
        comes, goes, knows = parked.i.payload, parked.o.payload, parked.known.bit_select(parked.o.payload.stream, 1)
        m.d.comb += [parked.i.valid.eq(free(m, 1, "comes")), parked.i.payload.as_value().eq(free(m, layout.size, "what")),
                     parked.o.ready.eq(free(m, 1, "ready")), parked.known.eq(free(m, len(self.kind.streams), "known")),
                     parked.in_order.eq(free(m, 1, "in_order"))]
        assume(m, "of counted streams", ~parked.i.valid | Cat(comes.stream == n for n in counted).any())
        if self.heeds:
            assume(m, "each has one at most", ~parked.i.valid | ~parked.holds.bit_select(comes.stream, 1))
        there = Signal()
        kept = Signal(layout.size)
        leaves = parked.o.valid & parked.o.ready & (goes.stream == which)
        with m.If(parked.i.valid & (comes.stream == which)):
            m.d.sync += [there.eq(1), kept.eq(comes.as_value())]
        with m.Elif(leaves):
            m.d.sync += there.eq(0)
        mine = [valid[n] & (entry.stream == which) for n, entry in enumerate(entries)]
        always(m, "it is here from when it comes until it leaves", parked.holds.bit_select(which, 1) == there)
        always(m, "it leaves as it came", ~leaves | (there & (goes.as_value() == kept)))
        always(m, "what is offered is known", ~parked.o.valid | knows)
        counts = Cat((parked.oldest == n) & (goes.stream == at) for n in counted for at in self.kind.counted_by(n)).any()
        always(m, "in order the oldest is offered, or what counts its elements",
               ~(parked.o.valid & parked.in_order) | (goes.stream == parked.oldest) | counts)
        always(m, "what is known is offered", ~(there & parked.known.bit_select(which, 1) & ~parked.in_order) | parked.o.valid)
        always(m, "there are no gaps", (valid & (valid + 1)[:len(counted)]) == 0)
        always(m, "an entry is that of its stream", Cat(~each | (entry.as_value() == kept)
                                                        for each, entry in zip(mine, entries)).all())
        for n, entry in enumerate(entries):
            always(m, f"entry {n} is of a counted stream", ~valid[n] | Cat(entry.stream == each for each in counted).any())
            for at, other in enumerate(entries[:n]):
                always(m, f"entries {at} and {n} are of two streams", ~valid[n] | (entry.stream != other.stream))
        reachable(m, "all wait", valid.all())
        reachable(m, "a younger one overtakes", leaves & (parked.oldest != which))
        if any(self.kind.streams[at].is_counted for n in counted for at in self.kind.counted_by(n)):
            reachable(m, "what counts overtakes in order", leaves & (parked.oldest != which) & parked.in_order)


@pytest.mark.parametrize("kind", [KIND, CHAINED], ids=["a level", "levels behind each other"])
def test_a_parked_request_leaves_once_as_it_came_and_the_oldest_first(kind: Accelerator, tmp_path: Path) -> None:
    assert prove(Waiting(kind), tmp_path) == Verdict(True)


@pytest.mark.parametrize("kind", [KIND, CHAINED], ids=["a level", "levels behind each other"])
def test_all_may_wait_and_younger_ones_overtake(kind: Accelerator, tmp_path: Path) -> None:
    assert cover(Waiting(kind), tmp_path, len(Waiting(kind).counted) + 2)


def test_a_stream_that_asks_twice_is_found(tmp_path: Path) -> None:
    claim = "it leaves as it came"
    assert prove(Waiting(heeds=False), tmp_path, bound=4, only=claim).failed == (claim,)
