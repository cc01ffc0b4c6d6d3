"""A bank that is clocked around its accesses only gives the words of one that is always clocked, and so does the register
between a ring and its load."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal, Value
from amaranth.lib.wiring import In
from prover import Harness, Side, Verdict, always, assume, cover, free, prove, reachable

from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.clock_gate import follows, gated_clock, lasting
from sardonyx.hw.emit import macro
from sardonyx.hw.glb.bank import Bank
from sardonyx.hw.glb.load import LoadDma
from sardonyx.hw.glb.tile import needed

LINES = 4


class Twins(Harness):
    """A gated bank beside one that is not, under the same accesses, whatever they are.

    margin: cycles after an access in which the gated one is clocked, instead of what it says itself; opens: what counts as one.
    """

    def __init__(self, macros: int, read_latency: int, margin: "int | None" = None,
                 opens: "Callable[[Any], Value]" = lambda bank: bank.enable) -> None:
        self.macros, self.read_latency, self.opens = macros, read_latency, opens
        self.margin = Bank.margin(read_latency) if margin is None else margin
        wires = {f"row{number}_{line}": (f"sram{number}.memory[{line}]", 64)
                 for number in range(macros) for line in range(LINES // macros)}
        wires |= {f"word{number}": (f"sram{number}.word", 64) for number in range(macros)}
        self.equal = tuple(wires)
        if macros > 1:
            self.equal += ("chosen",)
            wires["chosen"] = "chosen", 1
        if read_latency == 3:
            self.equal += ("enable_taken",)
            wires |= {"enable_taken": ("enable_taken", 1), "address_taken": ("address_taken", 2),
                      "write_taken": ("write_taken", 8), "data_taken": ("data_taken", 64)}
        super().__init__({f"{bank}_{name}": (f"{bank}.{wire}", width) for bank in ("plain", "gated")
                          for name, (wire, width) in wires.items()})

    def build(self, m: Module) -> None:
        clock = gated_clock(m, "gated", "enable", None)
        m.submodules.plain = plain = macro(self.bank())
        m.submodules.gated = gated = macro(self.bank(), clock=clock)
        m.d.comb += clock.on.eq(lasting(m, "gated", self.opens(gated), self.margin))
        for name, bits in (("enable", 1), ("address", 2), ("write", 8), ("data", 64)):
            value = free(m, bits, name)
            m.d.comb += [getattr(plain, name).eq(value), getattr(gated, name).eq(value)]

        def both(name: str) -> "tuple[Any, Any]":
            return getattr(self, f"plain_{name}"), getattr(self, f"gated_{name}")

        # A memory begins with any contents, but both with the same. Words before the first read say nothing: they are 0.
        begun = Signal(reset_less=True)
        m.d.sync += begun.eq(1)
        always(m, "the word is the same", plain.word == gated.word)
        for name in self.equal:
            one, other = both(name)
            if name.startswith(("row", "word")):
                assume(m, f"{name} begins the same", begun | (one == other) & (one == 0 if name.startswith("word") else 1))
            always(m, f"{name} is the same", one == other)
        if self.read_latency == 3:
            for name in ("address_taken", "write_taken", "data_taken"):
                one, other = both(name)
                always(m, f"{name} is the same if it counts", ~self.plain_enable_taken | (one == other))
        reachable(m, "the clock rests, and another word comes",
                  ~clock.on & (plain.word != 0) & (plain.word != self.plain_row0_0) & begun)

    def bank(self) -> Bank:
        return Bank(LINES, self.macros, self.read_latency)


def every() -> "dict[str, Twins]":
    return {f"macros {macros} latency {latency}": Twins(macros, latency) for macros in (1, 2) for latency in (1, 2, 3)}


@pytest.mark.parametrize("name", every())
def test_gated_banks_give_the_words_of_banks_that_are_not(name: str, tmp_path: Path) -> None:
    assert prove(every()[name], tmp_path, k=3) == Verdict(True)


def test_words_come_while_the_clock_rests(tmp_path: Path) -> None:
    assert cover(Side(every()), tmp_path, 8)


@pytest.mark.parametrize("latency", [2, 3])
def test_a_margin_that_is_a_cycle_too_short_is_found(latency: int, tmp_path: Path) -> None:
    verdict = prove(Twins(2, latency, margin=latency - 2), tmp_path, bound=8, only="the word is the same")
    assert verdict.failed == ("the word is the same",)


def test_a_gate_that_writes_do_not_open_is_found(tmp_path: Path) -> None:
    deaf = Twins(1, 1, opens=lambda bank: bank.enable & ~bank.write.any())
    assert prove(deaf, tmp_path, bound=4, only="row0_0 is the same").failed == ("row0_0 is the same",)


class TwinWords(Harness):
    """The word of a ring on its way to a load, in a register that is always clocked and in one with the clock of the load.

    opens: when that is, by the enable bit of the load and the load.
    """

    def __init__(self, read_latency: int, opens: "Callable[[Value, Any], Value]" = needed) -> None:
        self.glb = Glb(banks=1, bank_bytes=32, load_loops=1, read_latency=read_latency, ring=2)
        self.opens, self.latency = opens, self.glb.load_latency
        asked = {f"asked_{cycle}": (f"load.asked_{cycle}", 4) for cycle in range(1, self.latency)}
        self.on_their_way = tuple(asked)
        super().__init__({**asked, "full": ("load.full", 1), "fresh": ("load.fresh", 1),
                          "count": ("load.count", self.latency.bit_length()),
                          "level": ("load.queue.queue.level", self.latency.bit_length())})

    def build(self, m: Module) -> None:
        probe: Any = self
        m.submodules.load = load = macro(LoadDma(self.glb))
        for path, member, value in load.signature.flatten(load):
            if member.flow is In and path != ("word",):
                m.d.comb += Value.cast(value).eq(free(m, len(Value.cast(value)), "_".join(map(str, path))))
        clock = gated_clock(m, "load", "enable", None)
        word, plain, gated = free(m, 64, "ring"), Signal(64, reset_less=True), Signal(64, reset_less=True)
        m.d.comb += [clock.on.eq(self.opens(free(m, 1, "enable"), load)), load.word.eq(plain)]
        m.d.sync += plain.eq(word)
        follows(m, gated, word, clock)
        moving = sum((getattr(probe, name)[0] for name in self.on_their_way), probe.full)
        always(m, "what is on its way counts", probe.count >= moving + probe.level)
        always(m, "no more is on its way than has a place", probe.count <= self.latency)
        always(m, "a word that the load takes is the same", ~probe.fresh | (plain == gated))
        reachable(m, "the clock rests after a word, and the registers differ", ~clock.on & (plain != gated) & (gated != 0))


@pytest.mark.parametrize("latency", [1, 3])
def test_a_load_takes_the_same_words_of_a_ring_by_a_register_with_its_clock(latency: int, tmp_path: Path) -> None:
    assert prove(TwinWords(latency), tmp_path) == Verdict(True)


def test_the_register_before_a_load_rests_and_keeps_a_word(tmp_path: Path) -> None:
    assert cover(TwinWords(1), tmp_path, 8)


def test_a_clock_that_rests_when_the_enable_bit_is_cleared_is_found(tmp_path: Path) -> None:
    claim = "a word that the load takes is the same"
    assert prove(TwinWords(1, lambda enable, load: enable), tmp_path, bound=10, only=claim).failed == (claim,)
