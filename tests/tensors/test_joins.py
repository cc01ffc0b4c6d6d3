import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.tensors.joins import TooManyMatches, keys, matches

# Three columns up to 2**40 do not fit one word, so both ways of comparing rows are seen.
ROWS = st.sampled_from([2, 1 << 40]).flatmap(
    lambda top: st.lists(st.tuples(*[st.sampled_from([0, 1, top])] * 3), max_size=12))


def table(rows):
    return np.array(rows, np.int64).reshape(-1, 3)


@given(ROWS, ROWS)
def test_matches_are_all_pairs_of_equal_rows(left, right):
    found = list(zip(*(part.tolist() for part in matches(table(left), table(right)))))
    assert found == [(a, b) for a, one in enumerate(left) for b, other in enumerate(right) if one == other]


@given(ROWS, ROWS)
def test_keys_are_equal_and_ordered_as_rows_are(left, right):
    numbers = np.concatenate(keys(table(left), table(right))).tolist()
    rows = [*left, *right]
    for one, a in zip(rows, numbers):
        assert [(one == other, one < other) for other in rows] == [(a == b, a < b) for b in numbers]


def test_rows_of_no_columns_are_all_equal():
    nothing = np.zeros((2, 0), np.int64)
    assert [part.tolist() for part in matches(nothing, nothing)] == [[0, 0, 1, 1], [0, 1, 0, 1]]


def test_too_many_matches_are_counted_and_not_made():
    ones = np.ones((1 << 20, 1), np.int64)      # All of the matches would take 16 TB.
    with pytest.raises(TooManyMatches) as error:
        matches(ones, ones, 1 << 30)
    assert error.value.count == 1 << 40
    assert len(matches(ones[:10], ones[:10], 100)[0]) == 100


def test_tables_that_are_packed_together_have_the_same_number_for_equal_rows():
    left, right = np.array([[1, 5], [0, 7]]), np.array([[0, 7], [9, 0], [1, 5]])
    first, second = keys(left, right)
    assert first.tolist() == second[[2, 0]].tolist() and second[1] > first[0] > first[1]
