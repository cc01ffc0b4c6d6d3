import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.tensors.coordinates import Coo, ordered, pack, side_by_side, sort_rows, sum_rows, wrap

# Three columns up to 2**40 do not fit one word, so both ways of comparing rows are seen.
ROWS = st.sampled_from([2, 1 << 40]).flatmap(
    lambda top: st.lists(st.tuples(*[st.sampled_from([0, 1, top])] * 3), max_size=12))


def table(rows):
    return np.array(rows, np.int64).reshape(-1, 3)


@given(ROWS)
def test_rows_are_sorted_lexicographically(rows):
    assert table(rows)[sort_rows(table(rows))].tolist() == sorted(map(list, rows))


@given(ROWS)
def test_rows_in_order_stay_where_they_are(rows):
    found = ordered(table(rows))
    assert found.tolist() == sorted(map(list, rows)) and (ordered(found) is found or pack(found) is None)


def test_rows_too_long_for_a_word_are_ordered():
    assert ordered(np.array([[1 << 40, 2], [1, 1 << 41], [1, 7]])).tolist() == [[1, 7], [1, 1 << 41], [1 << 40, 2]]


def test_columns_side_by_side_are_rows():
    rows = side_by_side(np.array([1, 2, 3]), np.array([4, 5, 6]))
    assert rows.tolist() == [[1, 4], [2, 5], [3, 6]] and rows.T.flags.c_contiguous


@given(ROWS)
def test_sums_of_equal_rows(rows):
    distinct, sums = sum_rows(table(rows), np.ones(len(rows), np.int64))
    assert dict(zip(map(tuple, distinct.tolist()), sums.tolist())) == {row: rows.count(row) for row in rows}


def test_rows_too_long_for_a_word_are_not_packed():
    assert pack(np.array([[1 << 40, 1 << 40]])) is None


def test_values_wrap():
    assert wrap(np.array([32767, 32768, -32769, 65536])).tolist() == [32767, -32768, 32767, 0]


def test_a_diagonal_has_a_mode_for_each_name():
    cube = Coo.make((3, 4, 3), [[0, 1, 0], [0, 1, 2], [2, 0, 2], [2, 3, 2]], [5, 6, 7, 8])
    assert cube.diagonal("iji") == Coo.make((3, 4), [[0, 1], [2, 0], [2, 3]], [5, 7, 8])
    assert cube.diagonal("ijk") is cube and Coo.empty((2, 2)).diagonal("ii") == Coo.empty((2,))
