"""Results to which points add: what they are, and which are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.hw.arch.errors import UserError

i, j = sp.indices("i j")
A, B = sp.inputs("A B", dtype="int8")
p, q = sp.variables("p q")
C, D = sp.outputs("C D")
FLAT = sp.Transform([[1, 0], [0, 1]])
PRODUCT = p(i, j).eq(A(i) * B(j))


@given(a=st.lists(st.integers(-9, 9), min_size=3, max_size=3), b=st.lists(st.integers(-9, 9), min_size=4, max_size=4))
def test_an_element_is_the_sum_of_what_points_add(a: "list[int]", b: "list[int]") -> None:
    polynomials = sp.Design(sp.functionality(PRODUCT, C(i + j).add(p(i, j))), FLAT, {"i": 3, "j": 4})
    assert [*polynomials.unrolled.shapes.values()] == [(3,), (4,), (6,)]
    assert polynomials.unrolled.partial and len(polynomials.unrolled.leaving) == 12
    found = sp.functionality(PRODUCT, q(i, j).eq(p(i, j)), C(i + j).add(q(i, j)))
    for what in (polynomials.functionality, found):     # all points at once, and one after the other
        assert _golden(what, a, b).tolist() == np.convolve(a, b).tolist()


def _golden(what: object, a: "list[int]", b: "list[int]") -> "np.ndarray":
    from sardonyx.sim.golden.spatial import evaluate
    return evaluate(what, {"i": len(a), "j": len(b)}, {"A": np.array(a), "B": np.array(b)})["C"]     # type: ignore[arg-type]


def test_an_element_to_which_nothing_adds_is_0_and_sums_wrap() -> None:
    spread = sp.Design(sp.functionality(PRODUCT, C(2 * i + 1, j).add(p(i, j)), ), FLAT, {"i": 2, "j": 2})
    found = spread.run("tokens", A=[2, 3], B=[5, -7])
    assert found.value.tolist() == [[0, 0], [10, -14], [0, 0], [15, -21]]
    (small,) = sp.outputs("C", dtype="int8")
    what = sp.functionality(PRODUCT, small(0 * i).add(p(i, j)))
    assert _golden(what, [100, 27], [1, 1]).tolist() == [(254 + 128) % 256 - 128]


def test_several_assignments_add_to_one_result() -> None:
    what = sp.functionality(PRODUCT, C(i).add(p(i, j)), C(j).add(p(i, j)))
    assert _golden(what, [1, 2], [3, 4]).tolist() == [7 + 3 + 6, 14 + 4 + 8]


def test_a_skip_on_indices_leaves_out_what_is_added_there() -> None:
    lower = sp.Design(sp.functionality(p(i, j).eq(sp.inputs("M", dtype="int8")[0](i, j) * 2), C(i, j).add(p(i, j))), FLAT,
                      {"i": 3, "j": 3}, sparsity=[sp.skip(i, j, where=j > i)])
    assert len(lower.pruned.unrolled.results) == 6
    assert lower.run("tokens", M=np.tril(np.ones((3, 3), int))).value.tolist() == [[2, 0, 0], [2, 2, 0], [2, 2, 2]]


@pytest.mark.parametrize("made,said", [
    (lambda: sp.functionality(p(i, j).add(A(i))), "p is a variable and cannot be added to"),
    (lambda: sp.functionality(PRODUCT, C(i).add(p(i, j)), C(i).eq(p(i, j.upper))), "C is assigned, and added to"),
    (lambda: sp.functionality(PRODUCT, C(i).add(p(i, j) + 1)), "C is not assigned one variable"),
    (lambda: sp.Design(sp.functionality(PRODUCT, C(i - j).add(p(i, j))), FLAT, {"i": 2, "j": 2}).run("golden"),
     "C(-1) is before the first element"),
    (lambda: sp.Design(sp.functionality(PRODUCT, C(i).add(p(i, j))), FLAT, {"i": 2, "j": 2}).run("golden"),
     "several points add to C(0), and nothing does that here"),
    (lambda: sp.Design(sp.functionality(PRODUCT, C(i).add(p(i, j))), FLAT, {"i": 2, "j": 2},
                       sparsity=[sp.skip(j, where=B(j) == 0)]).elastic,
     "points add to C, and no tree of mergers does: indices cannot be found by values in this functionality"),
    (lambda: sp.Design(sp.functionality(p(i, j).eq(A(i) + B(j)), C(i).add(p(i, j))), FLAT, {"i": 2, "j": 2},
                       sparsity=[sp.skip(j, where=B(j) == 0)]).pruned,
     "it would change p: p(i, j) = add(A(i), B(j)) is A(i) there"),
    (lambda: sp.Design(sp.functionality(p(i, j).eq(A(i)), q(i, j).eq(B(j)), C(i).add(p(i, j)), D(j).add(q(i, j))), FLAT,
                       {"i": 2, "j": 2}, sparsity=[sp.skip(j, where=B(j) == 0)]).pruned,
     "it would change C, to which p(i, j) is added that may not be 0 there"),
    (lambda: sp.search(sp.functionality(PRODUCT, C(i).add(p(i, j))), {"i": 2, "j": 2}),
     "several points add to an element of C, which no array of a transform does"),
    (lambda: sp.Design(sp.functionality(PRODUCT, C(i).add(p(i, j))), FLAT, {"i": 2, "j": 4},
                       sparsity=[sp.optimistic_skip(j, where=B(j) == 0, keep=2, of=4)]).pruned,
     "an optimistic skip stands beside C, to which points add"),
    (lambda: sp.Design(sp.functionality(PRODUCT, C(i, j).add(p(i, j))), sp.Transform([[1, 0], [0, 1]]), {"i": 2, "j": 4},
                       short=True).spatial, "points add to C, which then lacks what later launches add"),
])
def test_what_points_cannot_add_to_is_refused(made, said: str) -> None:     # type: ignore[no-untyped-def]
    with pytest.raises(UserError) as refused:
        made()
    assert refused.value.what == said and refused.value.fix


def test_points_that_differ_in_an_index_of_nothing_that_is_read_add_as_often() -> None:
    what = sp.functionality(p(i, j).eq(A(i) * 2), C(i).add(p(i, j)))
    assert _golden(what, [1, 5], [0, 0, 0]).tolist() == [6, 30]
