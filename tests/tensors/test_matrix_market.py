import io

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors import matrix_market

BANNER = "%%MatrixMarket matrix coordinate"


def dense(text):
    shape, coords, values = matrix_market.parse(text.encode(), "a.mtx")
    array = np.zeros(shape)
    np.add.at(array, tuple(coords.T), values)
    return array.tolist()


def test_real_integer_and_pattern_matrices():
    assert dense(f"{BANNER} real general\n% a comment\n\n2 3 2\n1 3 2.5\n2 1 -1e3\n") == [[0, 0, 2.5],
                                                                                          [-1000, 0, 0]]
    assert dense(f"{BANNER} integer general\n2 2 1\n2 2 7") == [[0, 0], [0, 7]]
    assert dense(f"{BANNER} pattern general\n2 2 2\n1 1\n1 2\n") == [[1, 1], [0, 0]]
    assert dense("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n") == [[1, 3], [2, 4]]


def test_symmetric_and_skew_symmetric_ones_are_expanded():
    entries = "3 3 2\n2 1 5\n3 2 -4\n"
    assert dense(f"{BANNER} integer symmetric\n{entries}") == [[0, 5, 0], [5, 0, -4], [0, -4, 0]]
    assert dense(f"{BANNER} integer skew-symmetric\n{entries}") == [[0, -5, 0], [5, 0, 4], [0, -4, 0]]
    assert dense(f"{BANNER} pattern symmetric\n2 2 2\n1 1\n2 1\n") == [[1, 1], [1, 0]]
    assert dense(f"{BANNER} integer symmetric\n2 2 1\n1 2 5\n") == [[0, 5], [5, 0]]
    assert dense("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n") == [[1, 2], [2, 3]]


def test_windows_line_ends():
    assert dense(f"{BANNER} real general\r\n1 1 1\r\n1 1 3\r\n") == [[3]]


def test_no_entries():
    assert dense(f"{BANNER} real general\n2 2 0\n") == [[0, 0], [0, 0]]


PLACE = "\n  try: count rows and columns from 1 up to the sizes"
VALUE = "\n  try: write it as -7, 0.5 or 1e-3"
COUNT = "\n  try: correct the number of entries, or complete the file"
REFUSED = [
    ("", "a.mtx:1: the first line is no Matrix Market banner of a matrix\n"
     "  try: start the file with '%%MatrixMarket matrix coordinate real general'"),
    ("1 1 1\n1 1 5\n", "a.mtx:1: the first line is no Matrix Market banner of a matrix\n"
     "  try: start the file with '%%MatrixMarket matrix coordinate real general'"),
    (f"{BANNER} complex general\n1 1 1\n1 1 5 0\n", "a.mtx:1: the matrix is complex\n"
     "  try: write its real part, or its imaginary part, as a real matrix"),
    (f"{BANNER} complex hermitian\n1 1 1\n1 1 5 0\n", "a.mtx:1: the matrix is Hermitian\n"
     "  try: write its real part, or its imaginary part, as a real matrix"),
    (f"{BANNER} double general\n1 1 1\n1 1 5\n", "a.mtx:1: 'coordinate double general' is no kind of matrix\n"
     "  try: use one of real, integer, pattern and one of general, symmetric, skew-symmetric"),
    (f"{BANNER} real general\n% only a comment\n", "a.mtx:2: the file ends before the line of sizes\n"
     "  try: write rows, columns, entries"),
    (f"{BANNER} real general\n2 2\n1 1 5\n", "a.mtx:2: 3 sizes were expected, not '2 2'\n"
     "  try: write rows, columns, entries"),
    (f"{BANNER} real general\n2 -2 1\n1 1 5\n", "a.mtx:2: 3 sizes were expected, not '2 -2 1'\n"
     "  try: write rows, columns, entries"),
    (f"{BANNER} real general\n2 2 2\n1 1 5\n", "a.mtx:2: there are 1 entries but the sizes say 2" + COUNT),
    (f"{BANNER} real general\n2 2 1\n1 1 5\n1 2 5\n",
     "a.mtx:2: there are 2 entries but the sizes say 1" + COUNT),
    (f"{BANNER} real general\n2 2 99999999999\n1 1 5\n",
     "a.mtx:2: there are 1 entries but the sizes say 99999999999" + COUNT),
    (f"{BANNER} real general\n2 2 2\n1 1 5\n1 2\n", "a.mtx:4: an entry has 3 numbers, not '1 2'\n"
     "  try: write row, column, value"),
    (f"{BANNER} real general\n2 2 1\n1 1 5 7\n", "a.mtx:3: an entry has 3 numbers, not '1 1 5 7'\n"
     "  try: write row, column, value"),
    (f"{BANNER} real general\n2 2 2\n1 1 5\n3 1 5\n", "a.mtx:4: row '3' is no whole number from 1 to 2" + PLACE),
    (f"{BANNER} real general\n2 2 1\n1 0 5\n", "a.mtx:3: column '0' is no whole number from 1 to 2" + PLACE),
    (f"{BANNER} integer general\n2 2 1\n1 x 5\n", "a.mtx:3: column 'x' is no whole number from 1 to 2" + PLACE),
    (f"{BANNER} real general\n2 2 1\n1 1 five\n", "a.mtx:3: value 'five' is no number" + VALUE),
    (f"{BANNER} integer general\n2 2 1\n1 1 2.5\n", "a.mtx:3: value '2.5' is no whole number\n"
     "  try: write it as -7, or call the matrix 'real'"),
    (f"{BANNER} real general\n99999999999 2 1\n1 1 5\n", "a.mtx:2: a side of '99999999999 2 1' is longer than 2147483647\n"
     "  try: write a smaller matrix"),
    (f"{BANNER} real general\n{'7' * 5000} 2 1\n1 1 5\n",
     f"a.mtx:2: 3 sizes were expected, not '{'7' * 30} ... {'7' * 26} 2 1'\n  try: write rows, columns, entries"),
    ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n",
     "a.mtx:2: there are 3 values but a general array of 2 x 2 has 4\n  try: correct the sizes, or complete the file"),
    ("%%MatrixMarket matrix array real general\n2 2\n1 2\n3 4\n", "a.mtx:3: an entry has one number, not '1 2'\n"
     "  try: write one value a line"),
    (f"{BANNER} real symmetric\n2 3 1\n1 1 5\n", "a.mtx:2: a symmetric matrix is square but this is 2 x 3\n"
     "  try: write the whole matrix as 'general'"),
    (f"{BANNER} real symmetric\n2 2 2\n1 2 5\n2 1 5\n",
     "a.mtx: the file is symmetric but has entries on both sides of the diagonal\n"
     "  try: write the lower triangle only, or call it 'general'"),
    (f"{BANNER} real skew-symmetric\n2 2 1\n1 1 5\n",
     "a.mtx: the file is skew-symmetric but its diagonal is not 0\n  try: call it 'general'"),
]


