"""A bank in its model gives each word in the cycle in which its Verilog does."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.hw.arch.private_buffer import Bank, Level, Loop, PrivateBuffer, Run
from sardonyx.hw.spatial.buffer.private_buffer import PrivateBank
from sardonyx.runtime.data.private_buffers import filled
from sardonyx.sim.model import private_buffer as words
from sardonyx.sim.model.banks.bank import TimedBank
from sardonyx.sim.model.queue import Pair
from sardonyx.sim.rtl.bench import Bench

CYCLES = 5000


def _levels(kind: str, extent: int = 4) -> tuple[Level, ...]:
    return Level("dense", 3), Level(kind, extent)


# Fibers to several ports, backwards, and in turns; fibers that are dense; words, by a nest that jumps, or a table of runs.
BANKS = {
    "compressed": Bank(16, _levels("compressed"), 16, 2, 2, (Loop(3, -1, -1),), 3, "fiber", True, 5, 2),
    "compressed, to one port": Bank(16, _levels("compressed", 9), 32, 0, 0, (Loop(3, 1, 0), Loop(2, 0, 0)), 1, "fiber", True),
    "bits": Bank(16, _levels("bitvector", 37), 128, 0, 0, (Loop(3, 1, 0), Loop(3, 3, 1)), 3, "fiber", True, 38, 2),
    "lists": Bank(16, _levels("linked list"), 16, 2, 2, (Loop(3, -1, -1),), 3, "fiber", True, 5, 2, 2),
    "dense fibers": Bank(8, _levels("dense"), 16, 0, 0, (Loop(4, 1, 0), Loop(3, 4, 1)), 3, "fiber", True, 5, 2),
    "words": Bank(8, _levels("dense"), 16, 8, 0, (Loop(2, -8, 1), Loop(4, 1, 0)), 2, "word", False, 2, 2),
    "a table": Bank(8, _levels("dense"), 16, 0, 0, (), 2, "word", False, 2, 3, table=(
        Run(7, 1), Run(0, 0, 4, 3, 0), Run(11, 0, 2, -5, 1))),
}


class Taker:
    """A port that takes what comes, and knows the cycles of that."""

    def __init__(self) -> None:
        self.now, self.taken = 0, list[int]()

    def offer(self, pair: Pair) -> bool:
        self.taken.append(self.now)
        return True


@cache
def bench(name: str) -> Bench:
    return Bench(PrivateBank(BANKS[name], "bank"))


@pytest.mark.parametrize("name", ["compressed", *(
    pytest.param(each, marks=pytest.mark.slow) for each in BANKS if each != "compressed")])
@settings(max_examples=25)
@given(tensors=st.integers(1, 6), density=st.sampled_from((0, 0.2, 0.6, 1)), seed=st.integers(0, 1 << 30))
def test_each_word_comes_in_the_cycle_of_the_verilog(name: str, tensors: int, density: float, seed: int) -> None:
    bank, random = BANKS[name], np.random.default_rng(seed)
    array = random.integers(1, 128, (tensors, 3, bank.levels[1].extent)) * (random.random((tensors, 3, 1)) < 0.7)
    array *= random.random(array.shape) < density
    buffer = PrivateBuffer("B", (0, 1), 0, (bank,), (tuple("abc"[:bank.sinks]),))
    fills = filled(buffer, np.repeat(array, bank.operations, axis=0))
    found = bench(name).run({stream: fills[f"B_{stream}"] for stream in bank.streams}, idle=400)
    given = words.given(buffer, fills, bank.operations * tensors)
    takers = [Taker() for _ in buffer.sinks[0]]
    timed = TimedBank(bank, {stream: fills[f"B_{stream}"] for stream in bank.streams}, takers,
                      [[Pair(*pair) for pair in given[sink]] for sink in buffer.sinks[0]])
    for now in range(CYCLES):
        for taker in takers:
            taker.now = now
        if not timed.is_over:
            timed.begin()
            timed.step()
    assert timed.is_over
    assert [taker.taken for taker in takers] == [found.stamps[f"o{nth}"] for nth in range(bank.sinks)]
