from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.compiler.dense.front import ranges
from sardonyx.compiler.dense.front.constants import compute
from sardonyx.compiler.dense.front.ranges import Interval
from sardonyx.compiler.lang.halide.pipeline import Type

I64 = Type("int", 64)
OPS = ["add", "sub", "mul", "min", "max", "absd", "div", "mod", "shl", "shr", "and", "or", "xor"]


@st.composite
def inside(draw: Any) -> tuple[Interval, int]:
    """An interval and an integer in it."""
    near = st.integers(-300, 300)
    value, one, other = draw(near), draw(near), draw(near)
    return Interval(min(value, one, other), max(value, one, other)), value


@given(st.sampled_from(OPS), inside(), inside())
def test_results_lie_in_the_interval(op: str, left: tuple[Interval, int], right: tuple[Interval, int]) -> None:
    (a, x), (b, y) = left, right
    if op in ("shl", "shr"):
        b, y = Interval(b.low // 20, b.high // 20), y // 20
    found = ranges.exact(op, a, b)
    if found is not None:
        result = compute(op, I64, x, y)
        assert found.low <= result <= found.high


@given(st.sampled_from(["sub", "mul", "and", "or", "xor", "min", "max"]), inside())
def test_results_of_one_value_with_itself_lie_in_the_interval(op: str, operand: tuple[Interval, int]) -> None:
    a, x = operand
    found = ranges.exact(op, a, a, same=True)
    if found is not None:
        result = compute(op, I64, x, x)
        assert found.low <= result <= found.high


@given(st.sampled_from(["eq", "ne", "lt", "le"]), inside(), inside())
def test_a_comparison_that_is_known_is_right(op: str, left: tuple[Interval, int], right: tuple[Interval, int]) -> None:
    known = ranges.compare(op, left[0], right[0])
    assert known is None or known == bool(compute(op, I64, left[1], right[1]))


@given(inside(), st.sampled_from([Type("uint", 8), Type("int", 8), Type("int", 4), Type("uint", 1)]))
def test_wrapped_values_lie_in_the_wrapped_interval(operand: tuple[Interval, int], type_: Type) -> None:
    found, value = ranges.wrap(operand[0], type_), ranges.wrap_value(operand[1], type_)
    assert found.low <= value <= found.high
    assert (value - operand[1]) % (1 << type_.bits) == 0 and found.within(ranges.of_type(type_))


@given(inside())
def test_magnitudes_lie_in_the_interval(operand: tuple[Interval, int]) -> None:
    found = ranges.magnitude(operand[0])
    assert found.low <= abs(operand[1]) <= found.high


@pytest.mark.parametrize(("op", "a", "b", "result"), [
    ("add", (0, 255), (0, 255), (0, 510)), ("sub", (0, 255), (0, 255), (-255, 255)), ("mul", (-3, 2), (-5, 7), (-21, 15)),
    ("div", (-7, 7), (2, 2), (-4, 3)), ("mod", (-7, 7), (4, 4), (0, 3)), ("mod", (1, 3), (4, 4), (1, 3)),
    ("shr", (-9, 9), (1, 2), (-5, 4)), ("and", (-9, 300), (15, 15), (0, 15)), ("or", (4, 9), (1, 2), (4, 15)),
])
def test_intervals_are_tight(op: str, a: tuple[int, int], b: tuple[int, int], result: tuple[int, int]) -> None:
    assert ranges.exact(op, Interval(*a), Interval(*b)) == Interval(*result)


def test_the_square_of_one_value_is_not_negative() -> None:
    assert ranges.exact("mul", Interval(-180, 100), Interval(-180, 100), same=True) == Interval(0, 32400)


def test_an_interval_that_leaves_a_type_in_one_piece_is_moved() -> None:
    assert ranges.wrap(Interval(256, 260), Type("uint", 8)) == Interval(0, 4)
    assert ranges.wrap(Interval(250, 260), Type("uint", 8)) == Interval(0, 255)
    assert ranges.wrap(Interval(200, 255), Type("int", 8)) == Interval(-56, -1)
