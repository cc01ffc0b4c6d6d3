"""Elastic arrays give what the recurrences mean, in their model and in generated Verilog, in the time that nonzeros take."""

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
