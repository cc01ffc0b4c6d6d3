from functools import reduce

import numpy as np
import pytest
import scipy.sparse

from sardonyx.hw.arch.logic import OPERATIONS, wrapped
from sardonyx.hw.arch.reduction import REDUCTIONS, TRUTHS
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


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_of_what_is_there_values_become_one_two_by_two(reduction: str) -> None:
    random, meaning = np.random.default_rng(2), OPERATIONS[reduction].meaning
    fibers = [(there, random.integers(-128, 128, len(there))) for there in (np.flatnonzero(random.random(20) < 0.5)
                                                                            for _ in range(5))]
    coordinates, values = merged(fibers, 8, reduction)
    for coordinate, value in zip(coordinates.tolist(), values.tolist(), strict=True):
        met = [int(of[at == coordinate][0]) for at, of in fibers if coordinate in at]
        assert value == wrapped(reduce(meaning, [int(each != 0) for each in met] if reduction in TRUTHS else met), 8)
    assert set(coordinates.tolist()) == set(np.concatenate([at for at, _ in fibers]).tolist())
    assert [len(part) for part in merged([(np.zeros(0, np.int64),) * 2] * 2, 8, reduction)] == [0, 0]


def test_a_value_alone_is_the_largest_product_and_truth_of_itself() -> None:
    alone = [(np.array([4]), np.array([-5])), (np.zeros(0, np.int64),) * 2]
    assert [merged(alone, 8, reduction)[1].tolist() for reduction in ("max", "min", "mul", "both", "either")] == [
        [-5], [-5], [-5], [1], [1]]
