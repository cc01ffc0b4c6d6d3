"""Elastic arrays give what the recurrences mean, in their model and in generated Verilog, in the time that nonzeros take."""

import dataclasses
from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from elastic_arrays import check_verilog
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.compiler.lang.sparsity import Skip
from sardonyx.hw.arch.errors import UserError
from sardonyx.runtime.data.fibers import fed

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")
PRODUCT = sp.functionality("C(i,j) = A(i,k) * B(k,j)")
SUM, TIMES = (sp.functionality(f"C(i,j) = A(i,j) {sign} B(i,j)") for sign in "+*")
INPUT, WEIGHT, OUTPUT = ([[0, 0, 1], [1, 0, 0], [1, 1, 1]], [[0, 0, 1], [0, 1, 0], [1, 1, 1]],
                         [[1, 0, 0], [0, 1, 0], [1, 1, 1]])
ROWS_OF_B, COLUMNS_OF_A, ROWS_OF_A = (sp.skip(j, where=B(k, j) == 0), sp.skip(i, where=A(i, k) == 0),
                                      sp.skip(k, where=A(i, k) == 0))
WHOLE_ROWS_OF_A = sp.skip(k, where=A(i, ...) == 0)
LINE = [[1, 0], [1, 1]]
# What is skipped, on which array; of the first four Verilog is made in every run of the tests.
DESIGNS = {
    "CSR x dense": (PRODUCT, INPUT, [ROWS_OF_B]),
    "outer product": (PRODUCT, INPUT, [COLUMNS_OF_A, ROWS_OF_B]),
    "Gustavson": (PRODUCT, INPUT, [ROWS_OF_A, ROWS_OF_B]),
    "CSR + CSR": (SUM, LINE, [sp.skip(j, where=(A(i, j) == 0) & (B(i, j) == 0))]),
    "inner product": (PRODUCT, OUTPUT, [ROWS_OF_A, sp.skip(k, where=B(k, j) == 0)]),
    "CSR x dense, weight-stationary": (PRODUCT, WEIGHT, [ROWS_OF_B]),
    "CSC x dense": (PRODUCT, INPUT, [COLUMNS_OF_A]),
    "sums that are handed on": (PRODUCT, INPUT, [ROWS_OF_A]),
    "CSR * CSR": (TIMES, LINE, [sp.skip(j, where=A(i, j) == 0), sp.skip(j, where=B(i, j) == 0)]),
    "dot products of rows": (PRODUCT, OUTPUT, [ROWS_OF_A]),
    "dot products of whole rows": (PRODUCT, OUTPUT, [WHOLE_ROWS_OF_A]),
    "whole rows, and columns of B": (PRODUCT, OUTPUT, [WHOLE_ROWS_OF_A, sp.skip(k, where=B(k, j) == 0)]),
    "Gustavson of whole rows": (PRODUCT, INPUT, [WHOLE_ROWS_OF_A, sp.skip(j, where=B(k, ...) == 0)]),
    "a square times itself turned around": (sp.functionality("C(i,j) = A(i,j) * A(j,i)"), LINE, [
        sp.skip(j, where=A(i, j) == 0)]),
    "a square and itself turned around": (sp.functionality("C(i,j) = A(i,j) - A(j,i)"), LINE, [
        sp.skip(j, where=(A(i, j) == 0) & (A(j, i) == 0))]),
    "whole rows + CSR": (SUM, LINE, [sp.skip(j, where=(A(i, ...) == 0) & (B(i, j) == 0))]),
}


@cache
def design(name: str, *extents: int) -> sp.Design:
    functionality, rows, skips = DESIGNS[name]
    sizes = dict(zip("ijk", extents or (2, 5, 3)))
    bounds = {index: sizes[index] for index in functionality.indices}
    return sp.Design(functionality, sp.Transform(rows), bounds, sparsity=skips)


def operands(array: sp.Design, operations: int, seed: int) -> "dict[str, np.ndarray]":
    """Operands from empty to dense, with empty rows and columns."""
    random = np.random.default_rng(seed)
    found = array.random(operations, seed)
    for each in found.values():
        each *= random.random(each.shape) < random.random((operations, 1, 1)) * 1.2
        each *= (random.random((operations, each.shape[1], 1)) < 0.9) & (random.random((operations, 1, each.shape[2])) < 0.9)
    return found


