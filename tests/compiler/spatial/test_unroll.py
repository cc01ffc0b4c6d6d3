"""Unrolling recurrences: what is refused, and where."""

import numpy as np
import pytest

from sardonyx import spatial as sp
from sardonyx.compiler.spatial import unroll as unrolling
from sardonyx.compiler.spatial.unroll import unroll
from sardonyx.functionality import Assigned
from sardonyx.hw.arch.errors import UserError

i, j = sp.indices("i j")
A, B = sp.inputs("A B")
x, y = sp.variables("x y", dtype="int16")
(X,) = sp.outputs("X")
READ = x(i, j.lower).eq(A(i))
PASS = x(i, j).eq(x(i, j - 1))
LEAVE = X(i).eq(x(i, j.upper))


def refused(*assignments: Assigned, bounds: "dict[str, int] | None" = None) -> str:
    with pytest.raises(UserError) as error:
        unroll(sp.functionality(*assignments), {"i": 3, "j": 3} if bounds is None else bounds)
    assert error.value.fix
    return str(error.value).partition("\n")[0]


def test_what_is_read_at_a_border_comes_from_what_is_assigned_there() -> None:
    unrolled = unroll(sp.functionality(READ, PASS, LEAVE), {"i": 3, "j": 2})
    assert len(unrolled.values) == 6 and unrolled.shapes == {"A": (3,), "X": (3,)}


@pytest.mark.parametrize("assignments,said", [
    ((PASS, LEAVE), "x(i, j) = x(i, j - 1): x(i = 2, j = -1) is read, but no assignment fits it"),
    ((READ, x(i, j).eq(x(i, j + 1)), LEAVE), "x(i, j) = x(i, j + 1): x(i = 2, j = 3) is read, beyond the last j"),
    ((READ, x(i, 1).eq(x(i, j - 1)), LEAVE), "functionality: x(i = 2, j = 2) is needed, but no assignment fits it"),
    ((READ, PASS, X(0).eq(x(i, j.upper))), "X(0) = x(i, j.upper): X(0) is assigned twice"),
    ((READ, PASS, X(i + 1).eq(x(i, j.upper))), "functionality: X(0) is never assigned"),
    ((READ, PASS, X(i - 1).eq(x(i, j.upper))), "functionality: X(-1) is before the first element"),
    ((x(i, j.lower).eq(A(i - 1)), PASS, LEAVE), "functionality: A(-1) is before the first element"),
    ((x(i, j.lower).eq(A(i)), x(i, j).eq(x(i, j - 1) + A(i, j)), LEAVE),
     "functionality: A has 2 dimensions in one place and 1 in another"),
    ((x(i, j).eq(y(i, j)), y(i, j).eq(x(i, j)), LEAVE), "functionality: y(2, 2) depends on itself"),
    ((x(i, j.lower).eq(A(i) + 1), PASS, LEAVE),
     "x(i, j.lower) = add(A(i), 1): what x is at a border is no input, variable or number of 16 bits or fewer"),
    ((x(i, j.lower).eq(40_000), PASS, LEAVE),
     "x(i, j.lower) = 40000: what x is at a border is no input, variable or number of 16 bits or fewer"),
    ((x(i, j.lower).eq(x(i, j - 1)), PASS, LEAVE),
     "x(i, j.lower) = x(i, j - 1): x at a border is read through more than 16 others"),
    ((READ, PASS), "functionality: no output is assigned"),
])
def test_recurrences_that_mean_nothing_are_refused(assignments: "tuple[Assigned, ...]", said: str) -> None:
    found = refused(*assignments)
    if "depends on itself" in said:     # any value of the circle may be named
        assert found in (said, said.replace("y(", "x("))
    else:
        assert found == said


@pytest.mark.parametrize("bounds,said", [
    ({"i": 3}, "index j has no bound"), ({"i": 3, "j": 3, "k": 3}, "there is no index k"),
    ({"i": 0, "j": 3}, "i: it is 0"),
    ({"i": 3, "j": 1.0}, "j: 1.0 is no whole number"), ({"i": True, "j": 3}, "i: True is no whole number"),
    ({"i": 513, "j": 512}, "the iteration space has 262,656 points"),
])
def test_bounds_that_do_not_fit_are_refused(bounds: "dict[str, int]", said: str) -> None:
    where = "bound of " if said[:2] in ("i:", "j:") else "bounds: "
    assert refused(READ, PASS, LEAVE, bounds=bounds) == where + said


def test_tensors_of_far_places_are_refused() -> None:
    far = refused(x(i, j.lower).eq(A(1_000_000 * i, 1_000_000 * i)), PASS, LEAVE)
    assert far == "functionality: A has the shape (2000001, 2000001)"
    assert refused(READ, PASS, X(10_000_000 * i).eq(x(i, j.upper))) == "functionality: X has the shape (20000001,)"


def test_bounds_of_numpy_are_whole_numbers() -> None:
    assert unroll(sp.functionality(READ, PASS, LEAVE), {"i": np.int64(3), "j": np.int16(2)}).bounds == {"i": 3, "j": 2}     # type: ignore[dict-item]


SIZES = [([[1, 0], [1, 1]], {"i": 2, "j": 1 << 16}, "at least 2 PEs and 65,537 steps"),
         ([[1, 0], [0, 1000]], {"i": 2, "j": 100}, "at least 2 PEs and 99,001 steps"),
         ([[1, 0], [0, 1]], {"i": 4097, "j": 2}, "at least 4,097 PEs and 2 steps"),
         ([[0, 1], [1, 0]], {"i": 2, "j": 4097}, "at least 4,097 PEs and 2 steps")]


@pytest.mark.parametrize("rows,bounds,said", SIZES)
def test_an_array_that_is_too_large_is_refused_before_all_its_values_are_known(
        rows: "list[list[int]]", bounds: "dict[str, int]", said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrolling._Unroller, "values", lambda *_: pytest.fail("all values are looked for"))
    with pytest.raises(UserError) as error:
        sp.Design(sp.functionality("x(i) = A(i,j) * B(i)"), sp.Transform(rows), bounds).explain()
    assert str(error.value) == f"bounds: the array has {said}\n  try: choose smaller bounds: at most 4,096 PEs and 65,536 steps"


def test_what_only_skips_on_indices_leave_is_not_too_large_for_what_they_leave_out() -> None:
    diagonal = sp.Design(sp.functionality("x(i) = A(i,j) * B(j)"), sp.Transform([[1, 1], [1000, -1000]]), {"i": 70, "j": 70},
                         sparsity=[sp.skip(i, j, where=i != j)])
    assert (len(diagonal.spatial.cells), diagonal.spatial.steps) == (70, 1)


def test_points_that_no_result_needs_make_no_array_too_large() -> None:
    first = sp.functionality(READ, PASS, X(i).eq(x(i, 1)))
    assert sp.Design(first, sp.Transform([[1, 0], [0, 1000]]), {"i": 2, "j": 100}).spatial.steps == 1001
