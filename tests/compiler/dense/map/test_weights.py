"""Which points of a stream have the weights that each lane keeps: those that the examples name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.compiler.dense.map.weights import Weights, alike, neighbours, on_end


def kept(weights: Weights, stream: int = 0) -> "list[list[int]]":
    """Of each lane the points of its words, counted from the first one of all."""
    steps = weights.steps
    return [[(held.at[0] + weights.rows) * steps + point for point in held.points(steps)]
            for held in (weights.held(lane, stream) for lane in range(weights.lanes))]


def found(weights: "Weights | None") -> Weights:
    assert weights is not None
    return weights


def test_the_examples_of_the_module() -> None:
    assert kept(alike(2, 3)) == [[0, 1, 2], [3, 4, 5]]
    assert kept(found(neighbours(4, 4, 1, 4))) == [[lane + 4 * step for step in range(4)] for lane in range(4)]
    lines = found(neighbours(4, 10, 1, 10))
    assert lines.rows == 5 and kept(lines)[1] == [1, 11, 21, 31, 41, 5, 15, 25, 35, 45]
    down = found(on_end(2, 7, 1, 8))
    assert down.rows == 4 and kept(down) == [[0, 7, 14, 21, 1, 8, 15], [2, 9, 16, 23, 3, 10, 17]]


def test_where_weights_do_not_come_as_they_lie() -> None:
    assert neighbours(6, 16, 1, 16) is None, "lanes are no lines"
    assert neighbours(4, 3, 1, 16) is None and neighbours(4, 5, 2, 16) is None, "no line of a row is whole"
    assert neighbours(4, 7, 1, 6) is None and on_end(4, 7, 1, 7) is None, "they are more than PEs keep"
    assert on_end(4, 6, 2, 16) is None, "the second stream begins within a line"


@given(st.sampled_from([4, 8, 12]), st.integers(1, 31), st.integers(1, 4), st.booleans())
def test_each_lane_keeps_words_of_its_own(lanes: int, steps: int, streams: int, lines: bool) -> None:
    weights = (neighbours if lines else on_end)(lanes, steps, streams, 48)
    for stream in range(streams if weights else 0):
        points = sorted(point for lane in kept(found(weights), stream) for point in lane)
        assert len({*points}) == lanes * steps and points[0] >= 0 and points[-1] < found(weights).rows * steps
        for lane in range(lanes):
            held = found(weights).held(lane, stream)
            words = held.rows * held.beside(steps)
            assert steps <= words <= 48 and held.last(steps) + held.at[0] * steps < 0


@pytest.mark.parametrize("lanes", [4, 8])
def test_lines_without_a_gap_take_as_long_as_rows(lanes: int) -> None:
    assert found(neighbours(lanes, 16, 4, 16)).rows == found(on_end(lanes, 16, 4, 16)).rows == lanes
