import tracemalloc

import numpy as np
import pytest
import scipy.sparse

from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors import values
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.fibertree import Format
from sardonyx.tensors.values import decode, encode, random_tensor, to_array, to_coo, to_value

ARRAY = np.array([[0, 5, 0], [-7, 0, 1]])
MATRIX = Coo.make((2, 3), [[0, 1], [1, 0], [1, 2]], [5, -7, 1])


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", [scipy.sparse.coo_array, scipy.sparse.coo_matrix])
def test_scipy_in_any_format(form, kind):
    assert to_coo(kind(ARRAY).asformat(form)) == MATRIX


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int64, np.float32, np.float64])
def test_arrays_of_any_type_that_holds_integers(dtype):
    assert to_coo(ARRAY.astype(dtype)) == MATRIX
    assert to_coo(np.asfortranarray(ARRAY.astype(dtype))) == MATRIX


def test_lists_numbers_and_booleans():
    assert to_coo(ARRAY.tolist()) == MATRIX
    assert to_coo(4) == Coo.make((), [()], [4])
    assert to_coo(0) == Coo.empty(())
    assert to_coo(np.array([True, False])) == Coo.make((2,), [[0]], [1])
    assert to_coo(MATRIX) is MATRIX


def test_one_dimensional_sparse_arrays():
    assert to_coo(scipy.sparse.coo_array(np.array([0, 3, 0, -1]))) == Coo.make((4,), [[1], [3]], [3, -1])


def test_stored_zeros_are_removed_and_entries_stored_twice_added():
    stored = scipy.sparse.coo_array(([0, 2, 3, 40000, -30000], ([0, 1, 1, 0, 0], [0, 0, 0, 1, 1])),
                                    shape=(2, 2))
    assert to_coo(stored) == Coo.make((2, 2), [[0, 1], [1, 0]], [10000, 5])


@pytest.mark.parametrize("shape", [(), (5,), (4, 3), (2, 3, 4)])
def test_values_come_back_as_users_expect(shape):
    tensor = random_tensor(shape, 0.7, 2)
    value = to_value(tensor)
    assert to_coo(value) == tensor
    assert scipy.sparse.issparse(value) == (len(shape) == 2) and isinstance(value, int) == (shape == ())
    assert to_coo(to_array(tensor)) == tensor


def test_words_there_and_back():
    blocks = encode(MATRIX, Format("ss", (1, 0)))
    assert blocks == ([2, 0, 3, 3, 0, 1, 2], [4, 0, 1, 2, 3, 3, 1, 0, 1], [3, 65529, 5, 1])
    assert decode(blocks, Format("ss", (1, 0)), (2, 3)) == MATRIX


def test_random_tensors_follow_their_seed_and_density():
    assert random_tensor((50, 50), 0.1, 4) == random_tensor((50, 50), 0.1, 4) != random_tensor((50, 50), 0.1,
                                                                                               5)
    assert random_tensor((50, 50), 0.0, 4).nnz == 0 and random_tensor((50, 50), 1.0, 4).nnz == 2500


