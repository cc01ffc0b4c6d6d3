"""Results leave out fibers without an element, level by level, and are what they were."""

from dataclasses import replace
from functools import cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.hw.arch.check import Misfits
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.spatial import Shaped
from sardonyx.hw.arch.token import DONE, stop
from sardonyx.hw.arch.written_chain import ChainedWritten
from sardonyx.hw.spatial.buffer.counted import SegmentsDrain
from sardonyx.hw.spatial.buffer.fiber_dropper import FiberDropper
from sardonyx.hw.spatial.buffer.written_result import WrittenResult
from sardonyx.runtime.data import written as data
from sardonyx.sim.model import written as model
from sardonyx.sim.rtl.bench import Bench

LETTERS = dict(zip("dcbl", ("dense", "compressed", "bitvector", "linked list")))
S0, BITS = stop(0), 24
SHAPES = {2: (5, 20), 3: (2, 3, 5), 4: (2, 3, 2, 3)}
CHAINS = [above + last for above in "cbl" for last in "dcbl"] + ["dcc", "cdd", "ccc", "dcdd", "bdcl", "ldd",
                                                                  "llc", "dldb", "cldl"]
stalls = st.none() | st.integers(1, 1 << 30)


def result(letters: str, words: int = 128) -> ChainedWritten:
    shape = SHAPES[len(letters)]
    ports = tuple(f"C_{'_'.join(map(str, at))}" for at in product(*map(range, shape[:-1])))
    *above, last = (LETTERS[letter] for letter in letters)
    return ChainedWritten(Shaped("C", BITS, shape), tuple(range(len(shape))), ports, last, words, 2, above=tuple(above))


@cache
def bench(letters: str) -> Bench:
    return Bench(WrittenResult(result(letters)))


def tensors(letters: str, count: int, seed: int) -> np.ndarray:
    """From all empty to full, with empty fibers of every level; sums that are 0 are written as others are."""
    random, shape = np.random.default_rng(seed), SHAPES[len(letters)]
    found = random.integers(-1 << BITS - 1, 1 << BITS - 1, (count, *shape))
    for axis in range(len(shape) + 1):
        found *= random.random((count, *shape[:axis], *[1] * (len(shape) - axis))) < random.random() * 1.6
    return found


def pairs(kind: ChainedWritten, array: np.ndarray, seed: int) -> "dict[str, list[tuple[int, int]]]":
    """Of each port the elements that are not 0, and some others."""
    random = np.random.default_rng(seed)
    fibers = array.reshape(len(array), -1, array.shape[-1])
    there = (fibers != 0) | ((random.random(fibers.shape) < 0.1) & fibers.any(axis=2, keepdims=True))
    return {port: [pair for nth in range(len(array)) for pair in
                   [*((int(crd), int(fibers[nth, at, crd])) for crd in np.flatnonzero(there[nth, at])), (S0, 0)]]
            for at, port in enumerate(kind.ports)}


@pytest.mark.parametrize("letters", [name if name in ("cc", "dcdd", "dldb") else pytest.param(name, marks=pytest.mark.slow)
                                     for name in CHAINS])
@settings(max_examples=12)
@given(count=st.integers(1, 5), seed=st.integers(0, 1 << 30), stalls=stalls)
def test_fibers_are_left_out_and_the_tensor_is_what_it_was(letters: str, count: int, seed: int, stalls: "int | None") -> None:
    kind, array = result(letters), tensors(letters, count, seed)
    given_pairs = pairs(kind, array, seed)
    told = model.written(kind, given_pairs)
    assert np.array_equal(data.read(kind, told), array)
    words = {f"i{nth}": [crd << BITS | value % (1 << BITS) for crd, value in given_pairs[port]]
             for nth, port in enumerate(kind.ports)}
    found = bench(letters).run(words, stalls=stalls, idle=1000)
    assert not found.status["overflow"] and not found.left
    streams = {kind.name(name): found.outputs[name] for name in kind.arrays}
    assert np.array_equal(data.read(kind, streams), array)
    # Places of nodes that no coordinate has hold whatever was there.
    vague = {f"C_coordinates{nth}" for nth, letter in enumerate(letters[:-1]) if letter == "l"}
    vague |= {"C_coordinates", "C_values"} if letters[-1] == "l" else set()
    assert {name: words for name, words in streams.items() if name not in vague} == {
        name: words for name, words in told.items() if name not in vague}


