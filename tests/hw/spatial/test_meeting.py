"""A buffer gathers the elements at the coordinates that two operands find together."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.private_buffer import Bank, Level, PrivateBuffer
from sardonyx.runtime.data import fibers
from sardonyx.runtime.data.private_buffers import filled
from sardonyx.sim.model import private_buffer as model

i, j, k = sp.indices("i j k")
A, B, D = sp.inputs("A B D", dtype="int8")
EXPRESSIONS = {"both": "C(i,j) = A(i,k) * D(k,j) * B(k,j)", "either": "C(i,j) = (A(i,k) + D(k,j)) * B(k,j)"}
SKIPS = {"both": [sp.skip(k, where=A(i, k) == 0), sp.skip(k, where=D(k, j) == 0)],
         "either": [sp.skip(k, where=(A(i, k) == 0) & (D(k, j) == 0))]}
# By columns.
TURNED, SPARSE = sp.Buffer("dense", "dense", words=16, order=(1, 0)), sp.Buffer("dense", "compressed", words=16, order=(1, 0))
CASES = [("both", "dense"), ("both", "compressed"), ("either", "dense")]


@cache
def design(joined: str, kind: str) -> sp.Design:
    """A product of whose elements B has the factors; where it is searched, all operands are stored without zeros."""
    buffers = {"B": TURNED} if kind == "dense" else {"A": sp.Buffer("dense", "compressed", words=16), "B": SPARSE, "D": SPARSE}
    return sp.Design(sp.functionality(EXPRESSIONS[joined], dtype="int8"), sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]]),
                     {"i": 2, "j": 2, "k": 6}, sparsity=SKIPS[joined], buffers=buffers, name="met")


def operands(array: sp.Design, operations: int, seed: int) -> "dict[str, np.ndarray]":
    """From empty to dense, with empty rows of A."""
    random, found = np.random.default_rng(seed), array.random(operations, seed)
    for each in found.values():
        each *= random.random(each.shape) < random.choice((0, 0.5, 1))
    found["A"] *= random.random((operations, 2, 1)) < 0.8
    return found


@pytest.mark.parametrize("joined,kind", CASES)
@settings(max_examples=8)
@given(operations=st.integers(1, 6), seed=st.integers(0, 1 << 30))
def test_what_two_operands_find_is_asked_for(joined: str, kind: str, operations: int, seed: int) -> None:
    array = design(joined, kind)
    assert array.elastic is not None
    words = operands(array, operations, seed)
    golden, buffer = fibers.fed(array.elastic, words), next(each for each in array.private if each.tensor == "B")
    given_words = model.given(buffer, filled(buffer, words["B"]), operations, golden)
    assert given_words == {port: golden[port] for port in given_words} and len(given_words) == 4
    assert array.run("tokens", **words).report["operations"] == operations


@pytest.mark.parametrize("joined,kind", [CASES[0], *(pytest.param(*case, marks=pytest.mark.slow) for case in CASES[1:])])
@settings(max_examples=8)
@given(operations=st.integers(1, 6), seed=st.integers(0, 1 << 30), stalls=st.none() | st.integers(1, 1 << 30))
def test_what_is_gathered_where_two_meet_is_exact_whatever_stalls(
        joined: str, kind: str, operations: int, seed: int, stalls: "int | None") -> None:
    array = design(joined, kind)
    array.run("rtl", stalls, **operands(array, operations, seed))


@pytest.mark.slow
@pytest.mark.parametrize("joined,kind", CASES)
def test_200_seeds_of_operands_and_stalls_are_exact(joined: str, kind: str) -> None:
    array = design(joined, kind)
    for seed in range(1, 201):
        array.run("rtl", seed, **operands(array, 4, seed))


@pytest.mark.parametrize("joined,said", [("both", "both of A_0_0, A_0_1, A_1_0, A_1_1 and D_0_0, D_0_1, D_1_0, D_1_1 have"),
                                         ("either", "either of A_0_0, A_0_1, A_1_0, A_1_1 and D_0_0, D_0_1, D_1_0, D_1_1 has")])
def test_explain_says_what_finds_coordinates_together(joined: str, said: str) -> None:
    assert f"4 ports gather elements by the coordinates that {said}\n" in design(joined, "dense").explain().text


def test_what_two_find_does_not_move() -> None:
    moved = replace(design("both", "dense"), balance=[sp.shift(i, by=-1, where=k >= 3)])
    with pytest.raises(UserError, match="is found by A and D together, and work moves") as refused:
        moved.hardware()
    assert refused.value.fix == "leave out the balance or the buffer: pairs of both would have to wait for what is gathered"
    for remedy in (replace(moved, balance=()), replace(moved, buffers={})):
        words = operands(remedy, 3, 1)
        assert remedy.run("tokens", **words).report["operations"] == 3 and words["A"].any()


@pytest.mark.parametrize("changed,said", [
    ({"others": (("d0",),)}, "others does not have a port for each that asks"),
    ({"either": True}, "either but no two ports find what is asked for"),
])
def test_ports_that_find_nothing_together_are_refused(changed: "dict[str, object]", said: str) -> None:
    bank = Bank(8, (Level("dense", 4),), 16, 0, 0, (), 2, "fiber", True, 4, bases=(0, 0))
    buffer = PrivateBuffer("B", (0,), 0, (bank,), (("b0", "b1"),), (0,), (("a0", "a1"),))
    assert replace(buffer, others=(("d0", "d1"),), either=True)
    with pytest.raises(UserError) as refused:
        replace(buffer, **changed)      # type: ignore[arg-type]
    assert said in refused.value.what
