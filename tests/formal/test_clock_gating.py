"""A bank that is clocked around its accesses only gives the words of one that is always clocked."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal, Value
from prover import Harness, Side, Verdict, always, assume, cover, free, prove, reachable

from sardonyx.hw.clock_gate import gated_clock, lasting
from sardonyx.hw.emit import macro
from sardonyx.hw.glb.bank import Bank

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
