"""The weight-stationary array written by hand gives what NumPy does, and stands still for nothing."""

from functools import cache

import numpy as np
import pytest

from sardonyx.flow.baselines.weight_stationary import WeightStationary, run
from sardonyx.sim.rtl.bench import Bench


@cache
def bench(size: int) -> Bench:
    return WeightStationary(size).bench()


@pytest.mark.parametrize("rows,tiles", [(1, 1), (1, 5), (3, 4), (4, 6), (7, 3), (31, 2)])
def test_products_are_those_of_numpy_and_tiles_follow_each_other(rows: int, tiles: int) -> None:
    random = np.random.default_rng(rows)
    a, b = random.integers(-128, 128, (tiles, rows, 4)), random.integers(-128, 128, (tiles, 4, 4))
    ends = np.where(random.integers(0, 2, b.shape), -128, 127)
    for weights in (b, ends):
        found, cycles = run(bench(4), a, weights)
        assert np.array_equal(found, a @ weights)
        # The command, the first weights, the tiles, and the way of the last row.
        assert cycles == 1 + 4 + (max(rows, 4) * (tiles - 1) + rows) + 8


def test_an_array_of_one_pe_is_refused() -> None:
    with pytest.raises(ValueError, match="has no border"):
        WeightStationary(1)


@pytest.mark.slow
def test_an_array_of_16_x_16_is_busy_in_more_than_95_of_100_cycles() -> None:
    random = np.random.default_rng(0)
    a, b = random.integers(-128, 128, (16, 392, 16)), random.integers(-128, 128, (16, 16, 16))
    found, cycles = run(bench(16), a, b)
    assert np.array_equal(found, a @ b) and 16 * 392 / cycles > 0.95


def test_sums_of_18_bits_hold_those_of_four_products() -> None:
    a, b = np.full((2, 5, 4), -128), np.full((2, 4, 4), -128)
    b[1] = 127
    found, _ = run(WeightStationary(4, sum_bits=18).bench(), a, b)
    assert np.array_equal((found ^ 1 << 17) - (1 << 17), a @ b)
