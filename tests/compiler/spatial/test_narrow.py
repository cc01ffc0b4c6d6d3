"""Variables have the bits that hold what they may be, and no fewer."""

from collections.abc import Iterable
from itertools import product

import numpy as np
import pytest

from sardonyx import spatial as sp
from sardonyx.compiler.spatial.narrow import RANGES, Range, fewest_bits
from sardonyx.compiler.spatial.unroll import unroll
from sardonyx.hw.arch.logic import OPERATIONS

ENDS = (-3, -1, 0, 2)
WEIGHT_STATIONARY, OUTPUT_STATIONARY = [[0, 0, 1], [0, 1, 0], [1, 1, 1]], [[1, 0, 0], [0, 1, 0], [1, 1, 1]]


def bits(text: str, extents: "dict[str, int]", dtype: str = "int8") -> "dict[str, int]":
    return fewest_bits(unroll(sp.functionality(text, dtype=dtype), extents))


def matmul(rows: "list[list[int]]", terms: int) -> sp.Design:
    functionality = sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int8")
    return sp.Design(functionality, sp.Transform(rows), {"i": 2, "j": 2, "k": terms})


def reached(operation: str, operands: Iterable[Range]) -> "list[int]":
    inside = product(*(range(least, most + 1) for least, most in operands))
    return [int(OPERATIONS[operation].meaning(*each)) for each in inside]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_range_holds_all_that_an_operation_gives(operation: str) -> None:
    ranges = [(least, most) for least in ENDS for most in ENDS if least <= most]
    for operands in product(ranges, repeat=OPERATIONS[operation].operands):
        found, least, most = reached(operation, operands), *RANGES[operation](*operands)
        assert least <= min(found) and max(found) <= most, operands
        if operation in ("add", "sub", "mul", "neg", "min", "max", "abs"):
            assert (least, most) == (min(found), max(found)), operands


@pytest.mark.parametrize("terms,expected", [(1, 16), (2, 17), (3, 17), (4, 18), (15, 19), (16, 20), (31, 20), (32, 21)])
def test_a_sum_of_products_of_bytes_has_the_bits_of_its_greatest_value(terms: int, expected: int) -> None:
    # -128 * -128 is 1 << 14: of 2 ** n terms the sum is 1 << 14 + n, which has 16 + n bits with its sign.
    assert bits("C(i,j) = A(i,k) * B(k,j)", {"i": 2, "j": 2, "k": terms}) == {"a": 8, "b": 8, "c": expected}


def test_a_sum_that_may_wrap_has_the_bits_of_its_type() -> None:
    assert bits("x(i) = A(i,j) * B(j)", {"i": 2, "j": 2}, "int32")["x2"] == 32


def test_bits_are_those_of_the_functionality_and_not_of_the_dataflow() -> None:
    for rows in (WEIGHT_STATIONARY, OUTPUT_STATIONARY):
        spatial = matmul(rows, 4).spatial
        assert dict(spatial.variables)["c"] == 18
        assert spatial.bits["C"] == 32, "the stream has those of the type"


@pytest.mark.parametrize("engine", ["tokens", "rtl"])
@pytest.mark.parametrize("rows", [WEIGHT_STATIONARY, OUTPUT_STATIONARY])
@pytest.mark.parametrize("a,b", [(-128, -128), (-128, 127)])
def test_the_greatest_and_the_least_sum_are_right(engine: str, rows: "list[list[int]]", a: int, b: int) -> None:
    found = matmul(rows, 4).run(engine, A=np.full((2, 4), a), B=np.full((4, 2), b))
    assert (found.value == 4 * a * b).all()


def test_variables_that_read_each_other_have_the_bits_of_their_types() -> None:
    i, = sp.indices("i")
    A, = sp.inputs("A", dtype="int8")
    (up, down), (C,) = sp.variables("up down"), sp.outputs("C")
    found = sp.functionality(up(i.lower).eq(0), down(i.lower).eq(0), up(i).eq(down(i - 1) + A(i)), down(i).eq(up(i) - 1),
                             C().eq(down(i.upper)))
    assert fewest_bits(unroll(found, {"i": 4})) == {"up": 32, "down": 32}


def test_points_that_read_one_plane_are_followed_once_and_not_for_each_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    points, add, calls = 200, RANGES["add"], []
    monkeypatch.setitem(RANGES, "add", lambda a, b: calls.append((a, b)) or add(a, b))
    i, = sp.indices("i")
    A, = sp.inputs("A", dtype="int8")
    (p,), (C,) = sp.variables("p"), sp.outputs("C")
    found = sp.functionality(p(0).eq(A(0)), p(i).eq(p(0) + A(i)), C(i).eq(p(i)))
    assert fewest_bits(unroll(found, {"i": points}))["p"] >= 9, "a sum of two bytes"
    assert 1 <= len(calls) <= points