@pytest.mark.parametrize("name", DESIGNS)
def test_the_model_is_exact_on_200_random_operands(name: str) -> None:
    array = design(name)
    # `run` compares all elements with NumPy's.
    assert array.run("tokens", **operands(array, 200, 7)).report["operations"] == 200


@pytest.mark.parametrize("name,sizes", [("CSR x dense", (1, 1, 1)), ("outer product", (3, 4, 5)), ("outer product", (5, 1, 2)),
                                        ("Gustavson", (2, 7, 4)), ("CSR x dense, weight-stationary", (7, 3, 2))])
def test_sizes_of_one_and_others_are_exact(name: str, sizes: "tuple[int, ...]") -> None:
    array = design(name, *sizes)
    array.run("tokens", **operands(array, 20, 3))


@pytest.mark.parametrize("name", [name if at < 4 else pytest.param(name, marks=pytest.mark.slow)
                                  for at, name in enumerate(DESIGNS)])
@settings(max_examples=10)
@given(operations=st.integers(1, 9), stalls=st.none() | st.integers(1, 1 << 30), seed=st.integers(0, 1 << 30))
def test_every_word_of_the_verilog_is_right_whatever_stalls(
        name: str, operations: int, stalls: "int | None", seed: int) -> None:
    array = design(name)
    check_verilog(array, operands(array, operations, seed), stalls)


def test_a_fiber_that_is_skipped_whole_is_there_with_its_zeros_or_empty() -> None:
    array = design("dot products of whole rows", 2, 1, 3)
    assert str(array.sparsity[0]) == "skip k where A(i, ...) == 0"
    a = np.array([[[0, 5, 0], [0, 0, 0]]])
    found = fed(array.elastic, {"A": a, "B": np.ones((1, 3, 1), int)})
    ports = [name for name in found if name.startswith("A_")]
    assert [[pair for pair in found[name] if pair[0] < 3] for name in ports] == [[(0, 0), (1, 5), (2, 0)], []]
    # Where elements are asked for, too, these say what is there.
    both = sp.Design(PRODUCT, sp.Transform(OUTPUT), array.bounds, sparsity=[WHOLE_ROWS_OF_A, ROWS_OF_A])
    assert [len(fed(both.elastic, {"A": a, "B": np.ones((1, 3, 1), int)})[name]) for name in ports] == [2, 1]


def test_whole_rows_are_drawn_and_take_their_time() -> None:
    array = design("dot products of whole rows", 3, 1, 16)
    rows = np.count_nonzero(array.random(50, 1)["A"], axis=2)
    assert (rows == 0).sum() > 50 and rows[rows > 0].min() > 14
    given = array.random(20, 1)
    given["A"][:] = 1
    full = array.run("tokens", **given).cycles or 0
    given["A"][::2] = 0
    assert full - (array.run("tokens", **given).cycles or 0) == 10 * 16


@pytest.mark.parametrize("made,told", [
    (lambda: sp.skip(i, k, where=A(i, ...) == 0), "A(i, ...) == 0: ... stands for the index that is skipped\n  try: skip one"),
    (lambda: sp.skip(k, where=A(..., ...) == 0), "A(..., ...) == 0: ... stands for the index that is skipped\n"),
    (lambda: sp.skip(k, where=A(k, ...) == 0), "A(k, ...) == 0: ... stands for the index that is skipped\n"),
    (lambda: sp.Design(PRODUCT, sp.Transform(OUTPUT), {"i": 2, "j": 2, "k": 4},
                       sparsity=[sp.optimistic_skip(k, where=A(i, ...) == 0, keep=2, of=4)]).explain(),
     "skip k where A(i, ...) == 0, 2 of 4 stay: an optimistic skip asks for one element\n"),
    (lambda: sp.Design(PRODUCT, sp.Transform(OUTPUT), {"i": 2, "j": 2, "k": 4}, sparsity=[WHOLE_ROWS_OF_A],
                       buffers={"A": sp.Buffer("dense", "compressed", words=64)}).run(),
     "fibers of A are whole, with their zeros, or empty, which dense levels behind one without zeros say\n"
     "  try: store A so"),
    (lambda: sp.Design(PRODUCT, sp.Transform(OUTPUT), {"i": 2, "j": 2, "k": 4},
                       sparsity=[sp.skip(j, where=A(i, ...) == 0)]).explain(),
     "skip j where A(i, ...) == 0: the functionality does not read A(i, j)\n  try: name it as it is read: A(i, k)"),
    (lambda: sp.functionality(sp.outputs("Y")[0](i).eq(A(i, ...))), ""),
    (lambda: sp.functionality(sp.variables("y")[0](i, ...).eq(A(i, k))), ""),
])
def test_a_whole_fiber_is_that_of_one_skipped_index(made: "Callable[[], object]", told: str) -> None:
    with pytest.raises(UserError) as error:
        made()
    assert told in str(error.value)


