"""Skips: what they cut, as in the paper's table, and which are refused."""

from collections.abc import Callable
from functools import reduce
from itertools import product
from operator import or_
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.compiler.lang.sparsity import Skip, dependencies
from sardonyx.compiler.lang.sparsity_checks import checked
from sardonyx.compiler.spatial.derive import derive
from sardonyx.compiler.spatial.points import elements
from sardonyx.compiler.spatial.project import project
from sardonyx.compiler.spatial.prune import Pruned, prune
from sardonyx.compiler.spatial.report import facts
from sardonyx.compiler.spatial.transform import Transform
from sardonyx.compiler.spatial.unroll import unroll
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.spatial import Spatial

PRODUCT = derive("C(i,j) = A(i,k) * B(k,j)")
STATIONARY = Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]])
i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")
ROWS_OF_B, COLUMNS_OF_A, ROWS_OF_A = (sp.skip(j, where=B(k, j) == 0), sp.skip(i, where=A(i, k) == 0),
                                      sp.skip(k, where=A(i, k) == 0))


def pruned(skips: "list[Skip]", size: int = 3) -> Pruned:
    return prune(unroll(PRODUCT, {"i": size, "j": size, "k": size}), checked(skips, PRODUCT))


def array(skips: "list[Skip]", size: int) -> Spatial:
    return project(pruned(skips, size).unrolled, STATIONARY)


@pytest.mark.parametrize("size", range(2, 9))
def test_an_input_stationary_product_has_the_wires_and_ports_of_the_table(size: int) -> None:
    square, half = size * size, size * (size - 1)
    found = [facts(array(skips, size)) for skips in (
        [], [ROWS_OF_B], [COLUMNS_OF_A, ROWS_OF_B], [ROWS_OF_A, ROWS_OF_B])]
    assert [each["wires"] for each in found] == [2 * half, half, half, 0]
    assert [each["ports"] for each in found] == [{"A": square, "B": b, "C": c} for b, c in (
        (size, size), (size, square), (size, square), (square, square))]
    assert {each["pes"] for each in found} == {square}


def test_what_is_cut_is_read_at_every_point_and_sums_leave_there() -> None:
    left = pruned([ROWS_OF_A, ROWS_OF_B]).unrolled
    for (name, point), term in left.values.items():
        if name == "b":
            assert [each.at for each in elements(term)] == [(point[2], point[1])]
    assert sorted((at, value) for _, at, value in left.leaving) == [
        ((x, y), ("c", (x, y, z))) for x, y, z in product(range(3), repeat=3)]


@given(st.lists(st.sampled_from([ROWS_OF_B, COLUMNS_OF_A, sp.skip(k, where=B(k, j) == 0), ROWS_OF_A,
                                 sp.skip(i, k, where=i != k), sp.skip(j, where=k > j)]), unique=True, max_size=4))
def test_a_wire_is_cut_if_and_only_if_it_steps_along_what_a_skipped_index_is_found_by(skips: "list[Skip]") -> None:
    try:
        found = pruned(skips)
    except UserError:
        return
    # By a walk over the conditions: all that an index is found by, with what these are found by.
    by: dict[str, set[str]] = {}
    for one in found.skips:
        for index in one.indices:
            by.setdefault(index, set()).update({"i", "j", "k"} & set(str(one.where).replace("(", " ").replace(")", " ")
                                                                    .replace(",", " ").split()) - {index})
    for _ in range(3):
        by = {index: {*of, *(each for other in of for each in by.get(other, ()))} - {index} for index, of in by.items()}
    assert {index: set(of) for index, of in dependencies(found.skips).items()} == by
    needed = set().union(*by.values()) if by else set()
    cut = {each.use for each in found.cuts}
    for use in unroll(PRODUCT, {"i": 3, "j": 3, "k": 3}).distances:
        assert (use in cut) == any(step and index in needed for index, step in zip("ijk", use.distance))


