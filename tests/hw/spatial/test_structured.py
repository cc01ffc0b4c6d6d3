"""Optimistic skips: few of each group, exact, and in proportion fewer steps."""

import dataclasses
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import designs
from sardonyx import spatial as sp
from sardonyx.compiler.lang.sparsity import Skip
from sardonyx.compiler.spatial.bundle import bundle
from sardonyx.hw.arch.errors import UserError
from sardonyx.runtime.data.groups import grouped

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")
PRODUCT = sp.functionality("C(i,j) = A(i,k) * B(k,j)")
DATAFLOWS = {"output": [[1, 0, 0], [0, 1, 0], [1, 1, 1]], "weight": [[0, 0, 1], [0, 1, 0], [1, 1, 1]],
             "input": [[0, 0, 1], [1, 0, 0], [1, 1, 1]], "hexagonal": [[1, 0, -1], [0, 1, -1], [1, 1, 1]]}


def rows(keep: int, of: int) -> Skip:
    return sp.optimistic_skip(k, where=A(i, k) == 0, keep=keep, of=of)


@cache
def design(dataflow: str, keep: int, of: int) -> sp.Design:
    return sp.Design(PRODUCT, sp.Transform(DATAFLOWS[dataflow]), {"i": 2, "j": 3, "k": 2 * of}, sparsity=[rows(keep, of)])


@pytest.mark.parametrize("dataflow", DATAFLOWS)
@pytest.mark.parametrize("keep,of", [(2, 4), (4, 8), (1, 2), (3, 5), (5, 32)])
def test_any_few_of_a_group_give_the_product(dataflow: str, keep: int, of: int) -> None:
    array = design(dataflow, keep, of)
    # `run` compares all elements with those of the dense product. Some groups have fewer than they may.
    given = array.random(8, keep)
    given["A"] *= np.random.default_rng(of).random(given["A"].shape) < 0.8
    array.run("tokens", **given)


@pytest.mark.parametrize("keep,of", [(2, 4), (4, 8)])
def test_200_random_operands_of_half_of_a_group_are_exact(keep: int, of: int) -> None:
    array = design("output", keep, of)
    assert array.run("tokens", **array.random(200, 5)).report["operations"] == 200


@settings(max_examples=10)
@given(operations=st.integers(1, 9), stalls=st.none() | st.integers(1, 1 << 30), seed=st.integers(0, 1 << 30))
def test_the_verilog_is_exact_whatever_stalls(operations: int, stalls: "int | None", seed: int) -> None:
    array = design("output", 2, 4)
    array.run("rtl", stalls, **array.random(operations, seed))


@pytest.mark.parametrize("name,keep,of", [("structured_2_4", 2, 4), ("structured_4_8", 4, 8)])
def test_half_of_each_group_takes_half_the_steps_on_wires_that_stay(name: str, keep: int, of: int) -> None:
    array = designs.design(name)
    dense = sp.Design(array.functionality, array.dataflow, array.bounds)
    assert array.sparsity == (rows(keep, of),)
    assert 2 * array.spatial.interval == dense.spatial.interval
    assert len(array.spatial.cells) == len(dense.spatial.cells)
    # Between two PEs a value and its place in place of a value, and a bundle in place of another.
    between = [{(a, b) for a, b, *_ in each.spatial.wires if a != b} for each in (array, dense)]
    assert between[0] == between[1] and len(between[1]) == 24
    assert len([wire for wire in array.spatial.wires if wire[0] != wire[1]]) == 12 * (of + 2)
    # Each element of B is read once.
    assert sum(len(port.words) for port in array.spatial.inputs if port.tensor == "B") == 4 * 16


@pytest.mark.slow
def test_the_design_of_bytes_gives_dense_results_in_half_the_cycles() -> None:
    array = designs.design("a100")
    operands = array.random(4, 1)
    few, every = (each.run("tokens", **operands) for each in (array, dataclasses.replace(array, sparsity=())))
    assert np.array_equal(few.value, every.value) and few.cycles - every.cycles // 2 <= array.spatial.steps // 2


