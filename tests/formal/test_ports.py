"""Where words of a spatial array leave, each of them does once, and offers stand until they are taken."""

from pathlib import Path

from amaranth.hdl import Module, Signal
from chains import keeps_contract
from prover import Harness, Verdict, always, assume, cover, free, prove, reachable

from sardonyx.hw.emit import macro
from sardonyx.hw.spatial.exit import Exit

WIDTH = 3


class Leaving(Harness):
    """An exit of an array that holds its register while it does not go on, and that other ports may stop, too.

    Words are numbered as they are given, so that what leaves must have the next number. `heeds`: the array stops where it must.
    """

    def __init__(self, heeds: bool = True) -> None:
        self.heeds = heeds
        super().__init__({"kept": ("leaving.kept", WIDTH)})

    def build(self, m: Module) -> None:
        m.submodules.leaving = leaving = macro(Exit(WIDTH))
        sent = Signal(WIDTH)
        got = Signal(WIDTH)
        others, given = free(m, 1, "others"), free(m, 1, "given")
        goes_on = Signal()
        stood = Signal()
        was_given = Signal()
        m.d.comb += [goes_on.eq(others & ~(leaving.full & given) if self.heeds else others), leaving.goes_on.eq(goes_on),
                     leaving.given.eq(given), leaving.word.eq(sent), leaving.o.ready.eq(free(m, 1, "ready"))]
        m.d.sync += [stood.eq(~goes_on), was_given.eq(given)]
        assume(m, "what is given stands while the array does", ~stood | (given == was_given))
        with m.If(given & goes_on):
            m.d.sync += sent.eq(sent + 1)
        with m.If(leaving.o.valid & leaving.o.ready):
            m.d.sync += got.eq(got + 1)
        waits = keeps_contract(m, "o", leaving.o)
        always(m, "words leave in order", ~leaving.o.valid | (leaving.o.payload == got))
        always(m, "a word is kept or none", (got + leaving.full)[:WIDTH] == sent)
        always(m, "what is kept is the next", ~leaving.full | (self.kept == got))       # type: ignore[attr-defined]
        always(m, "a port that is taken from never stops the array", ~(given & others & ~leaving.full) | goes_on)
        reachable(m, "a word is taken after it waited", waits & leaving.o.valid & leaving.o.ready)


def test_an_exit_gives_every_word_once_and_in_order(tmp_path: Path) -> None:
    assert prove(Leaving(), tmp_path) == Verdict(True)


def test_words_can_wait_at_an_exit(tmp_path: Path) -> None:
    assert cover(Leaving(), tmp_path, 5)


def test_an_array_that_goes_on_before_a_full_exit_is_found(tmp_path: Path) -> None:
    claim = "a word is kept or none"
    assert prove(Leaving(heeds=False), tmp_path, bound=5, only=claim).failed == (claim,)
