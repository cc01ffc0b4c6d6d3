"""The crossing of clocks loses, doubles and reorders no word, whenever the edges of both clocks come.

A step of a proof is an instant, at whose end each clock has an edge or has none, in any order (`Harness.ticks`). A register
that takes a signal of the other clock may see each bit as it is or as it was an instant ago, for itself: edges that are close
to each other, wires of different length, a register that falls either way. A word that was written an instant ago may be
anything.
"""

from pathlib import Path

import pytest
from amaranth.hdl import ClockDomain, ClockSignal, Const, Elaboratable, Module, Mux, Signal, Value
from chains import keeps_contract, number_words
from prover import Harness, Verdict, always, cover, free, prove, reachable

from sardonyx.hw.emit import Clock, macro
from sardonyx.hw.soc import crossing
from sardonyx.hw.soc.crossing import COUNT_BITS, DEPTH, Entrance, Exit

# Numbers of words; as in `chains`, control does not read words, so that these stand for all.
BITS = COUNT_BITS


def ticking(m: Module, name: str) -> Signal:
    """A domain whose clock has edges when it likes, and the signal of those."""
    ticks = free(m, 1, f"{name}_ticks")
    m.domains += ClockDomain(name, local=True, reset_less=True)
    m.d.comb += ClockSignal(name).eq(ticks)
    return ticks


def before(m: Module, value: Value, name: str, init: int = 0) -> Signal:
    """A value an instant ago; init: what it begins with."""
    kept = Signal(len(value), name=name, init=init, reset_less=True)
    m.d.sync += kept.eq(value)
    return kept


def seen(m: Module, value: Value, kept: Value, name: str) -> Value:
    """What the other clock sees of a value: of each bit what it is or what it was."""
    which = free(m, len(value), f"{name}_which")
    return (value & which) | (kept & ~which)


def seen_word(m: Module, word: Value, address: Value, row: Value, enters: Value, name: str) -> Value:
    """What the other clock sees of a word."""
    written = before(m, enters, f"{name}_written") & (before(m, row, f"{name}_row") == address)
    return Mux(written, free(m, len(word), f"{name}_any"), word)


def decoded(code: Value) -> Value:
    """The count of a Gray code."""
    bits = [code[n:].xor() for n in range(len(code))]
    return sum((bit << n for n, bit in enumerate(bits)), start=Const(0, len(code)))[:len(code)]


