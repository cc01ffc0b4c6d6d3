"""Lanes merge by other operations than adding: of equal coordinates the largest, say, or whether any is true."""

import operator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.compiler.lang.recurrence import Recurrences
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.outer_product import MERGE, MULTIPLY, OuterProduct
from sardonyx.hw.arch.reduction import ALL, ANY, LARGEST, NEUTRAL, SMALLEST, TIMES
from sardonyx.sim.golden.spatial import evaluate

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")
(P,) = sp.inputs("P", dtype="int32")
(best,) = sp.variables("best", dtype="int32")
(C,) = sp.outputs("C")
MEANING = {LARGEST: sp.maximum, SMALLEST: sp.minimum, TIMES: operator.mul, ALL: operator.and_, ANY: operator.or_}
LEAST = 1 - (1 << 31)


def merged(reduction: str, first: int = 0) -> Recurrences:
    """C(i,j) is what P(i,k,j) comes to from a first number on."""
    meaning = MEANING[reduction]
    return sp.functionality(best(i, j, k.lower).eq(first), best(i, j, k).eq(meaning(best(i, j, k - 1), P(i, k, j))),
                            C(i, j).eq(best(i, j, k.upper)))


# A sum that begins with 1.
FROM_ONE = sp.functionality(best(i, j, k.lower).eq(1), best(i, j, k).eq(best(i, j, k - 1) + P(i, k, j)),
                            C(i, j).eq(best(i, j, k.upper)))


def merge(reduction: str, first: int = 0, sparse: bool = True) -> sp.Design:
    return sp.Design(
        merged(reduction, first), sp.Lanes(i, (k, j), lanes=2, ports=1), {"i": 16, "j": 64},
        sparsity=[sp.skip(j, where=P(i, k, j) == 0)] if sparse else [], balance=[sp.work_queue(i, grain="operation")],
        buffers={"P": sp.Runs(words=32), "C": sp.Lists()}, name="outer_reduces")


def multiply(**changes: Any) -> sp.Design:
    fiber = sp.Buffer("dense", "compressed", words=16, order=(1, 0))
    return replace(sp.Design(
        sp.functionality("P(i,k,j) = A(i,k) * B(k,j)"), sp.Lanes(k, (i, j), lanes=2, ports=1), {"i": 16, "j": 64},
        sparsity=[sp.skip(i, where=A(i, k) == 0), sp.skip(j, where=B(k, j) == 0)],
        buffers={"A": fiber, "B": sp.Buffer("dense", "compressed", words=16), "P": sp.Lists()}, name="outer_gives"), **changes)


def drawn(shape: "tuple[int, ...]", density: float, seed: int, half: int = 1 << 31) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.integers(-half, half, shape) * (random.random(shape) < density)


def wanted(reduction: str, first: int, partial: np.ndarray) -> np.ndarray:
    height, terms, width = partial.shape
    return evaluate(merged(reduction, first), {"i": height, "j": width, "k": terms}, {"P": partial})["C"]


@settings(max_examples=30)
@given(reduction=st.sampled_from(tuple(MEANING)), first=st.sampled_from((0, LEAST, -LEAST, -7, 12)),
       shape=st.tuples(st.integers(1, 6), st.integers(1, 40), st.integers(1, 9)), density=st.sampled_from((0.1, 0.5, 1)),
       seed=st.integers(0, 1 << 30))
def test_engines_say_what_recurrences_say(reduction: str, first: int, shape: "tuple[int, int, int]", density: float,
                                          seed: int) -> None:
    """Whole operands from any number on; those without zeros from 0 on. Also more runs than are kept at once."""
    partial = drawn(shape, density, seed, 1 << 31 if seed % 2 else 20)
    first = NEUTRAL.get(reduction, first)
    for design in (merge(reduction, first, sparse=False), *([] if first else [merge(reduction)])):
        for engine in ("golden", "tokens"):
            assert np.array_equal(design.run(engine, P=partial).value, wanted(reduction, first, partial))


