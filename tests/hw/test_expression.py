"""Expressions: what they mean among wider operands, and how they are written."""

import pytest

from sardonyx.hw.expression import Expression, parse

WIDTHS = {"a": 1, "b": 1, "c": 1, "w": 8, "v": 8, "\\end ": 1}


def parsed(text: str) -> Expression:
    found = parse(text, WIDTHS.__getitem__)
    assert found is not None
    return found


@pytest.mark.parametrize("text,width,fragile", [
    ("a & b", 1, False), ("~ a", 1, True), ("w + v", 8, True), ("w == v", 1, False), ("| w", 1, False),
    ("{ a, w }", 9, False), ("a ? w : v", 8, False), ("w >> a", 8, False), ("w << a", 8, True), ("w[3:0]", 4, False),
    ("8'h0f", 8, False), ("a && b", 1, False), ("! a", 1, False)])
def test_widths_and_what_depends_on_them(text: str, width: int, fragile: bool) -> None:
    found = parsed(text)
    assert (found.width, found.fragile) == (width, fragile)


@pytest.mark.parametrize("text,written", [
    ("~ a", "~a"), ("! w", "w == 8'h00"), ("! a", "!a"), ("w == 2'h2", "w == 8'h02"), ("w + 1'h1", "w + 8'h01"),
    ("w << 1'h1", "w << 1'h1"), ("\\end  & a", "\\end  & a"), ("| { a, b }", "|{ a, b }")])
def test_numbers_are_as_wide_as_what_they_meet(text: str, written: str) -> None:
    assert parsed(text).written == written


@pytest.mark.parametrize("text", ["$signed(w) < $signed(v)", "a & (b | c)", "w[a]", "{ { a }, b }", ""])
def test_what_is_not_understood_is_left_alone(text: str) -> None:
    assert parse(text, WIDTHS.__getitem__) is None


def test_parentheses_stand_where_a_reader_wants_them() -> None:
    both, either, no = parsed("a & b"), parsed("a | b"), parsed("~ c")
    assert Expression("&", (both, no), 1).written == "a & b & ~c"
    assert Expression("&", (either, no), 1).written == "(a | b) & ~c"
    assert Expression("~", (either,), 1).written == "~(a | b)"
    assert Expression("&", (parsed("| w"), no), 1).written == "(|w) & ~c"
    assert Expression("?", (no, both, either), 1).written == "~c ? (a & b) : (a | b)"