def test_points_that_conditions_on_indices_skip_are_left_out() -> None:
    diagonal = array([sp.skip(i, k, where=i != k)], 4)
    assert {cell.position for cell in diagonal.cells} == {(n, n) for n in range(4)}
    # Below the diagonal: the sum of a row ends where the row does, and its wire stays.
    triangle = array([sp.skip(k, where=k > i)], 4)
    assert {cell.position for cell in triangle.cells} == {(z, x) for x in range(4) for z in range(x + 1)}
    assert facts(triangle)["wires"] == 6


@pytest.mark.parametrize("skips,said", [
    ([sp.skip(sp.indices("q")[0], where=B(k, j) == 0)], "no variable has the index q"),
    ([sp.skip(j, where=A(i, k) == 0)], "its condition does not depend on j"),
    ([sp.skip(j, where=B(j, k) == 0)], "the functionality does not read B(j, k)"),
    ([sp.skip(j, where=sp.inputs("D")[0](k, j) == 0)], "whether D(k, j) is 0 is not known before it is computed"),
    ([sp.skip(j, where=(B(k, j) == 0) & (j != k))], "its condition mixes values with indices, or nests | in &"),
    ([sp.skip(j, where=(B(k, j) == 0) & (A(i, k) == 0))], "A(i, k) is the same element for every j"),
    ([sp.skip(k, j, where=(B(k, j) == 0) & (B(k, j) == 0))], "it skips two indices together, by several elements"),
    ([COLUMNS_OF_A, ROWS_OF_A], "i is found by k, and k by i: these contradict each other"),
    ([sp.skip(k, where=(A(i, k) == 0) & (B(k, j) == 0)), ROWS_OF_A],
     "k is skipped where one is 0, and only where all are: these contradict each other"),
    ([sp.skip(j, where=i != j)], "it would change c: c(i, j, k) = add(c(i, j, k - 1), mul(a(i, j, k), b(i, j, k))) is "
                                 "add(c(i, j, k - 1), mul(a(i, j, k), b(i, j, k))) there"),
    ([sp.skip(k, where=k >= i)], "nothing is left of C(0, 0): every point of it is skipped"),
    ([ROWS_OF_B] * 33, "there are 33 skips"),
])
def test_skips_that_cannot_be_are_refused_with_a_remedy(skips: "list[Skip]", said: str) -> None:
    with pytest.raises(UserError) as refused:
        pruned(skips)
    assert refused.value.what == said and refused.value.fix and refused.value.where


def test_a_wire_of_what_is_no_sum_cannot_be_cut() -> None:
    x, y = sp.variables("x y")
    (X,) = sp.outputs("X")
    largest = sp.functionality(x(i, j.lower).eq(A(i)), x(i, j).eq(x(i, j - 1)), y(i.lower, j).eq(0),
                               y(i, j).eq(sp.maximum(y(i - 1, j), x(i, j) * B(i, j))), X(j).eq(y(i.upper, j)))
    with pytest.raises(UserError) as refused:
        checked([sp.skip(j, where=B(i, j) == 0)], largest)
    assert refused.value.what == "y is the largest, and what it is of would be added up in parts"
    doubled = sp.functionality(x(i.lower, j).eq(A(j)), x(i, j).eq(x(i - 1, j) * 2 + B(i, j) * 0), X(j).eq(x(i.upper, j)))
    with pytest.raises(UserError, match="it would change x"):
        checked([sp.skip(j, where=B(i, j) == 0)], doubled)


def test_a_skip_of_an_element_says_nothing_of_others_of_its_tensor() -> None:
    twice = sp.functionality("C(i,j,k) = A(k) * B(i,j) + B(i,k)")
    for where in (B(i, j) == 0, B(..., j) == 0):
        with pytest.raises(UserError, match=r"it would change c: c\(i, j, k\) = add\(mul\(.*\), .*\) is b2\(i, j, k\) there"):
            checked([sp.skip(i, where=where)], twice)
    both = (B(i, j) == 0) & (B(i, k) == 0)
    assert checked([sp.skip(i, where=both)], twice)
    assert checked([sp.skip(j, where=B(i, j) == 0)], sp.functionality("C(i,j) = B(i,j) * B(j,i)"))


