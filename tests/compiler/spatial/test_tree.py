"""Sums over an index may be trees: the same values in fewer steps."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.compiler.spatial.tree import Tree
from sardonyx.hw.arch.errors import UserError
from sardonyx.sim.golden.spatial import evaluate

i, j, k = sp.indices("i j k")


def line(*radices: int) -> sp.Design:
    """x(i) = A(i,k) * B(i,k), a PE for each k."""
    tree, digits = sp.tree(k, *radices), len(radices)
    space = [[0, *(int(at == nth) for at in range(digits))] for nth in range(digits)]
    return sp.Design(sp.functionality("x(i) = A(i,k) * B(i,k)", trees=[tree]), sp.Transform([*space, [1] * (digits + 1)]),
                     {"i": 5, **tree.bounds})


@pytest.mark.parametrize("radices", [(2, 2, 2), (8,), (4, 2), (3, 5)])
@given(seed=st.integers(0, 1 << 30))
def test_a_tree_adds_what_a_chain_does(radices: "tuple[int, ...]", seed: int) -> None:
    random, tree = np.random.default_rng(seed), Tree("k", radices)
    size = int(np.prod(radices))
    a, b = random.integers(-99, 99, (3, size)), random.integers(-99, 99, (size, 4))
    product = sp.functionality("C(i,j) = A(i,k) * B(k,j)", trees=[tree])
    assert np.array_equal(evaluate(product, {"i": 3, "j": 4, **tree.bounds}, {"A": a, "B": b})["C"], a @ b)


def test_a_tree_of_eight_takes_a_step_for_each_level() -> None:
    tree, chain = line(2, 2, 2).spatial, line(8).spatial
    assert len(tree.cells) == len(chain.cells) == 8
    # Five operations i, and as many steps as a word is on its way.
    assert (tree.steps, chain.steps) == (5 + 3, 5 + 7)


@settings(max_examples=8)
@given(seed=st.integers(0, 1 << 30), stalls=st.none() | st.integers(1, 1 << 30))
def test_the_verilog_of_a_tree_is_exact(seed: int, stalls: "int | None") -> None:
    array = line(2, 2, 2)
    array.run("rtl", stalls, **array.random(3, seed))
    assert array.tensors[0].shape == (5, 8)


def test_the_recurrences_of_a_tree_are_those_of_its_levels() -> None:
    found = sp.functionality("x(i) = A(i,k) * B(k)", trees=[sp.tree(k, 3, 2)])
    assert list(map(str, found.assignments)) == [
        "b(i.lower, k_1, k_0) = B(2 * k_1 + k_0)", "b(i, k_1, k_0) = b(i - 1, k_1, k_0)",
        "x_k_0(i, k_1, k_0.lower) = 0",
        "x_k_0(i, k_1, k_0) = add(x_k_0(i, k_1, k_0 - 1), mul(A(i, 2 * k_1 + k_0), b(i, k_1, k_0)))",
        "x_k_1(i, k_1.lower, k_0.upper) = 0",
        "x_k_1(i, k_1, k_0.upper) = add(x_k_1(i, k_1 - 1, k_0.upper), x_k_0(i, k_1, k_0.upper))",
        "x(i) = x_k_1(i, k_1.upper, k_0.upper)"]


@pytest.mark.parametrize("made,said", [
    (lambda: sp.functionality("x(i) = A(i,k)", trees=[sp.tree(i, 2, 2)]), "i is not summed in x(i) = A(i,k)"),
    (lambda: sp.functionality("x(i) = A(i,k)", trees=[sp.tree(j, 2)]), "j is not summed"),
    (lambda: sp.functionality("x(i) = A(i,k,k_0)", trees=[sp.tree(k, 2)]), "k_0 is an index, too"),
    (lambda: sp.functionality("x(i) = A(i,k)", trees=[sp.tree(k, 2), sp.tree(k, 2)]), "an index has two trees"),
    (lambda: sp.tree(k), "a tree has 0 levels"), (lambda: sp.tree(k, 1), "radices is"), (lambda: sp.tree(3, 2), "index is '3'"),
    (lambda: sp.functionality("x(i) = A(i,k)", trees=[k]), "which is no list of trees"),      # type: ignore[list-item]
    (lambda: sp.functionality(trees=[sp.tree(k, 2)]), "recurrences say themselves how they add up"),
])
def test_what_is_no_tree_is_refused(made: "Callable[[], object]", said: str) -> None:
    with pytest.raises(UserError) as refused:
        made()
    assert said in str(refused.value)
