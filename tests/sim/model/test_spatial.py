"""Arrays step by step give what the recurrences mean, whatever the transform."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.compiler.spatial.derive import derive
from sardonyx.compiler.spatial.project import project
from sardonyx.compiler.spatial.transform import Transform
from sardonyx.compiler.spatial.unroll import unroll
from sardonyx.hw.arch.errors import UserError
from sardonyx.runtime.data.ports import collected, fed
from sardonyx.sim.golden.spatial import evaluate
from sardonyx.sim.model.spatial import simulate

STATEMENTS = ("C(i,j) = A(i,k) * B(k,j)", "X(i,j,k) = A(i,j) * B(k) + D(k,j)", "x(i) = A(i,j,k) * B(j) * B(k)",
              "x(i) = A(i,j) * B(j)")
ENTRIES = st.integers(-2, 2)


@given(text=st.sampled_from(STATEMENTS), data=st.data(), seed=st.integers(0, 1 << 30), operations=st.integers(1, 4))
def test_random_transforms_of_determinants_up_to_4_give_the_words_of_the_recurrences(
        text: str, data: st.DataObject, seed: int, operations: int) -> None:
    recurrences, random = derive(text), np.random.default_rng(seed)
    count = len(recurrences.indices)
    axes = data.draw(st.integers(1, count - 1))
    # Variables move along the indices, so an axis of time that falls along one is refused, mostly.
    rows = [data.draw(st.tuples(*[ENTRIES if at < count - axes else st.integers(0, 2)] * count)) for at in range(count)]
    unrolled = unroll(recurrences, dict(zip(recurrences.indices, data.draw(st.tuples(*[st.integers(1, 4)] * count)))))
    try:
        transform = Transform(rows, axes)
        spatial = project(unrolled, transform)
    except UserError as refused:
        assert refused.where == "transform"
        assume(False)
    assume(abs(transform.determinant) <= 4)
    operands = {tensor.name: random.integers(-1 << 15, 1 << 15, (operations, *tensor.shape)) for tensor in spatial.operands}
    found = collected(spatial, simulate(spatial, fed(spatial, operands), operations), operations)
    for at in range(operations):
        wanted = evaluate(recurrences, unrolled.bounds, {name: array[at] for name, array in operands.items()})
        assert all(np.array_equal(found[name][at], array) for name, array in wanted.items())


def test_planes_before_the_first_that_have_numbers_are_those_of_their_numbers() -> None:
    i, k = sp.indices("i k")
    (X, W), (x,), (Y,) = sp.inputs("X W"), sp.variables("x"), sp.outputs("Y")
    design = sp.Design(sp.functionality(x(-1, k).eq(X(k)), x(-2, k).eq(W(k)), x(i, k).eq(x(i - 2, k)), Y(i, k).eq(x(i, k))),
                       Transform([[0, 1], [1, 0]]), {"i": 4, "k": 3})
    for engine in ("golden", "tokens"):
        assert design.run(engine, X=[1, 2, 3], W=[7, 8, 9]).value.tolist() == [[7, 8, 9], [1, 2, 3]] * 2


def test_words_that_are_missing_or_left_are_noticed() -> None:
    spatial = project(unroll(derive("x(i) = A(i,j) * B(j)"), {"i": 2, "j": 2}), Transform([[1, 0], [1, 1]]))
    words = fed(spatial, {"A": np.ones((1, 2, 2)), "B": np.ones((1, 2))})
    with pytest.raises(AssertionError, match="a word is missing at port A_0 in step 1"):
        simulate(spatial, words | {"A_0": words["A_0"][:1]}, 1)
    with pytest.raises(AssertionError, match="words are left at ports A_1"):
        simulate(spatial, words | {"A_1": [*words["A_1"], 3]}, 1)
