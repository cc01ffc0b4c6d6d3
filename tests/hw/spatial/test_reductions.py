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
A, B = sp.inputs("A B", dtype="int8")
(best,) = sp.variables("best", dtype="int32")
(narrow,) = sp.variables("narrow", dtype="int8")
(C,) = sp.outputs("C")
MEANING: "dict[str, Any]" = {LARGEST: sp.maximum, SMALLEST: sp.minimum, ANY: lambda a, b: a | b}
VALUES: "dict[str, Expr]" = {
    "product": A(i, k) * B(k, j), "narrower": sp.select(sp.different(A(i, k) * B(k, j), 0), sp.minimum(A(i, k), B(k, j)), 0)}
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


def wanted(reduction: str, value: str, given_: "dict[str, np.ndarray]") -> np.ndarray:
    """What recurrences say, from one operation to the next."""
    means = reduced(reduction, VALUES[value])
    return np.stack([evaluate(means, EXTENTS, {name: each[nth] for name, each in given_.items()})["C"] for nth in range(2)])


@settings(max_examples=60)
@given(array=st.sampled_from(tuple(ARRAYS)), reduction=st.sampled_from(tuple(MEANING)), value=st.sampled_from(tuple(VALUES)),
       density=st.sampled_from((0, 0.2, 0.6, 1)), seed=st.integers(0, 1 << 30))
def test_the_array_says_what_recurrences_say(array: str, reduction: str, value: str, density: float, seed: int) -> None:
    found = operands(density, seed)
    assert np.array_equal(design(array, reduction, value).run("tokens", **found).value, wanted(reduction, value, found))


@pytest.mark.parametrize("array,reduction", [("Gustavson", LARGEST), pytest.param("in a PE", SMALLEST, marks=pytest.mark.slow),
                                             pytest.param("outer", ANY, marks=pytest.mark.slow)])
def test_so_does_the_verilog(array: str, reduction: str) -> None:
    found = operands(0.6, 3)
    made = design(array, reduction)
    ran = made.run("rtl", **found, stalls=3)
    assert np.array_equal(ran.value, wanted(reduction, "product", found))
    assert made.run("rtl", **found).cycles == made.run("tokens", **found).cycles


def test_behind_buffers_it_is_the_same() -> None:
    """Rows of B are chosen by coordinates of A, and rows of C leave without zeros."""
    fibers = sp.Buffer("dense", "compressed", words=64)
    found = operands(0.6, 5)
    made = design("Gustavson", buffers=dict.fromkeys("AB", fibers))
    assert np.array_equal(made.run("tokens", **found).value, wanted(LARGEST, "product", found))


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
     "best loses its wire along k, by which j is found, and is neither a copy of an input nor a sum"),
    (lambda: sp.Design(reduced(LARGEST, A(i, k) * B(k, j)), J_IN_TIME, EXTENTS,
                       sparsity=[sp.skip(k, where=k > i)]).run("tokens"),
     "skip k where i < k: best is the largest, and what it is of would be added up in parts\n"
     "  try: leave it out, or skip by elements, as where A(i, k) == 0, under sp.Transform or sp.Lanes"),
    (lambda: sp.Design(reduced(LARGEST, A(i, k) * B(k, j)), J_IN_TIME, EXTENTS,
                       sparsity=[sp.optimistic_skip(k, where=A(i, k) == 0, keep=1, of=2)]).run("tokens"),
     "best is the largest, and what it is of would be added up in parts"),
    (lambda: sp.Design(sp.functionality(best(i, j, k.lower).eq(5),
                                        best(i, j, k).eq(sp.maximum(best(i, j, k - 1), A(i, k) * B(k, j))),
                                        C(i, j).eq(best(i, j, k.upper))), J_IN_TIME, EXTENTS, sparsity=[BY_J]).elastic,
     "that begins with 0"),
    (lambda: sp.Design(sp.functionality(best(i, j, k.lower).eq(-5),
                                        best(i, j, k).eq(sp.maximum(best(i, j, k - 1), A(i, k) * B(k, j))),
                                        C(i, j).eq(best(i, j, k.upper))), J_IN_TIME, EXTENTS, sparsity=[BY_J]).elastic,
     "is max(best(i, j, k - 1), 0) there\n  try: let best begin with 0, or leave this skip out"),
    (lambda: sp.Design(reduced(LARGEST, sp.maximum(A(i, k) * B(k, j), 3)), J_IN_TIME, EXTENTS, sparsity=[BY_J]).elastic,
     "is max(best(i, j, k - 1), 3) there\n  try: skip only where all that is added is 0")])
def test_what_is_not_the_same_in_parts_is_refused(make: Any, said: str) -> None:
    with pytest.raises(UserError) as refused:
        make()
    assert said in str(refused.value)