def test_only_what_has_an_element_is_stored() -> None:
    kind, array = result("cc"), np.zeros((1, 5, 20), int)
    array[0, 3, [2, 19]] = 7, -8
    assert model.written(kind, pairs(kind, array, 1))["C_segments0"] == [2, 0, 1]
    found = bench("cc").run({f"i{nth}": [2 << BITS | 7, 19 << BITS | (1 << BITS) - 8, S0 << BITS] if nth == 3 else [S0 << BITS]
                             for nth in range(5)}, idle=1000)
    assert found.outputs == {"segments0": [2, 0, 1], "coordinates0": [1, 3], "segments": [2, 0, 2], "coordinates": [2, 2, 19],
                             "values": [2, 7, (1 << 32) - 8]}


def test_more_than_has_room_is_told() -> None:
    full = [crd << BITS | 1 for crd in range(20)] + [S0 << BITS]
    assert Bench(WrittenResult(result("cc", 16))).run({f"i{nth}": full for nth in range(5)}).status["overflow"]


def test_more_nodes_than_have_room_are_told() -> None:
    """Each of two lists takes a node of its own for one row."""
    kind = replace(result("dlc", 16), node=16)
    assert kind.links[0].nodes == 1
    given_pairs = {port: [(0, 1), (S0, 0)] if port in ("C_0_1", "C_1_2") else [(S0, 0)] for port in kind.ports}
    with pytest.raises(UserError, match="level 1 of a tensor has more nodes of 16 than the 1 that its buffer has room for"):
        model.written(kind, given_pairs)
    words = {f"i{nth}": [crd << BITS | value for crd, value in given_pairs[port]] for nth, port in enumerate(kind.ports)}
    assert Bench(WrittenResult(kind)).run(words, idle=1000).status["overflow"]


def test_a_dropper_leaves_out_fibers_and_groups_of_them() -> None:
    one = Bench(FiberDropper(3, 1, 8)).run({"i": [S0 << 8, 5 << 8 | 7, S0 << 8, S0 << 8, *[S0 << 8] * 3, DONE << 8]})
    assert one.outputs == {"o": [5 << 8 | 7, S0 << 8, DONE << 8], "crd": [1, S0, S0, DONE]}
    two = Bench(FiberDropper(2, 2, 0)).run({"i": [S0, S0, S0, 4, S0, DONE]})
    assert two.outputs == {"o": [S0, 4, S0, DONE], "crd": [1, S0, DONE]}
    fibers = [S0, S0, S0, 4, S0, *[S0] * 4, 5, S0, S0, 6, S0, S0, DONE]
    for each in (None, 3):
        nodes = Bench(FiberDropper(2, 2, 0, 4)).run({"i": fibers}, stalls=each)
        assert nodes.outputs == {"o": [S0, 4, S0, *[S0] * 6, 5, S0, S0, 6, S0, S0, *[S0] * 4, DONE],
                                 "crd": [1, S0, S0, 0, 1, S0, DONE]}


def test_segments_go_on_from_block_to_block() -> None:
    drain: Any = Bench(SegmentsDrain())
    found = drain.run({"i": [3, 0, 2, 5, 2, 0, 1]})
    assert found.outputs["o"] == [0, 2, 5, 5, 6]
    assert [(word & 0xffffffff, word >> 32) for word in found.outputs["run"]] == [(0, 3), (2, 2)]


@pytest.mark.parametrize("letters,words,said", [("dd", 128, "not all dense"), ("ld", 32, "are 32, but a node is 2 x 20")])
def test_a_result_of_no_such_levels_is_refused(letters: str, words: int, said: str) -> None:
    with pytest.raises(Misfits, match=said):
        result(letters, words)
    assert prod(SHAPES[2]) <= 128
