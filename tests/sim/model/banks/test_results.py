"""A buffer of a result in its model gives its last word in the cycle in which its Verilog does, whatever its levels are."""

from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.hw.arch.spatial import Shaped
from sardonyx.hw.arch.token import stop
from sardonyx.hw.arch.written import Written
from sardonyx.hw.arch.written_chain import ChainedWritten
from sardonyx.hw.spatial.buffer.written_result import WrittenResult
from sardonyx.sim.model.banks.results import TimedResult
from sardonyx.sim.model.queue import Pair, Queue, turn
from sardonyx.sim.rtl.bench import Bench

LEVELS = {"d": "dense", "c": "compressed", "b": "bitvector", "l": "linked list"}
SHAPES = {2: (3, 20), 3: (2, 3, 5)}
BITS, CYCLES = 8, 5000


def result(letters: str) -> Written:
    """Letters of levels; with a | behind them fibers come in two parts."""
    levels, begins = letters.rstrip("|"), (0, 2) if "|" in letters else (0,)
    shape = SHAPES[len(levels)]
    ports = tuple(f"C_{'_'.join(map(str, at))}" for at in product(*map(range, shape[:-1]), begins))
    *above, last = (LEVELS[letter] for letter in levels)
    named = Shaped("C", BITS, shape), tuple(range(len(shape))), ports, last, 128, 2
    return Written(*named, begins=begins) if set(above) == {"dense"} else ChainedWritten(*named, begins=begins,
                                                                                        above=tuple(above))


@cache
def bench(letters: str) -> Bench:
    return Bench(WrittenResult(result(letters)))


@pytest.mark.parametrize("letters", ["cl", "dc|", *(pytest.param(each, marks=pytest.mark.slow) for each in (
    "dd", "dc", "db", "dl", "cc", "cd", "bb", "ccc", "cdd", "bdc", "ld", "ll", "dlc", "ldb", "llc", "ccc|"))])
@settings(max_examples=20)
@given(tensors=st.integers(1, 6), density=st.sampled_from((0, 0.1, 0.5, 1)), seed=st.integers(0, 1 << 30))
def test_the_last_word_leaves_in_the_cycle_of_the_verilog(letters: str, tensors: int, density: float, seed: int) -> None:
    kind, random = result(letters), np.random.default_rng(seed)
    parts = [*pairwise((*kind.begins, kind.extent))] * kind.fibers
    pairs = [[pair for _ in range(tensors) for pair in (
        *(Pair(begin + int(crd), 1)
          for crd in np.flatnonzero((random.random(end - begin) < density) & (random.random() < 0.7))),
        Pair(stop(0), 0))] for begin, end in parts]
    found = bench(letters).run({f"i{nth}": [pair.crd << BITS | pair.value for pair in words]
                                for nth, words in enumerate(pairs)}, idle=400)
    ports = [Queue(len(words)) for words in pairs]
    for queue, words in zip(ports, pairs):
        queue.pairs.extend(words)
        queue.begin()
    timed = TimedResult(kind, ports, tensors)
    for _ in range(CYCLES):
        if not timed.is_over:
            timed.step()
            turn(ports)
    assert timed.is_over and timed.last == found.cycles - 1
