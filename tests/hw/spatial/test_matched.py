"""Elements of a tensor without zeros are found by their coordinates, whatever its format, and whatever stalls."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.private_buffer import Bank, Level, Loop
from sardonyx.hw.arch.token import DONE, stop
from sardonyx.hw.spatial.buffer.matcher import Matcher
from sardonyx.runtime.data import fibers
from sardonyx.runtime.data.private_buffers import filled
from sardonyx.sim.model import private_buffer as model
from sardonyx.sim.rtl.bench import Bench

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B", dtype="int8")
PRODUCT = sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int8")
stalls = st.none() | st.integers(1, 1 << 30)
FIBERS, EXTENT, ENTRIES, BITS = 3, 5, 6, 8
# The format of B, the order of its levels, and banks; `dense` with k outside is found by its address, in strides.
FORMATS = [("compressed", (1, 0), 1), ("compressed", (0, 1), 2), ("bitvector", (0, 1), 1), ("linked list", (1, 0), 2),
           ("dense", (0, 1), 1)]


@cache
def design(kind: str, order: "tuple[int, ...]", banks: int) -> sp.Design:
    buffers = {"A": sp.Buffer("dense", "compressed", words=64),
               "B": sp.Buffer("dense", kind, words=16, order=order, operations=2, banks=banks)}
    return sp.Design(PRODUCT, sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]]), {"i": 3, "j": 2, "k": 8}, name="matched",
                     sparsity=[sp.skip(k, where=A(i, k) == 0)], buffers=buffers)


def operands(array: sp.Design, operations: int, seed: int) -> "dict[str, np.ndarray]":
    """With empty rows, and tensors from empty to dense, which stay for two operations."""
    random, found = np.random.default_rng(seed), array.random(operations, seed)
    found["A"] *= random.random((operations, 3, 1)) < 0.8
    of_b = random.integers(-128, 128, ((operations + 1) // 2, 8, 2))
    of_b *= random.random(of_b.shape) < random.choice((0, 0.4, 1), (len(of_b), 1, 1))
    found["B"] = np.repeat(of_b, 2, axis=0)[:operations]
    return found


@cache
def bench() -> Bench:
    return Bench(Matcher(FIBERS, EXTENT, ENTRIES, BITS))


@settings(max_examples=15)
@given(tensors=st.integers(1, 5), stalls=stalls, seed=st.integers(0, 1 << 30))
def test_a_matcher_gives_each_element_that_it_is_asked_for_and_0_where_there_is_none(
        tensors: int, stalls: "int | None", seed: int) -> None:
    random = np.random.default_rng(seed)
    given_pairs, asked, wanted = [], [], []
    for _ in range(tensors):
        tensor = random.integers(-128, 128, FIBERS * EXTENT)
        tensor[random.permutation(FIBERS * EXTENT)[random.integers(0, ENTRIES + 1):]] = 0
        for fiber in tensor.reshape(FIBERS, EXTENT):
            given_pairs += [int(crd) << BITS | int(fiber[crd]) % 256 for crd in np.flatnonzero(fiber)] + [stop(0) << BITS]
        places = random.integers(0, FIBERS * EXTENT, random.integers(0, 9)).tolist()
        asked += [*places, stop(0), DONE]
        wanted += [*(int(tensor[place]) % 256 for place in places), stop(0), DONE]
    found = bench().run({"i": given_pairs, "ref": asked}, stalls=stalls)
    assert found.outputs["crd"] == wanted and not found.left and not found.status["fault"]


def test_a_tensor_of_more_elements_than_entries_is_a_fault() -> None:
    pairs = [crd << BITS | 1 for _ in range(FIBERS) for crd in range(EXTENT)]
    faults = [bench().run({"i": pairs[:count]}).status["fault"] for count in (ENTRIES, ENTRIES + 1)]
    assert faults == [0, 1]


@pytest.mark.parametrize("kind,order,banks", FORMATS)
@settings(max_examples=6)
@given(operations=st.integers(1, 7), seed=st.integers(0, 1 << 30))
def test_words_that_are_matched_are_the_very_ones_that_ports_take(
        kind: str, order: "tuple[int, ...]", banks: int, operations: int, seed: int) -> None:
    array = design(kind, order, banks)
    words = operands(array, operations, seed)
    golden = fibers.fed(array.elastic, words)
    of_a, of_b = array.private
    given = model.given(of_b, filled(of_b, words["B"]), operations, model.given(of_a, filled(of_a, words["A"]), operations))
    assert given == {name: golden[name] for name in given} and len(given) == 6
    assert {bank.matched for bank in of_b.banks} == {kind != "dense"}


@pytest.mark.parametrize("kind,order,banks", [FORMATS[0], *(pytest.param(*each, marks=pytest.mark.slow)
                                                            for each in FORMATS[1:])])
@settings(max_examples=4)
@given(operations=st.integers(1, 7), stalls=stalls, seed=st.integers(0, 1 << 30))
def test_a_product_of_matrices_without_zeros_that_are_searched_is_exact_whatever_stalls(
        kind: str, order: "tuple[int, ...]", banks: int, operations: int, stalls: "int | None", seed: int) -> None:
    array = design(kind, order, banks)
    array.run("rtl", stalls, **operands(array, operations, seed))


def test_explain_says_why_elements_are_compared() -> None:
    assert ("no constant coordinates: 6 ports ask for what A_0_0, A_1_0, A_2_0 find, each in turn, by 16 comparators\n"
            ) in design(*FORMATS[0]).explain().text


@pytest.mark.parametrize("changed,said", [
    ({"words": 512}, "words is 512, of places to 32, which are compared"),
    ({"levels": (Level("dense", 1 << 13), Level("compressed", 16))}, "words is 32, of places to 131,072, which are compared"),
    ({"form": "word", "dealt": 2}, "bases are of a bank that gives no fibers"),
    ({"loops": (Loop(2, 16, 1),)}, "bases are 2 of 2 sinks, or there is a request, too"),
    ({"loops": (Loop(2, 16, 0), Loop(2, 1, 0))}, "bases are 2 of 2 sinks, or there is a request, too"),
])
def test_a_bank_that_cannot_be_searched_is_refused(changed: "dict[str, object]", said: str) -> None:
    fitting: dict[str, object] = {
        "bits": 8, "levels": (Level("dense", 2), Level("compressed", 16)), "words": 32, "first": 0, "first_sink": 0,
        "loops": (), "sinks": 2, "form": "fiber", "paired": True, "bases": (0, 16)}
    assert Bank(**fitting).matched          # type: ignore[arg-type]
    with pytest.raises(UserError) as refused:
        Bank(**fitting | changed)       # type: ignore[arg-type]
    assert said in refused.value.what
