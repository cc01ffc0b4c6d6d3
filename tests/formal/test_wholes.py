"""What is made of parts keeps the contract of streams as a whole: results in formats, feeders of levels, arrays of vectors.

As parts keep it if what they are given does, nothing is asked for but what their FIFOs and memories hold.
"""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module
from prover import Side, Verdict, always, prove
from test_buffers import BITS, LISTS, READ, RESULT, ZEROS, Between, Held
from test_level_chains import RESULT as CHAINED

from sardonyx.hw.arch.cartesian import Cartesian
from sardonyx.hw.arch.chain import ChainedBank
from sardonyx.hw.arch.private_buffer import COMPRESSED, DENSE, FIBER, Level, Loop
from sardonyx.hw.arch.written import Written
from sardonyx.hw.spatial.buffer.chain_feeder import ChainFeeder
from sardonyx.hw.spatial.buffer.chain_writer import ChainWriter
from sardonyx.hw.spatial.buffer.written_result import WrittenResult
from sardonyx.hw.spatial.convolve.cartesian import CartesianArray


class Vectors(Between):
    """An array of vectors, of which the sums of a bank leave when nothing is added any more."""

    def __init__(self) -> None:
        self.kind = Cartesian("products", 2, 1, 2, 2, 2, 2, 4, stored=2)
        wires = {"there": "o__valid", "leaves": "leaves", "clears": "clears"}
        super().__init__(CartesianArray(self.kind), {f"{name}{bank}": (f"part.bank{bank}.{wire}", 1)
                                                     for name, wire in wires.items() for bank in range(self.kind.banks)})

    def build(self, m: Module) -> None:
        super().build(m)
        for bank in range(self.kind.banks):
            there, leaves, clears = (getattr(self, f"{name}{bank}") for name in ("there", "leaves", "clears"))
            always(m, f"what is there of bank {bank} leaves, and is not set to 0", ~there | (leaves & ~clears))
            always(m, f"nothing of bank {bank} leaves before all is 0", ~leaves | ~clears)


def written(result: Written) -> Held:
    fifos = {"collector.fiber0": 4, "collector.fiber1": 4}
    return Held(WrittenResult(result), fifos | {f"writer.{name}.ahead": READ for name in result.arrays})


def chained() -> Held:
    result = dataclasses.replace(CHAINED, tensor=dataclasses.replace(CHAINED.tensor, name="M"))
    levels: dict[int, Any] = {1: result.last, 0: result.splits[0].level}
    return Held(ChainWriter(result), {f"level{nth}.{name}.ahead": READ for nth, level in levels.items()
                                       for name in level.arrays})


def fed(last: str) -> Between:
    levels = Level(COMPRESSED, 2), Level(last, 3)
    bank = ChainedBank(2, levels, 16, 0, 0, (Loop(2, 1, 1),), 2, FIBER, True, sifted=last == DENSE)
    return Between(ChainFeeder(bank, f"feed_{last}"))


def results() -> Side:
    return Side({"compressed": written(RESULT), "bits": written(BITS), "lists": written(LISTS), "zeros": written(ZEROS),
                 "levels": chained()})


def fills() -> Side:
    return Side({"two levels": fed(COMPRESSED), "a level above fibers": fed(DENSE), "vectors": Vectors()})


@pytest.mark.slow
@pytest.mark.parametrize("side", [results, fills])
def test_what_is_made_of_parts_keeps_the_contract(side: Any, tmp_path: Path) -> None:
    assert prove(side(), tmp_path) == Verdict(True)