@pytest.mark.parametrize("name", ["CSR x dense", "CSR + CSR", "outer product"])
def test_time_is_that_of_the_nonzeros(name: str) -> None:
    array = design(name, 3, 64, 3)
    cycles = []
    for left in (64, 16, 4, 0):
        given = array.random(10, 1)
        given["A"][:] = given["B"][:] = 1
        for each in given.values():
            if each.shape[2] == 64:
                each[:, :, left:] = 0
        cycles.append(array.run("tokens", **given).cycles or 0)
    # An operation takes its nonzeros and a cycle; filling the array is the same for all.
    assert [more - less for more, less in pairwise(cycles)] == [480, 120, 40]


def test_of_a_tensor_that_is_read_twice_one_fiber_has_its_own_nonzeros_and_the_other_one_those_that_are_left() -> None:
    array = sp.Design(sp.functionality("C(i,j) = A(i,k) * A(k,j)"), sp.Transform(OUTPUT), {"i": 3, "j": 3, "k": 3},
                      sparsity=[ROWS_OF_A])
    assert array.run("tokens", **array.random(9, 1)).report["operations"] == 9


@pytest.mark.parametrize("name", ["CSR x dense", pytest.param("outer product", marks=pytest.mark.slow)])
def test_cycles_without_skips_are_those_of_the_verilog_of_the_array_without_skips(name: str) -> None:
    array = design(name, 3, 5, 3)
    report = array.run("tokens", **array.random(4, 1)).report
    dense = dataclasses.replace(array, sparsity=[])
    assert report["cycles_without_skips"] == dense.run("rtl", **dense.random(4, 1)).cycles


def test_where_the_array_without_skips_cannot_be_made_its_cycles_are_not_told() -> None:
    # B would go backwards in time from row to row, but each row finds its own.
    array = sp.Design(sp.functionality("x(i) = A(i,j) * B(j)"), sp.Transform([[-1, 0], [-1, 1]]), {"i": 2, "j": 3},
                      sparsity=[sp.skip(j, where=A(i, j) == 0)])
    report = array.run("tokens").report
    assert report["elements_checked"] == 2 and "cycles_without_skips" not in report


def test_fibers_are_ordered_ended_and_without_zeros() -> None:
    array = design("CSR x dense", 2, 5, 3)
    assert array.elastic is not None
    b = np.array([[0, 7, 0, 0, 9], [0] * 5, [1, 2, 3, 4, 5]])[None]
    found = fed(array.elastic, {"A": np.ones((1, 2, 3), np.int64), "B": b})
    end = (1 << 16, 0)
    assert found["B_0_0"] == [(1, 7), (4, 9), end] and found["B_1_0"] == [end]
    assert found["B_2_0"] == [(at, at + 1) for at in range(5)] + [end]


@pytest.mark.parametrize("rows,skips,said", [
    ([[1, 0, -1], [0, 1, -1], [1, 1, 1]], [ROWS_OF_B], "all but one of them have to be axes of space"),
    (OUTPUT, [ROWS_OF_B], "j is found by k, which is time: PEs would change their coordinates in it"),
    ([[0, 0, 1], [0, 1, 0], [1, 1, 1]], [COLUMNS_OF_A, ROWS_OF_B], ""),
    (INPUT, [ROWS_OF_B, sp.skip(i, k, where=i != k)], "it stands beside a skip by values"),
    (OUTPUT, [COLUMNS_OF_A], "i is found by k, which is time"),
])
def test_what_has_no_elastic_array_is_refused_with_a_remedy(rows: "list[list[int]]", skips: "list[Skip]", said: str) -> None:
    array = sp.Design(PRODUCT, sp.Transform(rows), {"i": 2, "j": 2, "k": 2}, sparsity=skips)
    if not said:
        assert array.elastic is not None
        return
    with pytest.raises(UserError) as refused:
        array.run("tokens")
    assert said in refused.value.what and refused.value.fix
    # What is cut is explained all the same.
    assert f"cannot be made: {refused.value.where}" in array.explain().text