def test_large_random_tensors_take_what_their_nonzeros_take():
    tracemalloc.start()
    large = random_tensor((30_000, 30_000), 1e-6, 1)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    assert abs(large.nnz - 900) < 5 * 30 and large == random_tensor((30_000, 30_000), 1e-6, 1)
    assert large == Coo.make(large.shape, large.coords, large.values) and large.values.dtype == np.int16
    # All quarters of the matrix are filled alike.
    assert np.unique(large.coords // 15_000, axis=0, return_counts=True)[1].min() > 150
    assert random_tensor((1 << 20, 1 << 40), 1e-18, 3).shape == (1 << 20, 1 << 40)
    assert random_tensor((5_000, 5_000), 0.0, 3).nnz == 0


@pytest.mark.parametrize("density", [0.001, 0.3, 0.999])
def test_places_are_drawn_alike_one_by_one_and_by_their_gaps(monkeypatch, density):
    each = random_tensor((300, 400), density, 8)
    monkeypatch.setattr(values, "DENSE_PLACES", 0)
    gaps = random_tensor((300, 400), density, 8)
    for counted in (each.nnz, gaps.nnz):
        assert abs(counted - 120_000 * density) < 5 * (120_000 * density * (1 - density)) ** 0.5
    assert random_tensor((30, 2), 1.0, 3).coords.tolist() == [[at // 2, at % 2] for at in range(60)]


@pytest.mark.parametrize("shape,density,message", [
    ((70_000, 70_000), 0.2, "a random tensor of 70000 x 70000 at density 0.2 has about 980,000,000 nonzeros, and 33,554,432 "
                            "are the most that are drawn\n"
                            "  try: use a smaller --size or --density (size=, density=), or give the operand"),
    ((1 << 30, 1 << 31), 0.0, "a random tensor of 1073741824 x 2147483648 has more places than can be numbered\n"
                              "  try: use a smaller --size (size=), or give the operand")])
def test_random_tensors_too_large_are_refused_before_they_are_drawn(shape, density, message):
    with pytest.raises(UserError) as error:
        random_tensor(shape, density, 0)
    assert str(error.value) == message


SCALE = "\n  try: scale and round the values (of a file: --values round, in Python values='round')"
SMALL = "\n  try: scale the values, or take small ones on this pattern (of a file: --values small, in Python values='small')"
REFUSED = [
    (np.array([1.0, 2.5, 0.5]), "B: value 2.5 at (1) is not an integer (and 1 more)" + SCALE),
    (np.array([[0.0, np.nan]]), "B: value nan at (0, 1) is not an integer" + SCALE),
    (np.array([np.inf]), "B: value inf at (0) is not an integer" + SCALE),
    (np.array([0, 40000], np.uint16), "B: value 40000 at (1) is not in -32768..32767" + SMALL),
    (np.array([-32769]), "B: value -32769 at (0) is not in -32768..32767" + SMALL),
    # Out of range together with what would cancel or wrap them.
    (scipy.sparse.coo_array((np.array([1e30, -1e30]), ([0, 0],)), shape=(3,)),
     "B: value 1e+30 at (0) is not in -32768..32767 (and 1 more)" + SMALL),
    (scipy.sparse.coo_array((np.array([2**63] * 4, np.uint64), ([0] * 4,)), shape=(3,)),
     "B: value 9223372036854775808 at (0) is not in -32768..32767 (and 3 more)" + SMALL),
    (scipy.sparse.coo_array((np.array([2**62] * 4), ([0] * 4,)), shape=(3,)),
     "B: value 4611686018427387904 at (0) is not in -32768..32767 (and 3 more)" + SMALL),
    (np.array([1e300]), "B: value 1e+300 at (0) is not in -32768..32767" + SMALL),
    (np.array([2**64 - 1], np.uint64), "B: value 18446744073709551615 at (0) is not in -32768..32767" + SMALL),
    (scipy.sparse.coo_array(np.array([[0, 70000]])),
     "B: value 70000 at (0, 1) is not in -32768..32767" + SMALL),
    (2.5, "B: value 2.5 is not an integer" + SCALE),
    (np.array([1j]), "B is complex\n  try: take the real part, or the imaginary part"),
    (scipy.sparse.coo_array(np.array([[1j]])),
     "B is complex\n  try: take the real part, or the imaginary part"),
    (np.array(["a"]), "B is no tensor of numbers\n  try: give a scipy.sparse matrix or a NumPy array"),
    ([[1, 2], [3]], "B is no tensor of numbers\n  try: give a scipy.sparse matrix or a NumPy array"),
    (None, "B is no tensor of numbers\n  try: give a scipy.sparse matrix or a NumPy array"),
]


@pytest.mark.parametrize("data, message", REFUSED)
def test_data_that_does_not_fit(data, message):
    with pytest.raises(UserError) as error:
        to_coo(data, "B")
    assert str(error.value) == message
