import numpy as np
import pytest

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


CORRECT = "\n  try: correct the file: indices count from 1 to the sizes, values are numbers"
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
    (f"{BANNER} real general\n2 2 2\n1 1 5\n3 1 5\n", "a.mtx:4: row index out of bounds" + CORRECT),
    (f"{BANNER} real general\n2 2 1\n1 0 5\n", "a.mtx:3: column index out of bounds" + CORRECT),
    (f"{BANNER} integer general\n2 2 1\n1 x 5\n", "a.mtx:3: invalid integer value" + CORRECT),
    (f"{BANNER} real general\n2 2 1\n1 1 five\n", "a.mtx:3: invalid floating-point value" + CORRECT),
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
