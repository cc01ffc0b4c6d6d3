"""Optimistic skips beside conditions on indices: positions that hold nothing are left out, and results stay."""

import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.compiler.lang.sparsity import Skip
from sardonyx.compiler.spatial.bundle import Empty
from sardonyx.hw.arch.errors import UserError
from sardonyx.sparsity import Counted

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")
PRODUCT = sp.functionality("C(i,j) = A(i,k) * B(k,j)")
DATAFLOWS = {"output": [[1, 0, 0], [0, 1, 0], [1, 1, 1]], "weight": [[0, 0, 1], [0, 1, 0], [1, 1, 1]],
             "input": [[0, 0, 1], [1, 0, 0], [1, 1, 1]], "hexagonal": [[1, 0, -1], [0, 1, -1], [1, 1, 1]]}
CONDITIONS = {"below the diagonal": [sp.skip(i, k, where=k > i)], "above it": [sp.skip(i, k, where=k < i)],
              "diagonal": [sp.skip(i, k, where=i != k)], "of the other operand": [sp.skip(j, k, where=k > j)],
              "band": [sp.skip(i, k, where=k > i + 1), sp.skip(i, k, where=k < i - 1)]}


def rows(keep: int, of: int) -> Skip:
    return sp.optimistic_skip(k, where=A(i, k) == 0, keep=keep, of=of)


def design(dataflow: str, condition: str, keep: int = 2, of: int = 4) -> sp.Design:
    return sp.Design(PRODUCT, sp.Transform(DATAFLOWS[dataflow]), {"i": 8, "j": 8, "k": 8},
                     sparsity=[rows(keep, of), *CONDITIONS[condition]])


@pytest.mark.parametrize("dataflow", DATAFLOWS)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_it_is_the_product_with_fewer_points(dataflow: str, condition: str) -> None:
    array = design(dataflow, condition)
    found = array.random(4, 3)
    assert np.array_equal(array.run("tokens", **found).value, found["A"] @ found["B"])
    packed = dataclasses.replace(array, sparsity=array.sparsity[:1])
    assert len(array.pruned.unrolled.values) < len(packed.pruned.unrolled.values)
    assert all(str(skip) in array.explain().text for skip in array.sparsity)


def test_a_triangle_of_half_of_each_group_takes_fewer_pes_than_either() -> None:
    array = design("input", "below the diagonal")
    alone = [dataclasses.replace(array, sparsity=some) for some in (array.sparsity[:1], array.sparsity[1:])]
    assert [len(each.spatial.cells) for each in (array, *alone)] == [22, 32, 36]


@pytest.mark.parametrize("dataflow,condition,keep,of", [
    ("output", "band", 2, 4), pytest.param("input", "below the diagonal", 1, 2, marks=pytest.mark.slow),
    pytest.param("hexagonal", "of the other operand", 3, 4, marks=pytest.mark.slow)])
def test_so_does_the_verilog_in_as_many_cycles(dataflow: str, condition: str, keep: int, of: int) -> None:
    array = dataclasses.replace(design(dataflow, condition, keep, of), bounds={"i": 4, "j": 4, "k": 4})
    found = array.random(5, 2)
    for stalls in (None, 3):
        ran = array.run("rtl", stalls, **found)
        assert np.array_equal(ran.value, found["A"] @ found["B"])
        assert stalls or ran.cycles == array.run("tokens", **found).cycles


@settings(max_examples=40)
@given(dataflow=st.sampled_from([*DATAFLOWS]), keep=st.integers(1, 3), more=st.integers(1, 2), low=st.integers(-3, 3),
       high=st.integers(-3, 3), on=st.sampled_from([i, j]), groups=st.integers(1, 2), largest=st.booleans(),
       seed=st.integers(0, 1 << 30))
def test_random_bands_give_what_they_mean(dataflow: str, keep: int, more: int, low: int, high: int, on: Counted, groups: int,
                                          largest: bool, seed: int) -> None:
    of = keep + more
    (best,), (C,) = sp.variables("best"), sp.outputs("C")
    most = sp.functionality(best(i, j, k.lower).eq(0), best(i, j, k).eq(sp.maximum(best(i, j, k - 1), A(i, k) * B(k, j))),
                            C(i, j).eq(best(i, j, k.upper)))
    array = sp.Design(most if largest else PRODUCT, sp.Transform(DATAFLOWS[dataflow]), {"i": 4, "j": 3, "k": of * groups},
                      sparsity=[rows(keep, of), sp.skip(on, k, where=k < on + low), sp.skip(on, k, where=k > on + high)])
    try:
        found = array.random(3, seed)
        value = array.run("tokens", **found).value
    except UserError as refused:
        assert refused.fix
        assume(False)
    terms = found["A"][:, :, :, None] * found["B"][:, None]
    assert np.array_equal(value, np.maximum(terms.max(2), 0) if largest else terms.sum(2))


def test_positions_are_empty_where_a_group_is_or_behind_what_is_left_of_it() -> None:
    # Of A(2, 0..7) below the diagonal three elements are left, of which the first group holds two.
    below = Empty(rows(2, 4), CONDITIONS["below the diagonal"], PRODUCT)
    assert [below.holds({"i": 2, "j": 0, "k": at}) for at in range(4)] == [False, False, True, True]
    assert [below.holds({"i": 0, "j": 0, "k": at}) for at in range(4)] == [False, True, True, True]
    # Which position of A meets the one element of B(0..3, j) values say.
    other = Empty(rows(2, 4), [sp.skip(j, k, where=j != k)], PRODUCT)
    assert [other.holds({"i": 0, "j": 1, "k": at}) for at in range(4)] == [False, False, True, True]


def test_a_skip_by_values_beside_it_is_refused_with_remedies_that_help() -> None:
    refused_design = dataclasses.replace(design("output", "band"), sparsity=[rows(2, 4), sp.skip(j, where=B(k, j) == 0)])
    with pytest.raises(UserError) as refused:
        refused_design.run("tokens")
    assert (refused.value.what, refused.value.fix) == (
        "an optimistic skip stands beside another one by values", "use it alone, or beside conditions on indices")
    for remedy in ([rows(2, 4)], [rows(2, 4), *CONDITIONS["band"]]):
        array = dataclasses.replace(refused_design, sparsity=remedy)
        array.run("tokens", **array.random(2, 1))


def test_buffers_in_front_of_it_give_the_same() -> None:
    array = dataclasses.replace(design("output", "below the diagonal"), bounds={"i": 4, "j": 4, "k": 4},
                                buffers={"B": sp.Buffer("dense", "dense", words=16)})
    found = array.random(4, 5)
    assert np.array_equal(array.run("tokens", **found).value, found["A"] @ found["B"])
