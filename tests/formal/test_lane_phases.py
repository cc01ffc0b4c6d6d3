"""What a lane of two phases asks of the DMA and of the ledger, and gives to memory, stands until it is taken, in each phase.

Around it are a port and a ledger that do anything, but that a question is answered in the cycle behind the one in which it is
taken (`Ledger`), and a memory of any words, of which one that is read again is the same until something is written.
"""

import dataclasses
from pathlib import Path

import pytest
from amaranth.hdl import Module, Signal, Value
from chains import keeps_contract
from prover import Harness, Side, Verdict, always, assume, cover, free, prove, reachable

from sardonyx.hw.arch.outer_product import OuterProduct
from sardonyx.hw.emit import macro
from sardonyx.hw.spatial.outer.lane_work import LaneWork
from sardonyx.hw.spatial.outer.merge import OuterMerge
from sardonyx.hw.spatial.outer.multiply import OuterMultiply

KIND = OuterProduct("lists", lanes=2, ports=1, rows=16, pairs=16)
FILLED = dataclasses.replace(KIND, name="filled", node=4)


class Working(Harness):
    """A lane in its phase. `remembers`: its memory does."""

    def __init__(self, part: LaneWork, remembers: bool = True) -> None:
        self.part, self.remembers = part, remembers
        super().__init__()

    def build(self, m: Module) -> None:
        m.submodules.lane = part = macro(self.part)
        for name in ("job", "goes", "ended", "answer", "fresh", "previous", "used", "lane"):
            if name in self.part.signature.members:
                port = Value.cast(getattr(part, name))
                m.d.comb += port.eq(free(m, len(port), name, constant=name in ("job", "lane")))
        word, same = part.memory.word, Signal()
        before, address = Signal.like(Value.cast(word)), Signal.like(part.memory.address)
        m.d.comb += Value.cast(word).eq(free(m, len(Value.cast(word)), "word"))
        reads, read = part.memory.enable & ~part.memory.write.any(), Signal()
        m.d.sync += [before.eq(word), address.eq(part.memory.address), read.eq(reads),
                     same.eq(read & reads & (part.memory.address == address))]
        if self.remembers:
            assume(m, "a word that is read again is the same", ~same | (Value.cast(word) == before))
        m.d.comb += [part.load.valid.eq(free(m, 1, "comes")), part.load.payload.eq(free(m, len(part.load.payload), "loaded"))]
        keeps_contract(m, "load", part.load, assume)
        asked, goes = Signal(), Signal()
        m.d.sync += [asked.eq(part.ask.valid & part.ask.ready), goes.eq(part.goes & ~part.idle)]
        m.d.comb += part.answered.eq(asked)
        assume(m, "its turn lasts until all is done", ~goes | part.goes)
        for name in ("request", "store", "ask"):
            port = getattr(part, name)
            m.d.comb += port.ready.eq(free(m, 1, f"{name}_ready"))
            waits = keeps_contract(m, name, port)
            reachable(m, f"{name} is taken after it waited", waits & port.valid & port.ready)
        always(m, "one thing is asked for at a time", ~(part.request.valid & part.store.valid))
        always(m, "there is no question before the last one was answered", ~(part.ask.valid & asked))


def lanes() -> Side:
    return Side({f"{work.phase} {kind.name}": Working(work(kind)) for work in (OuterMultiply, OuterMerge)
                 for kind in (KIND, FILLED)})


def test_what_lanes_ask_for_and_give_stands_until_it_is_taken(tmp_path: Path) -> None:
    assert prove(lanes(), tmp_path, 2) == Verdict(True)


@pytest.mark.slow
def test_lanes_can_wait_and_go_on(tmp_path: Path) -> None:
    assert cover(lanes(), tmp_path, 24)


@pytest.mark.slow
def test_a_memory_that_forgets_is_found(tmp_path: Path) -> None:
    claim = "store does not change"
    assert prove(Working(OuterMerge(KIND), remembers=False), tmp_path, bound=16, only=claim).failed == (claim,)