@given(st.integers(1, 4), st.integers(0, 2), st.integers(1, 3), st.data())
def test_groups_hold_what_is_not_0_in_order(keep: int, axis: int, count: int, data: st.DataObject) -> None:
    of = keep + data.draw(st.integers(1, 3))
    shape = [2, 3, 2]
    shape[axis] = of * count
    array = np.random.default_rng(data.draw(st.integers(0, 1000))).integers(1, 99, shape)
    moved = np.moveaxis(array, axis, -1).reshape(-1, of)
    for group in moved:
        group[np.random.default_rng(int(group.sum())).permutation(of)[keep:]] = 0
    array = np.moveaxis(moved.reshape(np.moveaxis(np.empty(shape), axis, -1).shape), -1, axis)
    values, places = grouped(array, axis, keep, of)
    again = np.zeros_like(array)
    for at in np.ndindex(*values.shape):
        if values[at]:
            place = list(at)
            place[axis] = at[axis] // keep * of + places[at]
            again[tuple(place)] = values[at]
    assert np.array_equal(again, array) and places.max(initial=0) < of


@pytest.mark.parametrize("made,said", [
    (lambda: sp.optimistic_skip(k, where=A(i, k) == 0, keep=4, of=4), "it is 4"),
    (lambda: sp.optimistic_skip(k, where=A(i, k) == 0, keep=0, of=4), "it is 0, but has to be 1 or more"),
    (lambda: sp.optimistic_skip(k, where=A(i, k) == 0, keep=2, of=65), "it is 65"),
    (lambda: sp.Design(PRODUCT, sp.Transform(DATAFLOWS["output"]), {"i": 2, "j": 2, "k": 6}, sparsity=[rows(2, 4)]).spatial,
     "k has 6 points, which is no multiple of 4"),
    (lambda: design("output", 2, 4).run("golden", A=np.ones((2, 8), int)),
     "of A(0, 0) to A(0, 3) 4 are not 0, but only 2 stay: skip k where A(i, k) == 0, 2 of 4 stay"),
    (lambda: sp.Design(PRODUCT, sp.Transform(DATAFLOWS["output"]), {"i": 4, "j": 2, "k": 2}, sparsity=[
        sp.optimistic_skip(i, where=A(i, k) == 0, keep=2, of=4)]).spatial,
     "i is an index of the result C, of which no element is left out"),
    (lambda: sp.Design(sp.functionality("C(i,j) = A(i,k) * A(k,j)"), sp.Transform(DATAFLOWS["output"]),
                       {"i": 4, "j": 4, "k": 4}, sparsity=[rows(2, 4)]).spatial,
     "A is read at several places of a point, of which one alone is packed"),
    (lambda: _both(sp.skip(k, where=A(i, k) == 0)),
     "k is skipped, and skipped optimistically: its wires cannot both go and stay"),
    (lambda: _both(rows(1, 2)), "k is skipped optimistically twice"),
    (lambda: _both(sp.skip(j, where=B(k, j) == 0)), "an optimistic skip stands beside another one by values"),
    (lambda: _both(sp.optimistic_skip(k, where=i != k, keep=1, of=2)), "an optimistic skip asks for one element"),
])
def test_what_is_no_optimistic_skip_is_refused(made: "Callable[[], object]", said: str) -> None:
    with pytest.raises(UserError) as refused:
        made()
    assert refused.value.what == said and refused.value.fix


def _both(other: Skip) -> object:
    return sp.Design(PRODUCT, sp.Transform(DATAFLOWS["output"]), {"i": 2, "j": 2, "k": 8}, sparsity=[rows(2, 4), other]).pruned


@pytest.mark.parametrize("statement", ["x(i) = A(i,k)", "x(i) = A(i,k) * B(i)"])
@pytest.mark.parametrize("rows_of", [[[1, 0], [1, 1]], [[0, 1], [1, 1]]])
def test_places_in_groups_enter_only_where_something_depends_on_them(statement: str, rows_of: "list[list[int]]") -> None:
    array = sp.Design(sp.functionality(statement), sp.Transform(rows_of), {"i": 3, "k": 8}, sparsity=[rows(2, 4)])
    assert "A_at" not in {port.tensor for port in array.spatial.inputs}
    array.run("tokens", **array.random(5, 1))


def test_a_name_that_is_taken_is_not_taken_twice() -> None:
    a_at = sp.functionality("C(i,j) = A(i,k) * A_at(k,j)")
    array = sp.Design(a_at, sp.Transform(DATAFLOWS["output"]), {"i": 2, "j": 2, "k": 4}, sparsity=[rows(2, 4)])
    assert bundle(array.unrolled, rows(2, 4)).shapes == {"A": (2, 2), "A_at": (4, 2), "C": (2, 2), "A_at_2": (2, 2)}
    array.run("tokens")
