"""Where words of a spatial array leave, each of them does once, and offers stand until they are taken."""

import dataclasses
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import Out
from chains import keeps_contract
from prover import Harness, Verdict, always, connected, cover, free, prove, reachable

from sardonyx import spatial as sp
from sardonyx.hw.emit import macro
from sardonyx.hw.joined.row_products import RowProducts
from sardonyx.hw.spatial.array.exit import Exit
from sardonyx.hw.spatial.array.going import Going

WIDTH = 3


class Leaving(Harness):
    """An exit of an array that holds its register while it does not go on, as a register says, and that others may stop, too.

    Words are numbered as they are given, so that what leaves must have the next number. `heeds`: the array stops where it must.
    """

    def __init__(self, heeds: bool = True) -> None:
        self.heeds = heeds
        super().__init__({"kept": ("leaving.kept", WIDTH), "full": ("leaving.full", 1)})

    def build(self, m: Module) -> None:
        m.submodules.leaving = leaving = macro(Exit(WIDTH))
        m.submodules.going = going = macro(Going())
        full: Any = self.full           # type: ignore[attr-defined]
        sent = Signal(WIDTH)
        got = Signal(WIDTH)
        others, soon = free(m, 1, "others"), free(m, 1, "soon")
        given = Signal()
        free_to_go = Signal(init=1)     # no other port stopped it a cycle before
        gives = Signal()                # in the next cycle
        stops = leaving.stays & gives if self.heeds else 0
        m.d.comb += [gives.eq(Mux(going.on, soon, given)), going.next.eq(others & ~stops),
                     leaving.goes_on.eq(going.on), leaving.given.eq(given), leaving.word.eq(sent),
                     leaving.o.ready.eq(free(m, 1, "ready"))]
        m.d.sync += [given.eq(gives), free_to_go.eq(others)]
        with m.If(given & going.on):
            m.d.sync += sent.eq(sent + 1)
        with m.If(leaving.o.valid & leaving.o.ready):
            m.d.sync += got.eq(got + 1)
        waits = keeps_contract(m, "o", leaving.o)
        always(m, "words leave in order", ~leaving.o.valid | (leaving.o.payload == got))
        always(m, "a word is kept or none", (got + full)[:WIDTH] == sent)
        always(m, "what is kept is the next", ~full | (self.kept == got))               # type: ignore[attr-defined]
        always(m, "an array goes on where it may, and stops where it must", going.on == (free_to_go & ~(full & given)))
        reachable(m, "a word is taken after it waited", waits & leaving.o.valid & leaving.o.ready)
        reachable(m, "a word waits before a kept one", given & full & ~going.on)


def test_an_exit_gives_every_word_once_and_in_order(tmp_path: Path) -> None:
    assert prove(Leaving(), tmp_path) == Verdict(True)


def test_words_can_wait_at_an_exit(tmp_path: Path) -> None:
    assert cover(Leaving(), tmp_path, 5)


def test_an_array_that_goes_on_before_a_full_exit_is_found(tmp_path: Path) -> None:
    claim = "a word is kept or none"
    assert prove(Leaving(heeds=False), tmp_path, bound=5, only=claim).failed == (claim,)


i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")
DOTS = sp.Design(sp.functionality("x(i) = B(i,k) * C(i,k)"), sp.Transform([[1, 0], [1, 1]]), {"i": 2, "k": 4},
                 sparsity=[sp.skip(k, where=B(i, k) == 0), sp.skip(k, where=sp.inputs("C")[0](i, k) == 0)])
STATIONARY = sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int8"),
                       sp.Transform([[0, 0, 1], [0, 1, 0], [1, 1, 1]]), {"i": 2, "j": 2, "k": 2})
PARTS: dict[str, Callable[[], Any]] = {
    "exit": lambda: Exit(WIDTH), "in step": STATIONARY.hardware, "elastic": DOTS.hardware,
    "balanced": dataclasses.replace(DOTS, balance=[sp.work_queue(i, where=k >= 2, grain="pe")]).hardware,
    "row products": lambda: RowProducts(DOTS.elastic, 8)}      # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["exit", "in step", "elastic", pytest.param("balanced", marks=pytest.mark.slow),
                                  pytest.param("row products", marks=pytest.mark.slow)])
def test_nothing_follows_the_ready_of_an_output_within_the_cycle_and_no_valid_of_one_that_of_an_input(
        name: str, tmp_path: Path) -> None:
    part = PARTS[name]()
    streams = {each: member for each, member in part.signature.members.items() if member.is_signature}
    gives = [each for each, member in streams.items() if member.flow is Out]
    takes = [each for each in streams if each not in gives]
    valid, ready = [f"{each}__valid" for each in gives], [f"{each}__ready" for each in takes]
    pairs = [*product((f"{each}__ready" for each in gives), (*valid, *ready)),
             *product((f"{each}__valid" for each in takes), valid)]
    assert connected(part, tmp_path, pairs, registers=False) == set()
