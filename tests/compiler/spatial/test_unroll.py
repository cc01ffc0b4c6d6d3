"""Unrolling recurrences: what is refused, and where."""

import numpy as np
import pytest

from sardonyx import spatial as sp
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