@pytest.mark.parametrize("where", [sp.inputs("D")[0](k) == 0, A(i, k) == 0])
def test_a_skip_of_a_sum_of_sums_is_told_as_what_it_is(where: Any) -> None:
    # No result would change, whichever of the two sums it is of.
    twice = sp.functionality("x(i) = A(i,k) * B(k,j) * D(k)")
    with pytest.raises(UserError) as refused:
        checked([sp.skip(k, where=where)], twice)
    assert refused.value.what == "x_k adds up x_j at j.upper: skips are of sums along one index"


@pytest.mark.parametrize("made,said", [
    (lambda: sp.skip(where=B(k, j) == 0), "it names no index"), (lambda: sp.skip("j", where=B(k, j) == 0), "'j' is no index"),
    (lambda: sp.skip(j, where=True), "True is no condition"),
    (lambda: sp.skip(j, where=B(k, j) == 3), "whether B(k, j) is 3 cannot be decided from what is stored"),
    (lambda: sp.skip(j, where=B(k, j) == np.zeros(2)),
     "whether B(k, j) is array([0., 0.]) cannot be decided from what is stored"),
    (lambda: sp.skip(j, where=B(k, j) == 0 and j != k), "B(k, j) == 0 is not known yet"),
    (lambda: sp.skip(j, where=B(k, ...) != 0), "B(k, ...) != 0 is no condition"),
    (lambda: sp.skip(j, where=(B(k, j) == 0) & False), "False is no condition"),
    (lambda: sp.skip(j, where=reduce(or_, [j == n for n in range(99)])), "a condition has more than 32 parts"),
])
def test_what_is_no_skip_is_refused(made: "Callable[[], Skip]", said: str) -> None:
    with pytest.raises(UserError) as refused:
        made()
    assert refused.value.what == said and refused.value.fix


def test_indices_are_still_equal_to_themselves_alone() -> None:
    assert i == sp.indices("i")[0] and i != j and len({i, *sp.indices("i j")}) == 2
    assert [bool(i != sp.indices("i")[0]), bool(i == j)] == [False, False]
    assert str(i + 1 > j) == "j < i + 1" and str(i <= 2) == "i <= 2"


@pytest.mark.parametrize("rows", [[[1, 0, 0], [0, 1, 0], [1, 1, 1]], [[0, 0, 1], [1, 0, 0], [1, 1, 1]],
                                  [[1, 0, -1], [0, 1, -1], [1, 1, 1]]])
@pytest.mark.parametrize("by,begins,value", [
    (lambda c, ab: c + ab, 7, A(i, k) * B(k, j)), (lambda c, ab: c * ab, 3, A(i, k) * B(k, j) + 1),
    (sp.maximum, 5, A(i, k) * B(k, j)), (sp.minimum, -3, A(i, k) * B(k, j)), (sp.maximum, 1, A(i, k) * B(k, j) + 1)])
def test_what_a_reduction_begins_with_is_there_where_one_point_of_it_is_left(
        by: "Callable[[Any, Any], Any]", begins: int, value: Any, rows: "list[list[int]]") -> None:
    (c,), (C,) = sp.variables("c"), sp.outputs("C")
    whole = sp.functionality(c(i, j, k.lower).eq(begins), c(i, j, k).eq(by(c(i, j, k - 1), value)),
                             C(i, j).eq(c(i, j, k.upper)))
    diagonal = sp.Design(whole, sp.Transform(rows), {"i": 3, "j": 2, "k": 3}, sparsity=[sp.skip(i, k, where=i != k)])
    diagonal.run("tokens", A=np.eye(3, dtype=int), B=[[-1, -2], [1, 0], [1, 9]])
