"""A FIFO in an SRAM has room and words to show whenever one of registers has, for runs of any length.

That words leave in their order, `tests/hw/memory/test_sram_fifo.py` compares cycle by cycle.
"""

from pathlib import Path

from amaranth.hdl import Cat, Const, Module, Value
from chains import keeps_contract
from prover import Harness, Verdict, always, cover, free, prove, reachable

from sardonyx.hw.emit import macro
from sardonyx.hw.memory.sram_fifo import FRONT, TAIL, SramFifo

DEPTH, LINES = 9, 5
REGISTERS = {"level": 4, "stored": 3, "place": 3, "following": 3, "coming": 1, "waiting": 2, "shown": 3, "first": 2, "free": 2}


class Counted(Harness):
    """A FIFO whose words come and leave at any time."""

    def __init__(self) -> None:
        super().__init__({name: (f"fifo.{name}", bits) for name, bits in REGISTERS.items()})

    def build(self, m: Module) -> None:
        m.submodules.fifo = fifo = macro(SramFifo(1, DEPTH))
        m.d.comb += [fifo.i.valid.eq(free(m, 1, "comes")), Value.cast(fifo.i.payload).eq(free(m, 1, "word")),
                     fifo.o.ready.eq(free(m, 1, "taken"))]
        keeps_contract(m, "o", fifo.o)
        ahead = self.shown + Cat(Const(0, 1), self.coming)
        always(m, "all words are somewhere", self.level == ahead + Cat(Const(0, 1), self.stored) + self.waiting)
        always(m, "it has no more than fit", self.level <= DEPTH)
        always(m, "lines have room", self.stored <= LINES)
        always(m, "lines are in turn", (self.place < LINES) & (self.following < LINES)
               & ((self.following == self.place + self.stored) | (self.following + LINES == self.place + self.stored)))
        always(m, "what is in front has room", ahead <= FRONT)
        always(m, "what is in front is in turn", (self.first + self.shown)[:2] == self.free)
        always(m, "the tail has room", self.waiting <= TAIL)
        always(m, "a full tail is behind a read", (self.waiting != TAIL) | self.coming)
        always(m, "where lines follow two words are in front", (self.stored == 0) | (ahead >= 2))
        always(m, "a word is shown if there is any", fifo.o.valid == (self.level != 0))
        reachable(m, "it is full", self.level == DEPTH)
        reachable(m, "a line is read while the tail is full", (self.waiting == TAIL) & self.coming)


def test_words_are_shown_and_have_room_as_in_registers(tmp_path: Path) -> None:
    assert prove(Counted(), tmp_path) == Verdict(True)


def test_it_can_be_full(tmp_path: Path) -> None:
    assert cover(Counted(), tmp_path, 16)