@pytest.mark.parametrize("text, message", REFUSED)
def test_files_that_are_refused(text, message):
    with pytest.raises(UserError) as error:
        matrix_market.parse(text.encode(), "a.mtx")
    assert str(error.value) == message


@pytest.mark.parametrize("place", ["1.0", "+1", "1e0", "0x1", "1,", "", "\u0661", "1_0", "99999999999", "-1", "1\0", "\x0b1"])
def test_a_row_is_digits_and_nothing_else(place):
    with pytest.raises(UserError) as error:
        matrix_market.parse(f"{BANNER} real general\n20 20 1\n{place} 1 5\n".encode(), "a.mtx")
    assert error.value.where == "a.mtx:3"


@pytest.mark.parametrize("value", ["7,5", "1D2", "1d2", "0x10", "5-3", "1/3", "1_000", "nan", "inf", "1e", "e5", ".", "+",
                                   "1.2.3", "--5",
                                   "1e5.0", "5\0", "\0", "5\x0c", "\u0665", "9" * 801, "1e" + "9" * 6, "(1,2)", "5%", "true"])
@pytest.mark.parametrize("end", ["", "\n", " "])
def test_a_value_is_a_decimal_number_and_nothing_else(value, end):
    """SciPy takes some of these for another number, and leaves the process with others."""
    for text in (f"{BANNER} real general\n2 2 1\n1 1 {value}{end}",
                 f"%%MatrixMarket matrix array real general\n1 1\n{value}{end}"):
        with pytest.raises(UserError, match="is no number") as error:
            matrix_market.parse(text.encode(), "a.mtx")
        assert error.value.where == "a.mtx:3"


@pytest.mark.parametrize("value,number", [("5.", 5), (".5", .5), ("+5", 5), ("-0.25e+1", -2.5), ("1E3", 1000), ("007", 7)])
def test_decimal_numbers_are_read_in_every_form(value, number):
    assert dense(f"{BANNER} real general\n1 1 1\n\t1 \t1\t{value} \t\r\n \n") == [[number]]


def test_a_blank_at_the_end_without_a_line_end():
    assert dense(f"{BANNER} real general\n1 1 1\n1 1 5 ") == [[5]]


@pytest.mark.parametrize("rows,columns", [(0, 3), (3, 0), (0, 0)])
def test_arrays_without_elements(rows, columns):
    text = f"%%MatrixMarket matrix array real general\n{rows} {columns}\n"
    shape, coords, values = matrix_market.parse(text.encode(), "a.mtx")
    assert shape == (rows, columns) and coords.shape == (0, 2) and not len(values)


def test_skew_symmetric_arrays_hold_what_is_below_the_diagonal():
    assert dense("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n") == [[0, -1, -2], [1, 0, -3], [2, 3, 0]]
    assert dense("%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n") == [[1, 2, 3], [2, 4, 5], [3, 5, 6]]


@settings(max_examples=60)
@given(st.data())
def test_what_scipy_writes_is_read(data):
    rows, columns = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 9))
    square = data.draw(st.booleans())
    array = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=rows * columns, max_size=rows * columns)))
    array = array.reshape(rows, columns) * data.draw(st.sampled_from([1, 0.37]))
    if square:
        side = min(rows, columns)
        array = array[:side, :side] + data.draw(st.sampled_from([1, -1])) * array[:side, :side].T
    file = io.BytesIO()
    scipy.io.mmwrite(file, array if data.draw(st.booleans()) else scipy.sparse.coo_array(array))
    assert np.allclose(dense(file.getvalue().decode()), array)
