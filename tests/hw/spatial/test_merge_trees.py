"""Sums as trees under skips: where wires are cut their levels are mergers, else they are handed on level by level."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from elastic_arrays import check_verilog
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import designs
from sardonyx import spatial as sp
from sardonyx.hw.arch.elastic import Spread
from sardonyx.hw.arch.errors import UserError

i, j, k = sp.indices("i j k")
A, B, P = sp.inputs("A B P")
PRODUCT = "C(i,j) = A(i,k) * B(k,j)"
STATIONARY = [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 1, 1, 1]]
ROWS = [sp.skip(j, where=B(k, j) == 0)]
# Statement, radices, transform, other extents, skips; of the first one Verilog is made in every run of the tests.
DESIGNS = {
    "rows of B": (PRODUCT, (2, 3), STATIONARY, {"i": 1, "j": 9}, ROWS),
    "gustavson": (PRODUCT, (2, 2), STATIONARY, {"i": 2, "j": 9}, [sp.skip(k, where=A(i, k) == 0), *ROWS]),
    "outer product": (PRODUCT, (3, 2), STATIONARY, {"i": 3, "j": 9}, [sp.skip(i, where=A(i, k) == 0), *ROWS]),
    "handed on": ("C(i,j) = A(i,j) * B(k,j)", (2, 3), STATIONARY, {"i": 2, "j": 9}, [sp.skip(j, where=A(i, j) == 0)]),
}


@cache
def design(name: str) -> sp.Design:
    text, radices, rows, extents, skips = DESIGNS[name]
    tree = sp.tree(k, *radices)
    return sp.Design(sp.functionality(text, trees=[tree]), sp.Transform(rows), {**extents, **tree.bounds}, sparsity=skips)


def operands(array: sp.Design, operations: int, seed: int) -> "dict[str, np.ndarray]":
    """Operands from empty to dense, with empty rows and columns."""
    random = np.random.default_rng(seed)
    found = array.random(operations, seed)
    for each in found.values():
        each *= random.random(each.shape) < random.random((operations, each.shape[1], *(1,) * (each.ndim - 2))) * 1.3
    return found


@pytest.mark.parametrize("name", DESIGNS)
def test_a_tree_under_skips_is_exact_on_random_operands(name: str) -> None:
    array = design(name)
    assert array.run("tokens", **operands(array, 40, 5)).report["operations"] == 40


@pytest.mark.parametrize("name", [name if not at else pytest.param(name, marks=pytest.mark.slow)
                                  for at, name in enumerate(DESIGNS)])
@settings(max_examples=6)
@given(operations=st.integers(1, 8), stalls=st.none() | st.integers(1, 1 << 30), seed=st.integers(0, 1 << 30))
def test_every_word_of_the_verilog_of_a_tree_is_right(name: str, operations: int, stalls: "int | None", seed: int) -> None:
    array = design(name)
    check_verilog(array, operands(array, operations, seed), stalls)


def test_mergers_stand_in_the_levels_of_the_tree() -> None:
    array = design("rows of B").elastic
    assert array is not None
    givers = {link.sink: link.source[0] for link in array.links}

    def leaves(unit: str) -> "set[str] | frozenset[frozenset[str]]":
        return {unit} if unit.startswith("pe_") else leaves(givers[unit, "x"]) | leaves(givers[unit, "y"])    # type: ignore

    # The root adds what is left of k_1 = 0 and of k_1 = 1, each of them three fibers of k_0.
    root = givers["", "C_0"]
    assert [leaves(givers[root, side]) for side in "xy"] == [{f"pe_0_{k_1}_{k_0}" for k_0 in range(3)} for k_1 in range(2)]


def test_a_tree_of_pairs_takes_the_time_of_a_sum_without_a_tree() -> None:
    shipped = designs.design("row_merge")
    tree = dataclasses.replace(shipped, bounds={**shipped.bounds, "j": 40})
    plain = sp.Design(sp.functionality("C(j) = P(k,j)", dtype="int32"), sp.Transform([[0, 1], [1, 1]]), {"j": 40, "k": 8},
                      sparsity=[sp.skip(j, where=P(k, j) == 0)])
    parts = operands(plain, 20, 3)
    assert tree.run("tokens", **parts).cycles == plain.run("tokens", **parts).cycles
    assert tree.explain().report["mergers"] == plain.explain().report["mergers"] == 7


def test_explain_names_the_index_and_cuts_the_levels() -> None:
    found = design("gustavson").explain()
    assert "skip j where B(k, j) == 0; j by k and i" in found.text
    assert {(cut["variable"], cut["along"]) for cut in found.report["cut"]} == {("b", "i"), ("c_k_0", "k_0"), ("c_k_1", "k_1")}
    assert "8 PEs, 0 wires between them" in found.text and "behind them 6 mergers" in found.text


def test_spreads_stand_in_front_of_the_trees() -> None:
    array = design("outer product").elastic
    assert array is not None and sum(isinstance(unit.kind, Spread) for unit in array.units) == 6
    assert sum(unit.name.startswith("merge_") for unit in array.units) == 3 * 5


def test_buffers_stand_in_front_of_trees_and_behind_them() -> None:
    array = dataclasses.replace(design("rows of B"), buffers={"B": sp.Buffer("dense", "compressed", words=64),
                                                              "C": sp.Buffer("dense", "compressed", words=64)})
    array.run("tokens", **operands(array, 3, 1))
    assert len(array.private) == len(array.written) == 1


@pytest.mark.parametrize("changes,said", [
    ({"dataflow": sp.Transform([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [1, 1, 1, 1]]),
      "sparsity": [sp.skip(k, where=A(i, k) == 0)]}, "k_0 is a digit of a tree, and time"),
    ({"sparsity": [sp.skip(k, where=k > i)]}, "its condition leaves out points of a tree"),
    ({"sparsity": [sp.optimistic_skip(k, where=A(i, k) == 0, keep=1, of=2)]}, "an optimistic skip stands beside a tree of k"),
    ({"sparsity": [sp.skip(sp.indices("k_0")[0], where=A(i, k) == 0)]}, "no variable has the index k_0"),
])
def test_what_has_no_tree_is_refused(changes: "dict[str, object]", said: str) -> None:
    with pytest.raises(UserError) as refused:
        dataclasses.replace(design("rows of B"), **changes).run("tokens")     # type: ignore[arg-type]
    assert said in refused.value.what and refused.value.fix
