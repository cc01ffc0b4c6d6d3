"""Recurrences from statements: they mean what NumPy's einsum does."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.compiler.lang.functions import DIVIDE
from sardonyx.compiler.lang.functions import FUNCTIONS as LANGUAGE
from sardonyx.compiler.spatial.derive import FUNCTIONS, derive
from sardonyx.hw.arch.errors import UserError
from sardonyx.sim.golden.spatial import evaluate

# With what NumPy calls them.
STATEMENTS = {
    "C(i,j) = A(i,k) * B(k,j)": "ik,kj->ij",
    "x(i) = A(i,j) * B(j)": "ij,j->i",
    "x = A(i) * B(i)": "i,i->",
    "X(i,j) = A(j,i) * B(i)": "ji,i->ij",
    "X(i,j) = A(i,k,l) * B(k,j) * D(l,j)": "ikl,kj,lj->ij",
    "X(i) = A(i,k) * B(k,l) * D(l)": "ik,kl,l->i",
    "c(i) = C(i,j) * d(j)": "ij,j->i",
}


@pytest.mark.parametrize("text", STATEMENTS)
@given(sizes=st.tuples(*[st.integers(1, 4)] * 4), seed=st.integers(0, 1 << 30))
def test_a_product_is_that_of_einsum(text: str, sizes: "tuple[int, ...]", seed: int) -> None:
    recurrences, random = derive(text), np.random.default_rng(seed)
    bounds = dict(zip(recurrences.indices, sizes))
    ins = STATEMENTS[text].partition("->")[0].split(",")
    names = re.findall(r"(\w+)\(", text.partition("=")[2])
    operands = [random.integers(-50, 50, tuple(bounds[index] for index in part)) for part in ins]
    found = evaluate(recurrences, bounds, dict(zip(names, operands)))
    wanted = np.einsum(STATEMENTS[text], *operands)
    assert np.array_equal(np.squeeze(next(iter(found.values()))), np.squeeze(wanted))


def test_sums_of_terms_over_the_same_indices_are_one_sum() -> None:
    recurrences = derive("x(i) = -(A(i,j) - 2 * B(i,j)) * d(j)")
    a, b, d = np.array([[1, 2]]), np.array([[3, -4]]), np.array([5, 6])
    assert evaluate(recurrences, {"i": 1, "j": 2}, {"A": a, "B": b, "d": d})["x"].tolist() == [-int(((a - 2 * b) @ d)[0])]


def test_functions_and_diagonals_are_those_of_the_language() -> None:
    text = "X(i,j) = relu(A(i,j)) + abs(B(j,i)) * (A(i,i) > 3) - max(sign(A(i,j)), min(d(i), nonzero(B(i,j))))"
    recurrences, random = derive(text), np.random.default_rng(3)
    a, b = random.integers(-9, 9, (2, 3, 3))
    d = random.integers(-1, 3, 3)
    wanted = np.maximum(a, 0) + abs(b.T) * (np.diag(a) > 3)[:, None] - np.maximum(
        np.sign(a), np.minimum(d[:, None], b != 0))
    assert np.array_equal(evaluate(recurrences, {"i": 3, "j": 3}, {"A": a, "B": b, "d": d})["X"], wanted)


def test_every_function_of_the_language_but_the_quotient_has_an_operation() -> None:
    assert FUNCTIONS.keys() == LANGUAGE.keys() - {DIVIDE}


@pytest.mark.parametrize("text,said", [
    ("C(i) = sum(k, A(i,k) * B(k))", "sum(k, ...) is not read here"),
    ("X(i,i) = A(i)", "X(i,i) has one index twice"),
    ("x(i) = relu(C(i,j) * d(j))", "j is summed inside a function, or around one"),
    ("x(i) = b(i) + C(i,j) * d(j)", "j is summed on one side of this sum and not on the other"),
    ("X(i,k) = A(i,j)", "an index of the result is on no tensor of the right side"),
    ("x = 3", "the statement has no index"),
    ("x(i) = b(i) / c(i)", "operator '/' is not supported: no PE of an array divides integers"),
    ("x(i) = relu(b(i) * (3 / c(i)))", "operator '/' is not supported: no PE of an array divides integers"),
])
def test_a_statement_without_recurrences_is_refused(text: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        derive(text)
    assert refused.value.what.partition("\n")[0] == said
