"""Results to which points add: what they are, and which are refused."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vector_designs import SMALL, operands

from sardonyx import spatial as sp
from sardonyx.compiler.spatial.points import Use
from sardonyx.compiler.spatial.summed import kernel
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


@pytest.mark.parametrize("dataflow", [sp.Transform([[1, 0], [1, 1]]), sp.Vectors((i,), (j,), sizes=(2, 2))])
def test_a_result_without_indices_is_the_sum_of_all_points(dataflow: "sp.Transform | sp.Vectors") -> None:
    buffers = {} if isinstance(dataflow, sp.Transform) else {"B": sp.Held(vectors=8), "C": sp.Sums(banks=2, words=2)}
    whole = sp.Design(sp.functionality(PRODUCT, C().add(p(i, j))), dataflow, {"i": 3, "j": 4}, buffers=buffers)
    found = whole.run("tokens", A=[[1, 2, -4], [0, 0, 1]], B=[5, 6, 7, -8])
    assert found.value.tolist() == [-10, 10]


@pytest.mark.parametrize("rows", [[[1, 0], [0, 1]], [[0, 1], [2, 1]], [[1, 1], [0, 1]], [[1, -1], [1, 0]], [[1, 0], [1, -1]]])
def test_sums_are_handed_on_whichever_way_time_goes(rows: "list[list[int]]") -> None:
    made = sp.Design(sp.functionality(PRODUCT, C(i + j).add(p(i, j))), sp.Transform(rows), {"i": 3, "j": 4})
    a, b = [1, -2, 3], [4, 5, -6, 7]
    assert made.run("tokens", A=a, B=b).value.tolist() == np.convolve(a, b).tolist()
    assert made.pruned.unrolled.distances.keys() <= {Use("C_sum", (1, -1)), Use("C_sum", (-1, 1))}


def test_sums_are_handed_on_in_verilog() -> None:
    made = sp.Design(sp.functionality(PRODUCT, C(i + j).add(p(i, j))), sp.Transform([[1, 0], [1, 1]]), {"i": 3, "j": 4})
    given = {name: np.random.default_rng(1).integers(-128, 128, (3, size)) for name, size in (("A", 3), ("B", 4))}
    found = made.run("rtl", 5, **given).value
    assert [each.tolist() for each in found] == [np.convolve(a, b).tolist() for a, b in zip(given["A"], given["B"])]


@st.composite
def added_to(draw: st.DrawFn) -> sp.Design:
    """A design whose points add to elements at sums of indices, under some transform; values may be of two variables."""
    names, tensors = sp.indices("i j k l")[:draw(st.integers(2, 4))], sp.inputs("A B", dtype="int8")
    bounds = {each.name: draw(st.integers(1, 4)) for each in names}
    places = []
    for _ in range(draw(st.integers(1, 2))):
        factors = [draw(st.integers(-1, 2)) for _ in names]
        least = sum(min(0, factor * (bounds[each.name] - 1)) for factor, each in zip(factors, names))
        places.append(sum((factor * each for factor, each in zip(factors, names)), draw(st.integers(0, 1)) - least))
    lines = [p(*names).eq(tensors[0](*names) * 3), C(*places).add(p(*names))]
    if draw(st.booleans()):
        lines += [q(*names).eq(tensors[1](*names[:1]) + 1), C(*places).add(q(*names))]
    entries = st.integers(-1, 2)
    rows = draw(st.lists(st.lists(entries, min_size=len(names), max_size=len(names)), min_size=len(names), max_size=len(names)
                         ).filter(lambda rows: round(np.linalg.det(rows)) != 0))
    return sp.Design(sp.functionality(*lines), sp.Transform(rows, draw(st.integers(1, len(names) - 1))), bounds)


@given(design=added_to(), seed=st.integers(0, 99))
def test_sums_of_points_are_numpys_under_any_transform(design: sp.Design, seed: int) -> None:
    try:
        found = design.run("tokens", seed=seed)
    except UserError as refused:
        # In no direction of time would there be a wave, or points are on no lines; never for another reason.
        assert any(said in refused.what for said in ("are on no lines", "combinational loop")), refused
        return
    assert found.report["elements_checked"] > 0 and not design.pruned.unrolled.partial


def test_another_dataflow_and_skip_change_nothing_but_the_way_to_one_result() -> None:
    """The convolution of vectors, on a kernel of PEs."""
    places = np.zeros((6, 6), int)
    for row, at in enumerate((4, 5, 1, 2, 0, 3)):       # PEs by r and s; steps by y, x, then c and k
        places[row, at] = 1
    made = replace(SMALL, dataflow=sp.Transform(places.tolist(), time_axes=4), sparsity=(), buffers={})
    given = operands(SMALL, 0.5, 3)
    assert np.array_equal(made.run("tokens", **given).value, SMALL.run("tokens", **given).value)


def test_a_search_finds_arrays_that_hand_sums_on() -> None:
    found = sp.search(sp.functionality(PRODUCT, C(i + j).add(p(i, j))), {"i": 3, "j": 3})
    assert found.best and any(way.variable == "C_sum" for way in found.best[0].ways)


@given(rows=st.lists(st.tuples(*[st.integers(-3, 3)] * 4), max_size=3))
def test_a_kernel_has_every_vector_that_rows_make_0(rows: "list[tuple[int, ...]]") -> None:
    basis = kernel(rows, 4)
    assert len(basis) == 4 - (np.linalg.matrix_rank(rows) if rows else 0)
    near = [each for each in itertools.product(range(-2, 3), repeat=4) if all(np.dot(row, each) == 0 for row in rows)]
    for each in near if basis else ():
        factors = np.linalg.lstsq(np.array(basis).T, np.array(each), rcond=None)[0]
        assert np.allclose(factors, np.round(factors)) and np.allclose(np.array(basis).T @ np.round(factors), each)


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
    (lambda: sp.functionality(PRODUCT, C(i).add(p(i, j) + 1)), "what is added to C is not one variable"),
    (lambda: sp.Design(sp.functionality(PRODUCT, C(i - j).add(p(i, j))), FLAT, {"i": 2, "j": 2}).run("golden"),
     "C(-1) is before the first element"),
    (lambda: sp.Design(sp.functionality(PRODUCT, C(i).add(p(i, j)), C(j).add(p(i, j))), FLAT, {"i": 2, "j": 2}).run("golden"),
     "the point (i = 0, j = 1) adds to C(0) and C(1), and hands one sum on"),
    (lambda: sp.Design(sp.functionality(p(i, j).eq(A(i, j) * 2), C(0 * i).add(p(i, j))), FLAT, {"i": 4, "j": 4},
                       sparsity=[sp.skip(i, j, where=(j < i + 2) & (j > i - 2))]).run("golden"),
     "points that add to C(0) are on no lines along which its sum is handed on"),
    (lambda: sp.Design(sp.functionality(PRODUCT, C(i).add(p(i, j))), FLAT, {"i": 2, "j": 2},
                       sparsity=[sp.skip(j, where=B(j) == 0)]).elastic,
     "points add to C, and no tree of mergers does: indices cannot be found by values in this functionality"),
    (lambda: sp.Design(sp.functionality(p(i, j).eq(A(i) + B(j)), C(i).add(p(i, j))), FLAT, {"i": 2, "j": 2},
                       sparsity=[sp.skip(j, where=B(j) == 0)]).pruned,
     "it would change p: p(i, j) = add(A(i), B(j)) is A(i) there"),
    (lambda: sp.Design(sp.functionality(p(i, j).eq(A(i)), q(i, j).eq(B(j)), C(i).add(p(i, j)), D(j).add(q(i, j))), FLAT,
                       {"i": 2, "j": 2}, sparsity=[sp.skip(j, where=B(j) == 0)]).pruned,
     "it would change C, to which p(i, j) is added that may not be 0 there"),
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
