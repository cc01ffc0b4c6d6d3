"""Loop nests are found again in the points that they give."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.compiler.spatial.loops import loops

nests = st.lists(st.tuples(st.integers(1, 4), st.tuples(st.integers(-9, 9), st.integers(-2, 2))), min_size=0, max_size=4)


def points(nest: "list[tuple[int, tuple[int, int]]]") -> np.ndarray:
    """What a nest gives, innermost loop first."""
    found = [[sum(n * step[at] for n, (_, step) in zip(reversed(place), nest)) for at in range(2)]
             for place in itertools.product(*(range(extent) for extent, _ in reversed(nest)))]
    return np.array(found, np.int64).reshape(-1, 2)


@given(nests)
def test_a_nest_gives_points_that_a_nest_of_no_more_loops_gives(nest: "list[tuple[int, tuple[int, int]]]") -> None:
    found = loops(points(nest))
    assert found is not None and len(found) <= len(nest)
    assert np.array_equal(points(list(found)), points(nest))     # type: ignore[arg-type]


def test_a_sequence_without_a_nest_is_none() -> None:
    for sequence in ([0, 1, 3], [0, 1, 2, 4, 5], [0, 1, 5, 6, 10, 12], [0, 0, 1]):
        assert loops(np.array(sequence)[:, None]) is None
