"""What a port of a gathering bank asks for it gets, once and in order, whatever the bank holds and its other port asks for.

One question of a port is followed, any of them, by its number: through what asks, what is under way to the memory, and what was
found. Which value stands at an address is not part of it. Where another port finds rows, one row is followed as well, through
what waits for its fiber.
"""

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from prover import Verdict, always, free, prove
from test_buffers import BANKS, GIVEN, VALUES, Gathered

from sardonyx.hw.arch.token import CONTROL, DATA_BITS, TOKEN, TOKEN_BITS
from sardonyx.hw.dma.turns import Turns
from sardonyx.hw.sparse.interface import is_done
from sardonyx.hw.spatial.array.elastic_pe import pair
from sardonyx.hw.spatial.buffer import gather_bank
from sardonyx.hw.spatial.buffer.gather_bank import LOOKED_UP, GatherBank

NUMBER = 4      # bits of numbers of questions, more than are on their way at once


class Followed(Gathered):
    """A bank of elements that are asked for, by a port of it."""

    def __init__(self, port: int, name: str = "gathered") -> None:
        kind, _ = BANKS[name]
        self.port, self.found = port, pair(kind.bits)
        self.in_rows = bool(kind.chosen)
        others = {f"ask_{name}": (f"part.ask{port}_fifo.{wire}", bits) for name, wire, bits in (
            ("head", "o__payload", TOKEN_BITS), ("tail", "tail", TOKEN_BITS), ("head_valid", "o__valid", 1),
            ("tail_valid", "tail_valid", 1))}
        rows = {f"row_{name}": (f"part.row{port}_fifo.{wire}", bits) for name, wire, bits in (
            ("head", "o__payload", DATA_BITS + 1), ("tail", "tail", DATA_BITS + 1), ("head_valid", "o__valid", 1),
            ("tail_valid", "tail_valid", 1))}
        others |= rows if kind.chosen else {}
        # To the memory, and to what is under way.
        others |= {f"{name}_{wire}": (f"part.{name}.i__{wire}", bits) for name, width in (("refs", TOKEN_BITS), (
            "under_way", TOKEN_BITS + (kind.sinks - 1).bit_length() + len(kind.chosen))) for wire, bits in (
                ("valid", 1), ("ready", 1), ("payload", width))}
        others |= {f"found{n}": (f"part.o{port}_fifo.queue.storage[{n}]", self.found.size) for n in range(kind.depth)}
        super().__init__(GatherBank(kind, name.replace(" ", "_")), kind, VALUES | GIVEN, others)

    def build(self, m: Module) -> None:
        super().build(m)
        part: Any = self.made
        probe: Any = self
        ask, out = getattr(part, f"ask{self.port}"), getattr(part, f"o{self.port}")
        which = free(m, NUMBER, "which", constant=True)
        asked, got, question = Signal(NUMBER), Signal(NUMBER), Signal(TOKEN)
        m.d.sync += [asked.eq(asked + (ask.valid & ask.ready)), got.eq(got + (out.valid & out.ready))]
        with m.If(ask.valid & ask.ready & (asked == which)):
            m.d.sync += question.eq(ask.payload)
        wanted = Mux(question.control, CONTROL, question.data)
        always(m, "what was asked for comes in its turn", ~out.valid | (got != which) | (out.payload.crd.as_value() == wanted))
        always(m, "an end has no value", ~out.valid | ~out.payload.crd.control | (out.payload.value == 0))
        goes, looks = probe.under_way_valid & probe.under_way_ready, probe.refs_valid & probe.refs_ready
        ref, crd = (data.View(TOKEN, each) for each in (probe.refs_payload, probe.under_way_payload[:TOKEN_BITS]))
        of = probe.under_way_payload[TOKEN_BITS:TOKEN_BITS + (self.kind.sinks - 1).bit_length()]
        mine = goes & (of == self.port)
        always(m, "what is under way is looked up, and what is over", looks == (goes | (looks & is_done(ref))))
        base = self._in_row(m, mine, crd, probe.under_way_payload[-1]) if self.in_rows else Array(self.kind.bases)[of]
        always(m, "it is looked up at its place", ~(mine if self.in_rows else goes) | (
            ref.as_value() == Mux(crd.control, CONTROL, (base + crd.data)[:DATA_BITS])))
        if self.in_rows:
            self._no_values(m, which, got, mine)
        self._on_their_way(m, which, asked, got, question, wanted)

    def _in_row(self, m: Module, mine: Value, crd: Any, none: Value) -> Value:
        """Where the row begins in which the port looks: a row for each fiber, in order; one that is followed, and any other."""
        probe: Any = self
        row: Any = getattr(self.made, f"row{self.port}")
        which = free(m, NUMBER, "which_row", constant=True)
        came, over, token = Signal(NUMBER), Signal(NUMBER), Signal(TOKEN)
        m.d.sync += [came.eq(came + (row.valid & row.ready)), over.eq(over + (mine & crd.control))]
        with m.If(row.valid & row.ready & (came == which)):
            m.d.sync += token.eq(row.payload)
        base = Const(self.kind.bases[self.port], DATA_BITS)
        place = Mux(token.control, base, (base + token.data * self.kind.chosen[0].stride)[:DATA_BITS])
        seen: Any = over
        for name in ("head", "tail"):
            there = getattr(self, f"row_{name}_valid")
            always(m, f"the {name} of rows is the one that came", ~there | (seen[:NUMBER] != which)
                   | (getattr(self, f"row_{name}") == Cat(place, token.control)))
            seen = seen + there
        always(m, "the tail of rows is behind a head", probe.row_head_valid | ~probe.row_tail_valid)
        always(m, "each row is in one place, or its fiber is over", seen[:NUMBER] == came)
        always(m, "a fiber is looked up when its row is known", ~mine | (over != came))
        always(m, "that there is no row is known", ~mine | (over != which) | (none == token.control))
        found: Value = Mux(over == which, place, probe.row_head[:DATA_BITS])
        return found

    def _no_values(self, m: Module, which: Value, got: Value, mine: Value) -> None:
        """The element that is followed is 0 where its row is none."""
        probe: Any = self
        out = getattr(self.made, f"o{self.port}")
        looked, none = Signal(NUMBER), Signal()
        m.d.sync += looked.eq(looked + mine)
        with m.If(mine & (looked == which)):
            m.d.sync += none.eq(probe.under_way_payload[-1])
        always(m, "of no row all is 0", ~out.valid | (got != which) | ~none | (out.payload.value == 0))
        seen: Any = got
        reads, level = (getattr(self, f"o{self.port}_fifo_{wire}") for wire in ("r_port__addr", "level"))
        for nth in range(self.kind.depth):
            row: Any = data.View(self.found, _turned([getattr(self, f"found{n}") for n in range(self.kind.depth)], reads, nth))
            there = level > nth
            always(m, f"the {nth}. that was found is 0 if it has no row",
                   ~there | (seen[:NUMBER] != which) | ~none | (row.value == 0))
            seen = seen + there
        reads, level = probe.under_way_r_port__addr, probe.under_way_level
        for nth in range(LOOKED_UP):
            held = _turned([getattr(self, f"row{n}") for n in range(LOOKED_UP)], reads, nth)
            there = (level > nth) & (held[TOKEN_BITS:-1] == self.port)
            always(m, f"the {nth}. under way says whether it has a row", ~there | (seen[:NUMBER] != which) | (held[-1] == none))
            seen = seen + there
        always(m, "each that was looked up is in one place", seen[:NUMBER] == looked)

    def _on_their_way(self, m: Module, which: Value, asked: Value, got: Value, question: Any, wanted: Value) -> None:
        """What only induction asks: which question is where, those that came first in front."""
        probe: Any = self
        depth = self.kind.depth
        seen: Any = got
        reads, level = (getattr(self, f"o{self.port}_fifo_{wire}") for wire in ("r_port__addr", "level"))
        for nth in range(depth):
            rows = [getattr(self, f"found{n}") for n in range(depth)]
            row: Any = data.View(self.found, _turned(rows, reads, nth))
            there = level > nth
            always(m, f"the {nth}. that was found is what was asked for",
                   ~there | (seen[:NUMBER] != which) | (row.crd.as_value() == wanted))
            always(m, f"the {nth}. has no value if it is an end", ~there | ~row.crd.control | (row.value == 0))
            seen = seen + there
        reads, level = probe.under_way_r_port__addr, probe.under_way_level
        for nth in range(LOOKED_UP):
            row = _turned([getattr(self, f"row{n}") for n in range(LOOKED_UP)], reads, nth)
            there = (level > nth) & (row[TOKEN_BITS:len(row) - len(self.kind.chosen)] == self.port)
            always(m, f"the {nth}. under way is what was asked for",
                   ~there | (seen[:NUMBER] != which) | (row[:TOKEN_BITS] == question.as_value()))
            seen = seen + there
        for name in ("head", "tail"):
            there = getattr(self, f"ask_{name}_valid")
            always(m, f"the {name} is what was asked for", ~there | (seen[:NUMBER] != which)
                   | (getattr(self, f"ask_{name}") == question.as_value()))
            seen = seen + there
        always(m, "the tail is behind a head", probe.ask_head_valid | ~probe.ask_tail_valid)
        always(m, "each question is in one place", seen[:NUMBER] == asked)


