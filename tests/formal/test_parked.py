"""Requests that wait for their number of elements: each leaves once, as it came, when that is known, the oldest first."""

from pathlib import Path
from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data
from prover import Harness, Verdict, always, assume, cover, free, prove, reachable
from without_zeros import accelerator

from sardonyx.hw.emit import macro
from sardonyx.hw.spatial.command.parked import Parked, parked_layout

KIND = accelerator().kind
COUNTED = [n for n, each in enumerate(KIND.streams) if each.is_counted]
LAYOUT = parked_layout(KIND)


class Waiting(Harness):
    """Requests of any counted streams, each of one that has none here; one stream is followed.

    `heeds`: a stream asks only then.
    """

    def __init__(self, heeds: bool = True) -> None:
        self.heeds = heeds
        super().__init__({"valid": ("parked.valid", len(COUNTED))}
                         | {f"entry{n}": (f"parked.entry{n}", LAYOUT.size) for n in range(len(COUNTED))})

    def build(self, m: Module) -> None:
        m.submodules.parked = parked = macro(Parked(KIND))
        valid: Any = self.valid         # type: ignore[attr-defined]
        entries: list[Any] = [data.View(LAYOUT, getattr(self, f"entry{n}")) for n in range(len(COUNTED))]
        which = free(m, range(len(KIND.streams)), "which", constant=True)
        comes, goes, knows = parked.i.payload, parked.o.payload, parked.known.bit_select(parked.o.payload.stream, 1)
        m.d.comb += [parked.i.valid.eq(free(m, 1, "comes")), parked.i.payload.as_value().eq(free(m, LAYOUT.size, "what")),
                     parked.o.ready.eq(free(m, 1, "ready")), parked.known.eq(free(m, len(KIND.streams), "known")),
                     parked.in_order.eq(free(m, 1, "in_order"))]
        counted = Cat(comes.stream == n for n in COUNTED).any()
        assume(m, "of counted streams", ~parked.i.valid | counted)
        if self.heeds:
            assume(m, "each has one at most", ~parked.i.valid | ~parked.holds.bit_select(comes.stream, 1))
        there = Signal()
        kept = Signal(LAYOUT.size)
        leaves = parked.o.valid & parked.o.ready & (goes.stream == which)
        with m.If(parked.i.valid & (comes.stream == which)):
            m.d.sync += [there.eq(1), kept.eq(comes.as_value())]
        with m.Elif(leaves):
            m.d.sync += there.eq(0)
        mine = [valid[n] & (entry.stream == which) for n, entry in enumerate(entries)]
        always(m, "it is here from when it comes until it leaves", parked.holds.bit_select(which, 1) == there)
        always(m, "it leaves as it came", ~leaves | (there & (goes.as_value() == kept)))
        always(m, "what is offered is known", ~parked.o.valid | knows)
        always(m, "in order the oldest is offered", ~(parked.o.valid & parked.in_order) | (goes.stream == parked.oldest))
        always(m, "what is known is offered", ~(there & parked.known.bit_select(which, 1) & ~parked.in_order) | parked.o.valid)
        always(m, "there are no gaps", (valid & (valid + 1)[:len(COUNTED)]) == 0)
        always(m, "an entry is that of its stream", Cat(~each | (entry.as_value() == kept)
                                                        for each, entry in zip(mine, entries)).all())
        for n, entry in enumerate(entries):
            always(m, f"entry {n} is of a counted stream", ~valid[n] | Cat(entry.stream == each for each in COUNTED).any())
            for at, other in enumerate(entries[:n]):
                always(m, f"entries {at} and {n} are of two streams", ~valid[n] | (entry.stream != other.stream))
        reachable(m, "all wait", valid.all())
        reachable(m, "a younger one overtakes", leaves & (parked.oldest != which))


def test_a_parked_request_leaves_once_as_it_came_and_the_oldest_first(tmp_path: Path) -> None:
    assert prove(Waiting(), tmp_path) == Verdict(True)


def test_all_may_wait_and_younger_ones_overtake(tmp_path: Path) -> None:
    assert cover(Waiting(), tmp_path, len(COUNTED) + 2)


def test_a_stream_that_asks_twice_is_found(tmp_path: Path) -> None:
    claim = "it leaves as it came"
    assert prove(Waiting(heeds=False), tmp_path, bound=4, only=claim).failed == (claim,)
