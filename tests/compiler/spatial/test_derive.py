"""Recurrences from statements: they mean what NumPy's einsum does."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.compiler.spatial.derive import derive
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


@pytest.mark.parametrize("text,said", [
    ("x(i) = b(i) + C(i,j) * d(j)", "j is summed on one side of this sum and not on the other"),
    ("x(i) = B(i,i)", "B(i,i) has one index twice"),
    ("X(i,k) = A(i,j)", "an index of the result is on no tensor of the right side"),
    ("x = 3", "the statement has no index"),
    ("x(i) = b(i) / c(i)", "operator '/' is not supported"),
])
def test_a_statement_without_recurrences_is_refused(text: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        derive(text)
    assert refused.value.what.partition("\n")[0] == said
