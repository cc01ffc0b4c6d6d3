"""The language of recurrences: what assignments may be, and types."""

import pytest

from sardonyx import spatial as sp
from sardonyx.functionality import Assigned
from sardonyx.hw.arch.errors import UserError

i, j = sp.indices("i j")
(A,) = sp.inputs("A", dtype="int8")
x, y = sp.variables("x y")
(X,) = sp.outputs("X")
PASS = x(i, j).eq(x(i, j - 1))


@pytest.mark.parametrize("assignment,said", [
    (A(i).eq(x(i, j)), "A is an input and cannot be assigned"),
    (X(i).eq(x(i, j) + 1), "X is not assigned one variable"),
    (X(i).eq(x(i, j - 1)), "x is read at j - 1"), (X(i).eq(x(i, -1)), "x is read at -1, where nothing is computed"),
    (X(i.upper).eq(x(i, j)), "X is assigned at a plane"),
    (x(i).eq(0), "x has 1 places, but there are 2 indices"),
    (x(i, j - 1).eq(0), "x is assigned at j - 1 where j is expected"),
    (x(i, i).eq(0), "place 2 of variables has the indices j, i"),
    (x(i, j).eq(X(i)), "X is an output and cannot be read"),
    (x(i, j).eq(A(i.upper)), "A is read at a plane"),
    (x(i, j).eq(x(i, j.lower)), "x is read at j.lower where j is expected"),
    (x(i, j).eq(x(i, 2 * j)), "x is read at 2 * j where j is expected"),
    (x(i, j).eq(y(i, j)), "y is read but never assigned"),
    (X(sp.indices("k")[0]).eq(x(i, j)), "no variable has the index k"),
])
def test_an_assignment_that_cannot_be_is_refused_with_its_text(assignment: Assigned, said: str) -> None:
    with pytest.raises(UserError) as refused:
        sp.functionality(PASS, assignment)
    assert refused.value.what == said and refused.value.fix


def test_a_variable_has_the_type_of_what_it_copies_and_else_int32() -> None:
    found = sp.functionality(x(i, j.lower).eq(A(i)), x(i, j).eq(x(i, j - 1)), y(i, j).eq(x(i, j) * 2), X(i).eq(y(i, j.upper)))
    assert {name: each.dtype for name, each in found.declared.items()} == {"x": "int8", "A": "int8", "y": "int32", "X": "int32"}


@pytest.mark.parametrize("made,said", [
    (lambda: sp.functionality(), "there are no assignments"),
    (lambda: sp.functionality(3), "3 is no assignment"),
    (lambda: sp.functionality(X(0).eq(3)), "no variable has an index"),
    (lambda: sp.indices("2i"), "'2i' is no name"),
    (lambda: sp.inputs("A", dtype="float"), "there is no dtype 'float'"),
    (lambda: sp.functionality(PASS, y(i, j).eq(sp.inputs("x")[0](i))), "x is declared twice, as variable and as input"),
    (lambda: x(i, j) + 1.5, "1.5 is no whole number"),
    (lambda: x(i, j) + (1 << 40), "1099511627776 is out of range"),
    (lambda: x(i, j) == 1, "x(i, j) has no value yet"), (lambda: x(i, j) + i, "i is a place and no value"),
    (lambda: bool(x(i, j) < 1), "lt(x(i, j), 1) has no value yet"),
])
def test_what_is_no_part_of_the_language_is_refused(made, said: str) -> None:     # type: ignore[no-untyped-def]
    with pytest.raises(UserError) as refused:
        made()
    assert refused.value.what == said and refused.value.fix


def test_places_are_written_as_they_are_read() -> None:
    assert [str(each) for each in (-i + 3, 3 - i, i - 1, 2 * i + j, -j)] == ["-i + 3", "-i + 3", "i - 1", "2 * i + j", "-j"]
    assert str(x(i, -1).expr) == "x(i, -1)"


def test_a_number_may_stand_on_either_side_of_an_operator() -> None:
    written = (1 & x(i, j), 1 | x(i, j), 1 + x(i, j), 1 - x(i, j), 2 * x(i, j), x(i, j) > 1)
    assert [str(each.expr) for each in written] == ["both(1, x(i, j))", "either(1, x(i, j))", "add(1, x(i, j))",
                                                    "sub(1, x(i, j))", "mul(2, x(i, j))", "lt(1, x(i, j))"]


def test_expressions_of_many_parts_are_refused_before_they_take_long() -> None:
    value = x(i, j)
    with pytest.raises(UserError, match=r"an expression has more than 1,000 parts"):
        for _ in range(40):
            value = sp.maximum(value, value)


def test_deep_expressions_are_refused_before_recursion_is() -> None:
    value = x(i, j)
    with pytest.raises(UserError, match="nested deeper than 50"):
        for _ in range(60):
            value = value + 1