class Pair(Harness):
    """The halves of a FIFO, with the invariants that induction needs."""

    ticks = True

    def __init__(self) -> None:
        wires = {"count_in": ("entrance.count", BITS), "count_out": ("exit.count", BITS),
                 "left_0": ("entrance.left_sync.stage0", BITS), "left_1": ("entrance.left_sync.stage1", BITS),
                 "entered_0": ("exit.entered_sync.stage0", BITS), "entered_1": ("exit.entered_sync.stage1", BITS)}
        wires |= {f"row_{n}": (f"entrance.storage[{n}]", BITS) for n in range(DEPTH)}
        super().__init__(wires)

    def build(self, m: Module) -> None:
        ticks = {name: ticking(m, name) for name in ("inner", "outer")}
        m.submodules.entrance = entrance = macro(Entrance(BITS), reset=Const(0), clock=Clock(Const(1), ticks["inner"]))
        m.submodules.exit = leave = macro(Exit(BITS), reset=Const(0), clock=Clock(Const(1), ticks["outer"]))
        sent, got = number_words(m, "sent", entrance.i, "inner"), number_words(m, "got", leave.o, "outer")
        enters = entrance.i.valid & entrance.i.ready & ticks["inner"]
        entered, left = before(m, entrance.entered, "entered_before"), before(m, leave.left, "left_before")
        m.d.comb += [
            entrance.i.valid.eq(free(m, 1, "offer")), entrance.i.payload.eq(sent), leave.o.ready.eq(free(m, 1, "accept")),
            leave.entered.eq(seen(m, entrance.entered, entered, "entered")),
            entrance.left.eq(seen(m, leave.left, left, "left")), entrance.address.eq(leave.address),
            leave.word.eq(seen_word(m, entrance.word, leave.address, sent[:BITS - 1], enters, "word")),
        ]
        always(m, "in order", ~leave.o.valid | (leave.o.payload == got))
        keeps_contract(m, "o", leave.o, domain="outer")
        reachable(m, "a word leaves a full FIFO that was full before",
                  leave.o.valid & leave.o.ready & (got == 1) & ~entrance.i.ready)
        self._inside(m, sent, got, decoded(entered), decoded(left), entrance, leave)

    def _inside(self, m: Module, sent: Signal, got: Signal, entered: Value, left: Value, entrance: object,
                leave: object) -> None:
        """What holds of the registers."""
        held = (sent - got)[:BITS]
        always(m, "counts are numbers", (self.count_in == sent) & (self.count_out == got))
        always(m, "counts are told", (decoded(entrance.entered) == sent) & (decoded(leave.left) == got))
        always(m, "no more than there is room for", held <= DEPTH)
        always(m, "one step an instant", ((sent - entered)[:BITS] <= 1) & ((got - left)[:BITS] <= 1))
        # Each register knows of no more words than the one before it.
        known = [decoded(self.entered_1), decoded(self.entered_0), entered, sent]
        gone = [got, left, decoded(self.left_0), decoded(self.left_1)]
        for n in range(len(known) - 1):
            always(m, f"{n} of known words", (known[n] - got)[:BITS] <= (known[n + 1] - got)[:BITS])
            always(m, f"{n} of gone words", (sent - gone[n])[:BITS] <= (sent - gone[n + 1])[:BITS])
        always(m, "room is never more than there is", (sent - gone[-1])[:BITS] <= DEPTH)
        always(m, "the word that is offered is the next", (known[0] == got) | (leave.o.payload == got))
        for n in range(DEPTH):
            ahead = (n - got)[:BITS - 1]
            always(m, f"row {n}", (ahead >= held) | (getattr(self, f"row_{n}") == (got + ahead)[:BITS]))


class OneRegister(Elaboratable):
    """In place of a synchroniser: one register only."""

    def __init__(self, i: Value, o: Value, *, init: int = 0, reset_less: bool = True) -> None:
        self.i, self.o, self.init, self.reset_less = i, o, init, reset_less

    def elaborate(self, platform: object) -> Module:
        m = Module()
        stage0 = Signal(len(self.i), init=self.init, reset_less=self.reset_less)
        m.d.sync += stage0.eq(self.i)
        m.d.comb += self.o.eq(stage0)
        return m


class Outside(Pair):
    """Without what speaks of registers inside, for halves with other ones."""

    def __init__(self) -> None:
        Harness.__init__(self)

    def _inside(self, *_: object) -> None:
        pass


def test_words_leave_in_their_order_whenever_the_edges_come(tmp_path: Path) -> None:
    # What the registers of the instant before held is told by that instant only.
    assert prove(Pair(), tmp_path, k=2) == Verdict(True)


def test_a_fifo_fills_and_goes_on(tmp_path: Path) -> None:
    assert cover(Outside(), tmp_path, 3 * DEPTH)


def test_counts_that_are_not_gray_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossing, "gray", lambda count: count)
    monkeypatch.setattr(crossing, "APART", DEPTH)
    # A count that was never there makes an offer go away, which buses forbid.
    assert prove(Outside(), tmp_path, bound=8, only="o is not retracted").failed == ("o is not retracted",)


def test_one_register_for_a_synchroniser_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossing, "FFSynchronizer", OneRegister)
    assert prove(Outside(), tmp_path, bound=6, only="in order").failed == ("in order",)


def test_a_fifo_that_takes_one_word_too_many_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossing, "APART", 0b1101)
    assert prove(Outside(), tmp_path, bound=3 * DEPTH, only="in order").failed == ("in order",)
