"""Elastic arrays whose results are the largest, or whether any is true, say: in a PE, handed on, and where skips cut them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.compiler.lang.recurrence import Expr, Recurrences
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.reduction import ANY, LARGEST, SMALLEST
from sardonyx.sim.golden.spatial import evaluate

i, j, k = sp.indices("i j k")
A, B, D = sp.inputs("A B D", dtype="int8")
(best,) = sp.variables("best", dtype="int32")
(narrow,) = sp.variables("narrow", dtype="int8")
(C,) = sp.outputs("C")
MEANING: "dict[str, Any]" = {LARGEST: sp.maximum, SMALLEST: sp.minimum, ANY: lambda a, b: a | b}
VALUES: "dict[str, Expr]" = {
    "product": A(i, k) * B(k, j), "narrower": sp.select(sp.different(A(i, k) * B(k, j), 0), sp.minimum(A(i, k), B(k, j)), 0)}
FACTORS: "dict[str, Expr]" = {"1 + a b": A(i, k) * B(k, j) + 1, "b": sp.select(sp.different(A(i, k), 0), B(k, j), 1)}
EXTENTS = {"i": 3, "j": 5, "k": 4}
BY_K, BY_J = sp.skip(k, where=A(i, k) == 0), sp.skip(j, where=B(k, j) == 0)
# What becomes of the wire of the result: it is in a PE, is cut by either skip, or handed on from PE to PE.
K_IN_TIME, J_IN_TIME = sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]]), sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]])
BOTH_IN_FIBERS = sp.skip(j, where=B(k, j) == 0), sp.skip(i, where=A(i, k) == 0)
ARRAYS = {"in a PE": (K_IN_TIME, (BY_K,)), "CSR x dense": (J_IN_TIME, (BY_J,)), "Gustavson": (J_IN_TIME, (BY_K, BY_J)),
          "outer": (J_IN_TIME, BOTH_IN_FIBERS), "found k": (J_IN_TIME, (BY_K,))}


def reduced(reduction: str, value: Expr) -> Recurrences:
    return sp.functionality(best(i, j, k.lower).eq(0), best(i, j, k).eq(MEANING[reduction](best(i, j, k - 1), value)),
                            C(i, j).eq(best(i, j, k.upper)))


def design(array: str, reduction: str = LARGEST, value: str = "product", **more: Any) -> sp.Design:
    transform, skips = ARRAYS[array]
    return sp.Design(reduced(reduction, VALUES[value]), transform, EXTENTS, sparsity=[*skips], name="reduces", **more)


def operands(density: float, seed: int) -> "dict[str, np.ndarray]":
    random = np.random.default_rng(seed)
    return {name: random.integers(-128, 128, (2, *shape)) * (random.random((2, *shape)) < density)
            for name, shape in (("A", (3, 4)), ("B", (4, 5)))}


def wanted(means: Recurrences, given_: "dict[str, np.ndarray]") -> np.ndarray:
    """What recurrences say, from one operation to the next."""
    return np.stack([evaluate(means, EXTENTS, {name: each[nth] for name, each in given_.items()})["C"] for nth in range(2)])


@settings(max_examples=60)
@given(array=st.sampled_from(tuple(ARRAYS)), reduction=st.sampled_from(tuple(MEANING)), value=st.sampled_from(tuple(VALUES)),
       density=st.sampled_from((0, 0.2, 0.6, 1)), seed=st.integers(0, 1 << 30))
def test_the_array_says_what_recurrences_say(array: str, reduction: str, value: str, density: float, seed: int) -> None:
    found = operands(density, seed)
    means = reduced(reduction, VALUES[value])
    assert np.array_equal(design(array, reduction, value).run("tokens", **found).value, wanted(means, found))


@pytest.mark.parametrize("array,reduction", [("Gustavson", LARGEST), pytest.param("in a PE", SMALLEST, marks=pytest.mark.slow),
                                             pytest.param("outer", ANY, marks=pytest.mark.slow)])
def test_so_does_the_verilog(array: str, reduction: str) -> None:
    found = operands(0.6, 3)
    made = design(array, reduction)
    ran = made.run("rtl", **found, stalls=3)
    assert np.array_equal(ran.value, wanted(reduced(reduction, VALUES["product"]), found))
    assert made.run("rtl", **found).cycles == made.run("tokens", **found).cycles


def multiplied(factor: str, first: int = 1) -> Recurrences:
    return sp.functionality(best(i, j, k.lower).eq(first), best(i, j, k).eq(best(i, j, k - 1) * FACTORS[factor]),
                            C(i, j).eq(best(i, j, k.upper)))


@settings(max_examples=30)
@given(factor=st.sampled_from(tuple(FACTORS)), balance=st.sampled_from(((), (sp.work_queue(i, where=k >= 2),),
                                                                        (sp.shift(i, by=1, where=k >= 1, grain="pe"),))),
       density=st.sampled_from((0, 0.2, 0.6, 1)), seed=st.integers(0, 1 << 30))
def test_products_are_of_the_factors_that_are_not_1(factor: str, balance: Any, density: float, seed: int) -> None:
    """What is skipped is 1, so that it may be left out; products wrap as sums do, whole and in parts."""
    found = operands(density, seed)
    array = sp.Design(multiplied(factor), K_IN_TIME, EXTENTS, sparsity=[BY_K], balance=[*balance])
    assert np.array_equal(array.run("tokens", **found).value, wanted(multiplied(factor), found))


def test_so_they_are_in_verilog() -> None:
    found = operands(0.6, 3)
    array = sp.Design(multiplied("1 + a b"), K_IN_TIME, EXTENTS, sparsity=[BY_K], name="multiplies",
                      balance=[sp.work_queue(i, where=k >= 2)])
    for stalls in (None, 3):
        ran = array.run("rtl", stalls, **found)
        assert np.array_equal(ran.value, wanted(multiplied("1 + a b"), found))
        assert stalls or ran.cycles == array.run("tokens", **found).cycles


@pytest.mark.parametrize("means", [*(reduced(each, A(i, k) * B(k, j)) for each in MEANING), multiplied("1 + a b")])
@pytest.mark.parametrize("transform", [J_IN_TIME, K_IN_TIME, sp.Transform([[1, 0, 0], [0, 1, 0], [0, 0, 1]])])
def test_few_of_a_group_are_reduced_as_all_of_it(means: Recurrences, transform: sp.Transform) -> None:
    array = sp.Design(means, transform, EXTENTS, sparsity=[sp.optimistic_skip(k, where=A(i, k) == 0, keep=1, of=2)])
    found = array.random(2, 5)
    assert np.array_equal(array.run("tokens", **found).value, wanted(means, found))


@pytest.mark.slow
def test_so_they_are_in_verilog_of_few_of_a_group() -> None:
    array = sp.Design(reduced(LARGEST, A(i, k) * B(k, j)), J_IN_TIME, EXTENTS, name="few",
                      sparsity=[sp.optimistic_skip(k, where=A(i, k) == 0, keep=1, of=2)])
    found = array.random(3, 5)
    assert array.run("rtl", **found, stalls=3).report["elements_checked"] == 45
    assert array.run("rtl", **found).cycles == array.run("tokens", **found).cycles


@pytest.mark.parametrize("first,step", [(0, sp.maximum(best(i, j, k - 1), A(i, k) * B(k, j))),
                                        (5, sp.maximum(best(i, j, k - 1), A(i, k) * B(k, j))),
                                        (7, best(i, j, k - 1) + A(i, k) * B(k, j)),
                                        (D(i, j), best(i, j, k - 1) + A(i, k) * B(k, j)),
                                        (D(i, j), best(i, j, k - 1) * (A(i, k) * B(k, j) + 1))])
def test_what_is_left_of_a_triangle_begins_with_what_all_of_it_begins_with(first: Any, step: Expr) -> None:
    """Not with 0, also where the points at the border are left out."""
    for where in (k < i, k > i):
        means = sp.functionality(best(i, j, k.lower).eq(first), best(i, j, k).eq(step), C(i, j).eq(best(i, j, k.upper)))
        array = sp.Design(means, J_IN_TIME, EXTENTS, sparsity=[sp.skip(k, where=where)])
        found = array.random(2, 3)
        assert np.array_equal(array.run("tokens", **found).value, wanted(means, found))


def test_a_variable_that_hands_itself_on_is_not_0_where_what_it_becomes_is() -> None:
    """Where points are left out it is what it was in the point before."""
    for first, step in ((1, best(i, j, k - 1) * A(i, k) * B(k, j)), (1, best(i, j, k - 1) & A(i, k) * B(k, j)),
                        (0, sp.select(sp.equal(A(i, k), 0), 0, best(i, j, k - 1) + A(i, k) * B(k, j)))):
        means = sp.functionality(best(i, j, k.lower).eq(first), best(i, j, k).eq(step), C(i, j).eq(best(i, j, k.upper)))
        with pytest.raises(UserError, match=r"it would change best: .* is 0 there"):
            sp.Design(means, J_IN_TIME, EXTENTS, sparsity=[sp.skip(k, where=k < i)]).explain()


def test_behind_buffers_it_is_the_same() -> None:
    """Rows of B are chosen by coordinates of A, and rows of C leave without zeros."""
    fibers = sp.Buffer("dense", "compressed", words=64)
    found = operands(0.6, 5)
    made = design("Gustavson", buffers=dict.fromkeys("AB", fibers))
    assert np.array_equal(made.run("tokens", **found).value, wanted(reduced(LARGEST, VALUES["product"]), found))


def test_an_accelerator_does_not_add_them() -> None:
    fibers = sp.Buffer("dense", "compressed", words=64)
    made = design("Gustavson", buffers=dict.fromkeys("ABC", fibers)).accelerator()
    assert not made.kind.sums
    with pytest.raises(UserError) as refused:
        made.product(np.eye(3, 4, dtype=int), np.eye(4, 5, dtype=int))
    assert str(refused.value) == ("reduces: its result is the largest, and tiles of a product are added up\n"
                                  "  try: use run(program, memory), or give it a sum")


def test_sums_are_what_they_were() -> None:
    added = sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int8"), J_IN_TIME, EXTENTS, sparsity=[BY_J])
    assert added.elastic is not None
    assert all(unit.kind.reduction == "add" for unit in added.elastic.units)  # type: ignore[attr-defined]


@pytest.mark.parametrize("make,said", [
    (lambda: sp.Design(sp.functionality(narrow(i, j, k.lower).eq(0),
                                        narrow(i, j, k).eq(sp.maximum(narrow(i, j, k - 1), A(i, k) * B(k, j))),
                                        C(i, j).eq(narrow(i, j, k.upper))), J_IN_TIME, EXTENTS, sparsity=[BY_J]).elastic,
     "functionality: narrow has 8 bits, and the largest of values of 16 bits, which wrap, is not the same in parts\n"
     "  try: declare narrow with more bits"),
    (lambda: sp.Design(sp.functionality(best(i, j, k.lower).eq(1), best(i, j, k).eq(best(i, j, k - 1) * A(i, k) * B(k, j)),
                                        C(i, j).eq(best(i, j, k.upper))), J_IN_TIME, EXTENTS, sparsity=[BY_J]).elastic,
     "skip j where B(k, j) == 0: it would change best: best(i, j, k) = mul(mul(best(i, j, k - 1), A(i, k)), B(k, j)) is 0 there"
     "\n  try: skip only where all factors are 1"),
    (lambda: sp.Design(multiplied("1 + a b"), J_IN_TIME, EXTENTS, sparsity=[BY_J]).elastic,
     "transform: best is a product along k, which is in space: fibers leave, whose elements that no PE computes are 0, not 1\n"
     "  try: choose a transform with k in time"),
    (lambda: sp.Design(multiplied("1 + a b", 2), K_IN_TIME, EXTENTS, sparsity=[BY_K]).elastic,
     "functionality: best begins with 2, and its parts, products, with 1: indices cannot be found by values "
     "in this functionality\n"
     "  try: leave out skips by values, or let best begin with 1, and take 2 into the result outside of the array"),
    (lambda: sp.Design(sp.functionality(best(i, j, k.lower).eq(5),
                                        best(i, j, k).eq(sp.maximum(best(i, j, k - 1), A(i, k) * B(k, j))),
                                        C(i, j).eq(best(i, j, k.upper))), J_IN_TIME, EXTENTS, sparsity=[BY_J]).elastic,
     "functionality: best begins with 5, and its parts, the largest, with 0: "),
    (lambda: sp.Design(sp.functionality(best(i, j, k.lower).eq(-5),
                                        best(i, j, k).eq(sp.maximum(best(i, j, k - 1), A(i, k) * B(k, j))),
                                        C(i, j).eq(best(i, j, k.upper))), J_IN_TIME, EXTENTS, sparsity=[BY_J]).elastic,
     "is max(best(i, j, k - 1), 0) there\n  try: let best begin with 0, or leave this skip out"),
    (lambda: sp.Design(reduced(LARGEST, sp.maximum(A(i, k) * B(k, j), 3)), J_IN_TIME, EXTENTS, sparsity=[BY_J]).elastic,
     "is max(best(i, j, k - 1), 3) there\n  try: leave this skip out")])
def test_what_is_not_the_same_in_parts_is_refused(make: Any, said: str) -> None:
    with pytest.raises(UserError) as refused:
        make()
    assert said in str(refused.value)