@pytest.mark.parametrize("reduction,first,sparse", [
    (LARGEST, 0, True), pytest.param(LARGEST, LEAST, False, marks=pytest.mark.slow),
    pytest.param(SMALLEST, 0, True, marks=pytest.mark.slow), pytest.param(SMALLEST, 12, False, marks=pytest.mark.slow),
    (ANY, 0, True), pytest.param(ALL, 3, False, marks=pytest.mark.slow), pytest.param(TIMES, 1, False, marks=pytest.mark.slow)])
def test_the_verilog_does_so_by_a_job_and_by_commands(reduction: str, first: int, sparse: bool) -> None:
    design = merge(reduction, first, sparse)
    for seed, shape in ((1, (9, 7, 12)), (2, (3, 70, 5)), (3, (1, 1, 1))):
        partial = drawn(shape, 0.5, seed, 1 << 31 if seed < 3 else 20)
        partial[0, :, 0] = -3       # less than 0 alone
        assert np.array_equal(design.run("rtl", P=partial).value, wanted(reduction, first, partial))
    assert np.array_equal(design.accelerator().run("rtl", P=partial).value, wanted(reduction, first, partial))


def test_both_phases_find_the_widest_path_of_two_edges() -> None:
    """Of all k the largest of the smaller ones of two weights."""
    product, = sp.variables("product")
    made, = sp.outputs("P")
    narrower = sp.select(sp.different(A(i, k) * B(k, j), 0), sp.minimum(A(i, k), B(k, j)), 0)
    gives = sp.functionality(product(i, j, k).eq(narrower), made(i, k, j).eq(product(i, j, k)))
    design = sp.phases(multiply(functionality=gives), merge(LARGEST), name="outer_widest")
    random = np.random.default_rng(8)
    a, b = (random.integers(1, 99, shape) * (random.random(shape) < 0.5) for shape in ((9, 7), (7, 11)))
    paths = (np.minimum(a[:, :, None], b[None]) * (a[:, :, None] * b[None] != 0)).max(axis=1)
    for engine in ("golden", "tokens", "rtl"):
        assert np.array_equal(design.run(engine, A=a, B=b).value, paths)
    assert "of equal j the largest, 0 at least" in design.explain().text


def test_what_is_merged_otherwise_is_a_machine_of_its_own() -> None:
    kind = merge(LARGEST).laned.kind
    assert kind == OuterProduct("outer_reduces", 2, 1, 16, 32, 16, phases=MERGE, reduction=LARGEST)
    added = replace(merge(LARGEST), functionality=sp.functionality("C(i,j) = P(i,k,j)", dtype="int32")).laned.kind
    assert added == replace(kind, reduction="add") and added.fingerprint != kind.fingerprint
    assert sp.phases(multiply(), merge(SMALLEST)).kind.reduction == SMALLEST


@pytest.mark.parametrize("make,said", [
    (lambda: merge(LARGEST, 5).explain(),
     "sparsity: elements of P that are 0 are left out, and what C is begins with 5\n"
     "  try: begin with 0, or leave the skip out"),
    (lambda: merge(LARGEST, -5).explain(), "it would change best: best(i, j, k) = max(best(i, j, k - 1), P(i, k, j)) is"),
    (lambda: replace(merge(LARGEST), functionality=FROM_ONE).explain(), "best is not 0 before the first k"),
    (lambda: merge(TIMES, 1).explain(), "it would change best: best(i, j, k) = mul(best(i, j, k - 1), P(i, k, j)) is 0 there"),
    (lambda: OuterProduct("outer", reduction=TIMES), "first is 0, and products begin with 1\n  try: give 1"),
    (lambda: OuterProduct("outer", phases=MULTIPLY, reduction=LARGEST), "reduction is max, and nothing is merged"),
    (lambda: OuterProduct("outer", first=3), "first is 3, and sums begin with 0")])
def test_what_is_no_reduction_is_refused(make: Any, said: str) -> None:
    with pytest.raises(UserError) as refused:
        make()
    assert said in str(refused.value)
