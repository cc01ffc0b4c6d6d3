"""Programs of several statements: how they are separated, and what is refused with its place."""

import pytest

from sardonyx.compiler.lang.program import MOST_STATEMENTS, parse_program, split
from sardonyx.hw.arch.errors import UserError


def message(*arguments, **named):
    with pytest.raises(UserError) as error:
        parse_program(*arguments, **named)
    return str(error.value)


@pytest.mark.parametrize("text", [
    "T(i) = b(i) + c(i); x = T(i)", "T(i) = b(i) + c(i)\nx = T(i)", "\n\nT(i) = b(i)\n  + c(i) ;\n\n x = T(i);\n"])
def test_statements_end_at_a_semicolon_or_where_a_line_begins_another(text):
    program = parse_program(text)
    assert [str(each.expr) for each in program.statements] == ["b(i) + c(i)", "T(i)"]
    assert program.result.result.tensor == "x" and [*program.intermediates] == ["T"] and program.inputs == {"b": 1, "c": 1}


def test_one_statement_is_a_program_and_stays_as_it_is_written():
    assert split("x(i) =\n  b(i)\n  > 2") == ["x(i) =\n  b(i)\n  > 2"]
    assert parse_program("x(i) = b(i);").text == "x(i) = b(i)"
    assert parse_program("X(i,j) = B(j,i)", ["j", "i"]).result.order == ("j", "i")


def test_orders_and_formats_are_those_of_each_statement():
    program = parse_program("T(i,j) = B(i,k) * C(k,j); X(i,j) = T(j,i)", "ikj;", {"T": "ds", "C": "dd"})
    first, second = program.statements
    assert first.order == ("i", "k", "j") and second.order == ("i", "j")
    assert str(first.result.format) == "ds01" and str(second.operands[0].format) == "ds10"
    assert parse_program("T(i) = B(i,j); x(i) = T(i)", [("j", "i"), ""]).statements[0].order == ("j", "i")


def test_shapes_go_from_statement_to_statement():
    program = parse_program("T(i,j) = B(i,k) * C(k,j); x(j) = T(i,j)")
    assert program.shapes({"B": (3, 4), "C": (4, 5)}) == {"B": (3, 4), "C": (4, 5), "T": (3, 5), "x": (5,)}
    assert program.extents(7, {"B": (3, 4)}) == {"B": (3, 4), "C": (4, 7)}
    with pytest.raises(UserError, match="T is computed by a statement"):
        program.shapes({"B": (3, 4), "C": (4, 5), "T": (3, 5)})
    with pytest.raises(UserError, match="index i runs to 3 in T"):
        parse_program("T(i) = b(i); x(i) = T(i) * c(i)").shapes({"b": (3,), "c": (4,)})


@pytest.mark.parametrize("text,expected", [
    ("x(i) = T(i); T(i) = b(i)", "statement 1, column 8: T is used before statement 2, which computes it\n  x(i) = T(i)\n"
     "         ^\n  try: write the statement that computes a tensor first"),
    ("T(i) = b(i); T(i) = c(i)", "statement 2, column 1: T is computed by statement 1 already\n  T(i) = c(i)\n  ^\n"
     "  try: give each result a name of its own"),
    ("T(i) = b(i); x(i) = c(i)", "statement 1, column 1: T is computed and not used\n  T(i) = b(i)\n  ^\n"
     "  try: leave its statement out, or write the one of the result last"),
    ("T(i) = b(i); x(i) = T(i,j)", "statement 2, column 8: T has 2 indices here but 1 in T(i)\n  x(i) = T(i,j)\n         ^\n"
     "  try: use the same number of indices everywhere"),
    ("T(i) = T(i)", "column 8: T is the result and cannot be an operand\n  T(i) = T(i)\n         ^\n"
     "  try: give the result a name of its own"),
    ("T(i) = b(i); x(i) = T(i) *", "statement 2, column 14: a tensor was expected, not the end\n  x(i) = T(i) *\n"
     "               ^\n  try: write it as in X(i,j) = B(i,k) * C(k,j)")])
def test_what_is_no_program_is_refused_with_its_place(text, expected):
    assert message(text) == expected


def test_orders_formats_and_numbers_that_do_not_fit():
    text = "T(i) = b(i); x(i) = T(i)"
    assert message(text, "i") == ("loop order i: there are 2 statements and 1 loop orders\n"
                                  "  try: give one for each statement, as 'ijk; ij', an empty one for the default")
    assert message(text, formats={"Q": "s"}) == ("formats: there is a format for Q but no such tensor\n"
                                                 "  try: name one of T, b, x")
    many = "; ".join(f"T{at + 1}(i) = T{at}(i)" for at in range(MOST_STATEMENTS + 1))
    assert "the program has 33 statements" in message(many)