def _turned(rows: "list[Value]", first: Value, nth: int) -> Value:
    """The nth row behind the first one."""
    at = Cat(first + nth)[:(len(rows) - 1).bit_length()]
    found: Value = Const(0, len(rows[0]))
    for n, row in enumerate(rows):
        found = Mux(at == n, row, found)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gathered", "gathered in rows"])
@pytest.mark.parametrize("port", [0, 1])
def test_a_port_gets_what_it_asks_for_once_and_in_order(port: int, name: str, tmp_path: Path) -> None:
    assert prove(Followed(port, name), tmp_path) == Verdict(True)


class Confused(Turns):
    """Says of every word that it is of the first stream."""

    def elaborate(self, platform: Any) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.o.payload.of.eq(0)
        return m


class Greedy(Turns):
    """Takes the words of all streams where it gives one."""

    def elaborate(self, platform: Any) -> Module:
        m = super().elaborate(platform)
        m.d.comb += [getattr(self, f"i{n}").ready.eq(self.o.ready) for n in range(self.count)]
        return m


@pytest.mark.slow
@pytest.mark.parametrize("broken", [Confused, Greedy])
def test_a_question_that_is_lost_is_found(broken: "type[Turns]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather_bank, "Turns", broken)
    claim = "each question is in one place"
    assert prove(Followed(1), tmp_path, bound=6, only=claim).failed == (claim,)


@pytest.mark.slow
def test_an_element_from_another_place_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GatherBank, "_distance", lambda self, crd: crd + 1)
    claim = "it is looked up at its place"
    assert prove(Followed(1), tmp_path, bound=6, only=claim).failed == (claim,)


@pytest.mark.slow
def test_an_element_in_the_row_of_another_port_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = GatherBank._rows

    def swapped(self: GatherBank, m: Module) -> "tuple[list[Any], Signal]":
        found, beyond = rows(self, m)
        return found[::-1], beyond

    monkeypatch.setattr(GatherBank, "_rows", swapped)
    claim = "a fiber is looked up when its row is known"
    assert prove(Followed(1, "gathered in rows"), tmp_path, bound=6, only=claim).failed == (claim,)
