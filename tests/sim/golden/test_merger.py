import numpy as np
import scipy.sparse

from sardonyx.sim.golden.merger import merged


def test_equal_coordinates_are_added_and_others_keep_their_order() -> None:
    fibers = [(np.array([0, 2, 9]), np.array([5, 7, 1])), (np.array([2, 3]), np.array([1, -4])), (np.zeros(0, np.int64),) * 2]
    coordinates, values = merged(fibers, 8)
    assert coordinates.tolist() == [0, 2, 3, 9] and values.tolist() == [5, 8, -4, 1]


def test_sums_wrap_and_a_coordinate_of_sum_zero_stays() -> None:
    fibers = [(np.array([1, 4]), np.array([127, 3])), (np.array([1, 4]), np.array([2, -3]))]
    coordinates, values = merged(fibers, 8)
    assert coordinates.tolist() == [1, 4] and values.tolist() == [-127, 0]


def test_the_sum_of_sparse_matrices_is_that_of_scipy() -> None:
    random = np.random.default_rng(1)
    parts = [scipy.sparse.csr_array(random.integers(-2, 3, (9, 11))) for _ in range(5)]
    fibers = [(np.flatnonzero(part.toarray()), part.data) for part in parts]
    found = np.zeros(99, np.int64)
    coordinates, values = merged(fibers, 16)
    found[coordinates] = values
    assert np.array_equal(found.reshape(9, 11), sum(part.toarray() for part in parts))
